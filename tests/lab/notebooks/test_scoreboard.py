"""The scoreboard: what it lists, what it links, and the stored rows behind its verdicts."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from lab.machine.paths import ROOT, published_data
from lab.notebooks import expected, scoreboard
from lab.notebooks.documents import LAST, committed, name_of, read
from lab.notebooks.expected import Report
from lab.notebooks.scoreboard import Cell, Entry, Stored
from lab.results import figures, tables

PAPERS = {"1_sdp": "SDP", "2_statefactory": "StateFactory", "3_procllm": "ProcLLM"}
ITEM = re.compile(r"(?:Table|Figure) (?:[A-Z]\.)?\d+")
LISTED = scoreboard.entries()
ITEMS = {(entry.paper, item): entry for entry in LISTED for item in entry.items}
LINES = scoreboard.board(LISTED, Stored(str(figures.COMMITTED)))


def test_every_notebook_of_a_paper_and_what_its_title_names_is_listed() -> None:
    places = {entry.notebook for entry in LISTED}
    for path in committed():
        folder, _, _ = (name := name_of(path)).partition("/")
        assert name in places or folder not in PAPERS
        for item in ITEM.findall(read(path).cells[0].source.splitlines()[0]):
            assert name in (ITEMS[PAPERS[folder], item].notebook, LAST), f"{item} is listed with another notebook"


def test_every_table_and_figure_that_has_expectations_or_published_numbers_is_listed() -> None:
    reported = {entry.notebook for entry in expected.expectations()}
    assert {name for name in reported if name.partition("/")[0] in PAPERS} <= {entry.notebook for entry in LISTED}
    papers = {paper.lower(): paper for paper in PAPERS.values()}
    for path in published_data().glob("*_tables.csv"):
        with path.open() as file:
            names = {item for line in csv.DictReader(file) for item in ITEM.findall(line["table"])}
        paper = papers[path.name.removesuffix("_tables.csv")]
        assert names and {(paper, name) for name in names} <= ITEMS.keys()


def test_no_table_or_figure_is_listed_twice() -> None:
    assert len(ITEMS) == sum(len(entry.items) for entry in LISTED)


@pytest.mark.parametrize(("ways", "here"), [(("", "../figures/"), "notebooks"), (("../notebooks/", ""), "figures")])
def test_every_link_leads_to_a_file(ways: tuple[str, str], here: str) -> None:
    links = re.findall(r"\]\(([^)]*)\)", " ".join(scoreboard.table(LINES, *ways)["where"]))
    missing = [link for link in links if not (ROOT / here / link).is_file()]
    assert len(links) > 60 and not missing


def test_every_model_free_cell_has_a_stored_verdict_and_came_out_or_says_why() -> None:
    for line in LINES:
        assert {one.cell.says for one in line.cells} == {cell.says for cell in line.entry.cells}
        assert not [one.cell.says for one in line.cells if scoreboard.unexplained(one)]


def test_every_figure_that_is_linked_is_stored() -> None:
    stems = {stem for entry in LISTED for stem in entry.figures}
    missing = [
        stem for stem in stems if not any((figures.COMMITTED / f"{stem}{end}").exists() for end in (".md", ".png"))
    ]
    assert not missing


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("state: done, notebook: a", "the state 'done'; choose one of here, partly"),
        ("state: here", "is here; name its notebook"),
        ("state: to come", "is to come; say in its note"),
        ("state: here, notebook: a, colour: red", "is no entry"),
        ("state: here, notebook: a, cells: [{say: x}]", "is no entry"),
    ],
)
def test_a_malformed_entry_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "scoreboard.yaml"
    path.write_text(f"- {{paper: SDP, items: [Table 1], title: t, {line}}}\n")
    with pytest.raises(ValueError, match=said):
        scoreboard.entries(path)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of committed figures with a table of three rows, made on official data; this run's is beside it."""
    monkeypatch.setattr(figures, "COMMITTED", tmp_path / "kept")
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path / "kept"))
    written("official", "REPRODUCED (a)", "DIFFERENT (b)", "")
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path / "own"))
    return tmp_path


def written(data: str, *verdicts: str) -> None:
    """What a notebook leaves behind."""
    import pandas as pd

    rows = {"name": ["x", "y", "z"], "verdict": verdicts, "backbone": ["none", "tiny", "rules"]}
    tables.write(pd.DataFrame(rows).assign(evidence="measured"), "table")
    Report("book", data, 3)("facts", 4)


ENTRY = Entry("SDP", ("Table 1",), "t", "here", "book", figures=("table",))
X, ALL = Cell("x", "table", {"name": "x"}), Cell("any", "table")


def test_rows_are_this_runs_only_where_it_was_on_the_same_data(kept: Path) -> None:
    assert [one.verdict for one in scoreboard.verdicts(ENTRY, X, Stored())] == ["REPRODUCED (a)"]
    written("made", "DIFFERENT (c)", "", "")
    assert [one.verdict for one in scoreboard.verdicts(ENTRY, X, Stored())] == ["REPRODUCED (a)"]
    assert [one.verdict for one in scoreboard.verdicts(ENTRY, X, Stored(str(kept / "own")))] == ["DIFFERENT (c)"]
    written("official", "DIFFERENT (d)", "", "")
    assert [one.verdict for one in scoreboard.verdicts(ENTRY, X, Stored())] == ["DIFFERENT (d)"]


def test_a_run_with_other_parameters_gives_no_rows(kept: Path) -> None:
    written("official", "DIFFERENT (c)", "", "")
    path = kept / "own" / "results" / "book.json"
    path.write_text(path.read_text().replace('"changed": []', '"changed": ["limit=2"]'))
    assert [one.verdict for one in scoreboard.verdicts(ENTRY, X, Stored())] == ["REPRODUCED (a)"]


def test_a_line_counts_its_words_names_its_backbones_and_shows_why(kept: Path) -> None:
    facts = Cell("facts", figure="facts", value=5, why="four are enough")
    entry = ENTRY._replace(cells=(X, facts), claims=(ALL,))
    (line,) = lines = scoreboard.board([entry], Stored())
    (row,) = scoreboard.table(lines).to_dict("records")
    assert row["verdict"] == "1 of 2 REPRODUCED, 1 DIFFERENT; direction: 1 DIFFERENT, 1 REPRODUCED"
    assert row["evidence"] == "measured: none, tiny, rules" and "[table](../figures/table.md)" in row["where"]
    shown = scoreboard.details(lines)
    assert shown["explanation"].tolist()[:2] == ["–", "four are enough"]
    assert shown["backbone"].tolist() == ["–", "–", "none", "tiny"]
    assert not any(map(scoreboard.unexplained, line.cells))
    assert scoreboard.unexplained(line.cells[1]._replace(cell=facts._replace(why="")))
    assert scoreboard.summary(lines).loc["SDP", ["listed", "here", "model-free cells", "REPRODUCED"]].tolist() == [
        1,
        1,
        2,
        1,
    ]


def test_a_claim_that_no_real_model_was_asked_has_no_verdict(kept: Path) -> None:
    entry = ENTRY._replace(claims=(Cell("c", "nowhere"), Cell("c", "table", {"name": "z"})))
    (line,) = scoreboard.board([entry], Stored())
    assert not line.claims and scoreboard.table([line])["verdict"].tolist() == ["–"]
