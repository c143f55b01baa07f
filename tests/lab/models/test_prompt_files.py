"""Text files of prompts: read to the byte, and what is wrong with one is told with the file and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import BoxFields, Placing
from lab.models.prompt_files import read_prompt
from lab.models.prompts import FreeText, Prompt

HEAD = '---\nname: tests.box\nversion: "1.10"\noperator: realize\n---\n'
TEXTS = "<system>\nYou put boxes on shelves.\n\n</system>\n<user>Box {{ box }}.\n Which shelf?</user>\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "box.md"


def of(file: Path, content: str) -> Prompt:
    file.write_text(content, encoding="utf-8")
    return read_prompt(file, BoxFields, Placing)


def test_a_prompt_is_read_with_every_line_end_of_its_texts(file: Path) -> None:
    read = of(file, HEAD + TEXTS)
    written = Prompt(
        "tests.box", "1.10", "realize", "\nYou put boxes on shelves.\n\n", "Box {{ box }}.\n Which shelf?",
        BoxFields, Placing,
    )  # fmt: skip
    assert read == written and read.digest == written.digest
    assert of(file, (HEAD + TEXTS).replace(".\n\n</system>", ".\n</system>")).digest != written.digest


def test_the_file_of_a_package_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "boxes" / "prompt_texts" / "deep"
    folder.mkdir(parents=True)
    (tmp_path / "boxes" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    read = of(folder / "box.md", HEAD + TEXTS)
    assert read_prompt("boxes/deep/box.md", BoxFields, Placing) == read
    with pytest.raises(
        FileNotFoundError, match=r"boxes/prompt_texts/none\.md is missing\. .* PACKAGE/prompt_texts/NAME"
    ):
        read_prompt("boxes/none.md", BoxFields, Placing)


def test_what_tells_the_form_of_free_text_is_no_part_of_a_prompt_that_is_bound_to_a_schema(file: Path) -> None:
    bound = of(file, HEAD + TEXTS + "<free_text>\nAnswer with a number.</free_text>\n")
    assert bound.template == "Box {{ box }}.\n Which shelf?"
    assert read_prompt(file, BoxFields, FreeText).template == bound.template + "\nAnswer with a number."


def test_code_puts_parts_in_place_and_misses_none(file: Path) -> None:
    of(file, HEAD + TEXTS.replace("shelves.", "{{ furniture }}."))
    prompt = read_prompt(file, BoxFields, Placing, {"furniture": "{{ labels[0] }}"})
    assert prompt.render(prompt.fill(box=1, labels=["racks"]))[0]["content"].startswith("You put boxes on racks.")
    with pytest.raises(ValueError, match=r"box\.md lacks \{\{ colour \}\}\. Write it where"):
        read_prompt(file, BoxFields, Placing, {"colour": "red"})


@pytest.mark.parametrize(
    ("content", "blame"),
    [
        (TEXTS, "has no front matter. Begin it with"),
        (HEAD.replace("version", "verison") + TEXTS, r"version: Field required; verison: Extra inputs.*YAML with name"),
        (HEAD.replace('"1.10"', "1.10") + TEXTS, r'version: Input should be a valid string.*version: "1"'),
        (HEAD.replace("name: ", "name: [") + TEXTS, "while parsing a flow sequence.*YAML with name"),
        ("---\n---\n" + TEXTS, "name: Field required"),
        (HEAD + TEXTS.replace("user>", "question>"), r"sections \['system', 'question'\].*it needs <system>"),
        (HEAD + TEXTS.partition("<user>")[0], r"sections \['system'\]"),
        (HEAD + TEXTS + TEXTS, r"sections \['system', 'user', 'system', 'user'\]"),
        (HEAD + TEXTS + "Which shelf?\n", "nothing else"),
        (HEAD + TEXTS.replace("</system>\n", "</system> "), "an opening tag begins a line"),
    ],
)
def test_a_file_in_another_form_is_an_error_that_says_what_to_do(file: Path, content: str, blame: str) -> None:
    with pytest.raises(ValueError, match=rf"box\.md\b.*{blame}"):
        of(file, content)


def test_a_text_that_is_no_template_is_named_with_its_file_and_line(file: Path) -> None:
    prompt = of(file, HEAD + TEXTS.replace(" Which", "{% if box %}"))
    with pytest.raises(
        ValueError, match=r"tests\.box v1\.10: line 2 of its user text in .*box\.md is no Jinja template"
    ):
        prompt.render(prompt.fill(box=1))
