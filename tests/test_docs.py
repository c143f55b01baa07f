"""The README, docs/ and CONTRIBUTING.md: every link leads somewhere, every command exists, the code in them runs."""

from __future__ import annotations

import importlib.util
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import rule_tables
from lab.__main__ import main
from lab.arguments import COMMANDS
from lab.machine.paths import ROOT
from lab.notebooks.documents import committed, locate, name_of, read
from lab.notebooks.parameters import resolve

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
MADE_LATER = ("data/cache", "data/official", "runs/", "build/")  # what only a run makes
NAMED = re.compile(r"(?:benchmarks|data|docs|figures|lab|notebooks|procllm|sdp|statefactory|tests|worlds)/[\w./-]*")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def prose(text: str) -> str:
    """A page without its blocks of code."""
    return FENCED.sub("", text)


@cache
def anchors(path: Path) -> set[str]:
    """The headings of a page, as GitHub and the book make anchors of them."""
    titles = re.findall(r"^#+ (.+)$", prose(path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(text: str, folder: Path) -> Iterator[str]:
    """Links that lead nowhere. folder: where the text lies."""
    for link in LINK.findall(prose(text)):
        way, _, anchor = link.partition("#")
        target = (folder / way).resolve() if way else folder
        if link.startswith(("https://", "http://", "attachment:")):
            continue
        if not target.exists() or not target.is_relative_to(ROOT) or (anchor and anchor not in anchors(target)):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not list(broken(re.sub(r"\]\(#", f"]({page.name}#", text), page.parent))


@pytest.mark.parametrize("path", committed(), ids=lambda path: path.stem)
def test_every_link_in_a_notebooks_prose_leads_somewhere(path: Path) -> None:
    texts = [cell.source for cell in read(path).cells if cell.cell_type == "markdown"]
    assert not list(broken("\n\n".join(texts), path.parent))


def test_a_link_without_its_file_or_heading_would_be_found() -> None:
    text = "[a](docs/none.md) [b](docs/data.md#none) [c](docs/data.md) [d](docs/models.md#recordings) [e](../..)"
    assert list(broken(text, ROOT)) == ["docs/none.md", "docs/data.md#none", "../.."]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = LINK.findall(prose(page.read_text(encoding="utf-8")))
        waiting += [path for link in links if (path := (page.parent / link.partition("#")[0]).resolve()).is_file()]
    assert set(PAGES) <= reached


def test_the_glossary_has_a_line_for_each_of_at_most_fifteen_terms() -> None:
    terms = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").split("| --- | --- |\n")[1].splitlines()
    assert 0 < len(terms) <= 15 and all(line.startswith("| ") for line in terms)
    assert (
        sum("(glossary.md)" in page.read_text(encoding="utf-8") for page in PAGES) >= 8 and "docs/glossary.md" in README
    )


def test_the_readme_is_a_front_page() -> None:
    assert README.count("\n") <= 150
    linked = {link for link in LINK.findall(README) if link.endswith(".ipynb")}
    assert linked == {f"notebooks/{name_of(path)}.ipynb" for path in committed()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_that_a_page_names_is_there(page: Path) -> None:
    spans = re.findall(r"`([^`\n]+)`", prose(page.read_text(encoding="utf-8")))
    named = [span for span in spans if NAMED.fullmatch(span) and not span.startswith(MADE_LATER) and "NAME" not in span]
    assert not [path for path in named if not (ROOT / path).exists()]


def test_the_commands_of_the_pages_exist() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert len(asked) > 8 and asked <= targets
    known = {command.name for group in COMMANDS.values() for command in group}
    words = re.findall(r"(?:python -m |`|… )lab ((?:data |model )?[a-z]+)", text)
    assert len(words) > 20 and set(words) <= known
    modules = set(re.findall(r"python -m ([a-z_]+(?:\.[a-z_]+)+)", text))
    assert modules and all(map(_can_be_run, modules))


def _can_be_run(module: str) -> bool:
    """Whether `python -m` runs it: a package with a `__main__`, or a script."""
    spec = importlib.util.find_spec(module)
    assert spec is not None, module
    if spec.submodule_search_locations is not None:
        return importlib.util.find_spec(f"{module}.__main__") is not None
    return '__name__ == "__main__"' in Path(str(spec.origin)).read_text(encoding="utf-8")


def test_the_commands_of_the_pages_name_parameters_that_their_notebooks_have() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES).replace("\\\n", " ")
    commands = [shlex.split(line) for line in re.findall(r"lab (?:run|record) (\d_\w+/\w+ .*-p [^\n`]*)", text)]
    assert len(commands) > 8
    for name, *words in commands:
        given = [(words[at + 1], words[at + 2]) for at, word in enumerate(words) if word == "-p"]
        resolve(locate([name]), given)


@pytest.mark.slow
def test_the_page_on_writing_ones_own_runs_as_it_stands_and_so_does_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lab.models import rules
    from statefactory.predictors import METHODS

    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    monkeypatch.setattr(rules, "_rules", rule_tables.registered())
    monkeypatch.delitem(METHODS, "words", raising=False)
    text = (ROOT / "docs" / "your-own.md").read_text(encoding="utf-8")
    blocks = [code for language, code in FENCED.findall(text) if language == "python"]
    assert len(blocks) >= 5
    (tmp_path / "your_own.py").write_text("\n\n".join(blocks), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("your_own")
    METHODS.pop("words")
    commands = [line for _, code in FENCED.findall(text) for line in code.splitlines() if line.startswith("python -m")]
    printed = []
    for command in commands:
        capsys.readouterr()
        assert main(shlex.split(command)[3:]) == 0
        printed.append(capsys.readouterr().out)
    doctor, evaluated = printed
    assert "budget arithmetic" in doctor
    assert evaluated.count("climbing-table: settings.budget=") == 2 and "SDP without Validate" in evaluated


@pytest.mark.slow
def test_the_page_on_task_networks_runs_up_to_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import matplotlib

    from lab.runs import floors

    matplotlib.use("Agg")
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    text = (ROOT / "docs" / "task-networks.md").read_text(encoding="utf-8")
    blocks = [code for language, code in FENCED.findall(text) if language == "python"]
    (tmp_path / "mine.py").write_text("\n\n".join(blocks), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("mine")
    written = capsys.readouterr().out
    assert written.startswith("True ['Read files/request.txt'") and "is verified by 'notes.md'" in written
    assert "Significantly different from No-TN" in written and "failed: none counted" in written
    commands = [
        line for line in re.findall(r"^python -m lab (eval procllm-hours.*)$", text, re.MULTILINE) if "gpt" not in line
    ]
    assert len(commands) == 2
    for command in commands:
        assert main(shlex.split(command)) == 0
        assert "Placebo-TN" in capsys.readouterr().out
    floor = floors.frame("mine:hours_floors", floors.play("mine:hours_floors", limit=4)).set_index("agent")["value"]
    assert floor.to_dict() == {"do nothing": 0, "constant": 0, "expert": 100}


def test_the_page_on_floors_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    text = (ROOT / "docs" / "floors.md").read_text(encoding="utf-8")
    *short, world, playing = [code for language, code in FENCED.findall(text) if language == "python"]
    for code in short:
        exec(code, {})
    (tmp_path / "doors.py").write_text(world, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {}
    exec(playing, names)
    values = names["table"].set_index("agent")["value"].round(2)
    assert values["do nothing"] == 0 and values["constant"] == values["first"] == 33.33 and values["expert"] == 100


def test_the_citation_names_the_papers_of_the_readme() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors", "version", "license"} <= cited.keys()
    for paper in cited["references"]:
        authors = " and ".join(f"{one['family-names']}, {one['given-names']}" for one in paper["authors"])
        assert paper["title"] in README and authors in README
