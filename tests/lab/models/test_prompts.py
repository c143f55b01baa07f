"""Prompts: typed fields in, messages out; and their text files, read to the byte."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import ASK, BoxFields, Placing
from lab.models.answers import AnswerModel, FreeText, Listing, limited
from lab.models.backbone import MalformedAnswer
from lab.models.parsing import parse
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields, Prompt, choice


def test_a_render_is_the_standing_rules_then_the_question(prompt: Prompt) -> None:
    system, user = prompt.render(prompt.fill(box=3, labels=["fragile", "<glass>", "a\ud800b"]))
    assert system["role"] == "system" and user["role"] == "user"
    assert user["content"] == "Box 3, fragile, <glass>, a?b. Which shelf?", "no request can carry half a character"
    assert system["content"].startswith("You put boxes on shelves.")
    assert prompt.schema["additionalProperties"] is False and prompt.schema["required"] == ["shelf", "why"]


def test_the_keys_of_the_answer_are_said_in_words_too(prompt: Prompt) -> None:
    system = prompt.render(prompt.fill(box=3))[0]["content"]
    assert '"shelf": "the number of the shelf"' in system and "JSON" in system

    class Plain(AnswerModel):
        pages: int
        anything: Any

    system = replace(prompt, answer=Plain).render(prompt.fill(box=3))[0]["content"]
    assert system.endswith('Its keys: {"pages": "integer", "anything": "value"}')


@pytest.mark.parametrize(
    ("fields", "blame"),
    [({}, "box"), ({"box": "three"}, "box"), ({"box": 1, "lable": []}, "lable"), ({"box": 1, "labels": [2]}, "labels")],
)
def test_wrong_fields_are_named_with_the_prompt(prompt: Prompt, fields: dict[str, Any], blame: str) -> None:
    with pytest.raises(ValueError, match=rf"tests\.place v1.*{blame}"):
        prompt.fill(**fields)


def test_a_template_that_names_an_unknown_field_is_an_error(prompt: Prompt) -> None:
    with pytest.raises(jinja2.UndefinedError, match="colour"):
        replace(prompt, template="{{ colour }}").render(prompt.fill(box=1))


@given(st.lists(st.text()))
def test_any_text_reaches_the_model_as_it_is(labels: list[str]) -> None:
    content = ASK.render(ASK.fill(box=1, labels=labels))[1]["content"]
    assert all(label in content for label in labels)


def test_an_answer_holds_no_number_that_json_lacks() -> None:
    class Score(AnswerModel):
        score: float

    with pytest.raises(ValueError, match="finite"):
        Score.model_validate_json('{"score": NaN}')


def test_many_faults_are_told_in_few_words() -> None:
    class Many(AnswerModel):
        numbers: list[int]

    with pytest.raises(MalformedAnswer, match=r"numbers\.7.*and 292 more") as caught:
        parse(json.dumps({"numbers": ["x"] * 300}), Many)
    assert len(str(caught.value)) < 1000


def test_a_choice_takes_no_other_fields_than_its_own() -> None:
    with pytest.raises(ValueError, match="colour"):
        DOORS.fill(room=1, doors=["left"], colour="red")


DOORS = choice("tests.doors", "1", "realize", "You walk.", "Doors: {{ doors }}", "doors", room=int, doors=list[str])


def test_a_choice_is_one_of_the_listed_options_and_no_other() -> None:
    asked = DOORS.narrowed(DOORS.fill(room=1, doors=["north", 'the "red" one']))
    assert asked.schema["properties"]["choice"]["enum"] == ["north", 'the "red" one']
    assert parse('{"choice": "north"}', asked.answer)[0].choice == "north"
    with pytest.raises(MalformedAnswer):
        parse('{"choice": "south"}', asked.answer)
    assert asked is DOORS.narrowed(DOORS.fill(room=2, doors=["north", 'the "red" one']))
    with pytest.raises(ValueError, match="doors is empty"):
        DOORS.narrowed(DOORS.fill(room=1, doors=[]))


def test_options_that_end_a_text_change_places_within_it() -> None:
    listing = Listing("labels", "shelf", parted=("Doors: ", " or "))

    class Doors(Fields):
        labels: str

    turned = listing.reordered(Doors(labels="Doors: none. A hall. Doors: north or south or east"), [2, 0, 1])
    assert turned.labels == "Doors: none. A hall. Doors: east or north or south"


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


def test_an_answers_options_keep_their_order_whatever_was_asked_before() -> None:
    """Literals of the same options in another order are equal, so a cache by type alone would mix them up."""

    class Pick(AnswerModel):
        choice: str

    for options in (("a", "b"), ("b", "a")):
        listed: Any = Literal[options]
        schema = limited(Pick, "choice", listed).model_json_schema()
        assert schema["properties"]["choice"]["enum"] == [*options]
        assert limited(Pick, "choice", listed) is limited(Pick, "choice", listed)
