"""Sweeps: grids are read, cells resume and fail alone, and what they will take is told before they begin."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chat_server as chat
from asking import Asking, Checking
from chat_server import ChatServer
from lab.__main__ import main
from lab.machine.paths import REHEARSAL, ROOT
from lab.models.connect import connect
from lab.notebooks.documents import NotebookError
from lab.notebooks.execute import Outcome
from lab.notebooks.grid import Cell, cells_of, items
from lab.notebooks.sweep import _renamed, _stand_ins
from lab.runs.collecting import collect
from lab.runs.run import RETRY_FAILED
from small_notebooks import notebook

PARAMETERS = """engine: str = "rules"  # who answers
limit: int = 3  # episodes
share: float | None = None  # of the tasks
names: list[str] = ["a"]  # what to call them
title: str = ""  # above the table
engines: dict = {}  # who answers single operators instead"""
PLAY = """from asking import Checking
from lab.runs.collecting import collect

collect(Checking(engine=engine, engines=engines, count=limit), workers=1, show_progress=False)"""
REPORT = """from lab.notebooks import expected
report = expected.Report("book", "synthetic", limit)
report("calls", limit)
report("unknown", None)
assert limit < 3, "too many"
"""

printable = st.text(st.characters(max_codepoint=0x24F, exclude_categories=("C",)))  # what YAML can hold


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A notebook that plays episodes; its kernel finds what tests share."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "support"))
    return notebook(tmp_path / "book.ipynb", PLAY, parameters=PARAMETERS)


def points(path: Path, *grids: str, fixed: tuple[tuple[str, str], ...] = ()) -> list[dict]:
    return [dict(cell.point) for cell in cells_of([str(path)], fixed, grids)[0]]


@given(st.lists(st.one_of(st.integers(), st.lists(st.one_of(st.integers(), printable), max_size=3)), min_size=1))
def test_numbers_and_lists_come_back_from_between_the_commas(values: list) -> None:
    texts = [json.dumps(value, ensure_ascii=False) for value in values if '"' not in str(value)]
    if texts:
        assert items(",".join(texts), "x") == texts
        assert items(" , ".join(texts), "x") == texts


@given(st.lists(printable, min_size=1))
def test_any_text_can_be_given_in_quotes(values: list[str]) -> None:
    quoted = ["'" + value.replace("'", "''") + "'" for value in values]
    assert items(",".join(quoted), "x") == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("rules,rules@0.8?seed=1,m?a=0&b=1", ["rules", "rules@0.8?seed=1", "m?a=0&b=1"]),
        ("[0.9],[0.8, 0.7],[]", ["[0.9]", "[0.8, 0.7]", "[]"]),
        ("{a: 1, b: [2, 3]},{}", ["{a: 1, b: [2, 3]}", "{}"]),
        ('["validation, medium"],[train]', ['["validation, medium"]', "[train]"]),
        ("don't,won't", ["don't", "won't"]),
        ("[don't, won't],x", ["[don't, won't]", "x"]),
        ('"a, b",""', ["a, b", ""]),
    ],
)  # fmt: skip
def test_commas_inside_brackets_and_quotes_belong_to_a_value(text: str, values: list[str]) -> None:
    assert items(text, "x") == values


@pytest.mark.parametrize("text", ["[1,2", "1]", "'a,b", "{a: 1", '["a]', "", "1,", ",1", "1,,2"])
def test_what_is_no_list_of_values_is_refused(text: str) -> None:
    with pytest.raises(NotebookError, match="--grid x=.*(do not close|empty value)"):
        items(text, "x")


def test_the_last_grid_changes_fastest_and_values_have_their_declared_types(book: Path) -> None:
    assert points(book, "limit=1,2", "share=none,1e-1") == [
        {"limit": 1, "share": None}, {"limit": 1, "share": 0.1},
        {"limit": 2, "share": None}, {"limit": 2, "share": 0.1},
    ]  # fmt: skip
    assert points(book, 'names=[a, "b, c"],[]') == [{"names": ["a", "b, c"]}, {"names": []}]
    assert points(book, "title=0.70,no") == [{"title": "0.70"}, {"title": "no"}]


@pytest.mark.parametrize(
    ("grids", "said"),
    [
        (["limit"], "--grid limit has no values; write it as in: --grid seed=0,1,2"),
        (["limit="], "has an empty value"),
        (["limit=1", "limit=2"], "--grid limit is given twice; put all its values into one"),
        (["title=a"], "title is given by -p and by --grid; drop one"),
        (["limt=1"], "book has no parameter 'limt'; did you mean 'limit'"),
        (["limit=1,many"], "parameter limit got 'many', which is no int"),
        (["limit=1,2,1"], "has 1 twice"),
        (["engine=rules,rules@2"], "engine=rules@2.* cannot answer.*'rules@2'.* a probability between 0 and 1"),
        (["engine=gpt-4o"], "engine 'gpt-4o' cannot answer, and no cell was played.*OPENAI_BASE_URL"),
        (["engine=replay:nowhere"], "engine 'replay:nowhere' cannot answer"),
        (["engine=rules, Verify: rules@0.5"], 'is that of one operator; name the others.* "rules, Verify: rules@0.5"'),
        (['engine="rules, Verify: rules@2",rules'], "cannot answer, and no cell was played: Engine 'rules@2'"),
        (["engines={verify: replay:nowhere},{}"], "engine 'replay:nowhere' cannot answer"),
        (["engines={verify: [rules]}"], "no cell was played: engines: 'verify': .* is no operator with an engine"),
        (["engines={verify: m?seed=1}"], "is no dict .in braces or brackets, a text with"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_runs(book: Path, grids: list[str], said: str) -> None:
    with pytest.raises(NotebookError, match=said):
        points(book, *grids, fixed=(("title", "b"),))


def test_a_grid_is_not_played_in_place(book: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["run", str(book), "--in-place", "--grid", "limit=1"]) == 2
    assert "drop --grid" in capsys.readouterr().err


def test_a_cell_has_a_folder_that_tells_its_point_and_no_other_has(book: Path, tmp_path: Path) -> None:
    cells, out = cells_of([str(book)], [], ["engine=rules,rules@0.8", "limit=1"], tmp_path / "out")
    assert [cell.job.output for cell in cells] == [
        out / "engine=rules limit=1" / "book.ipynb", out / "engine=rules@0.8 limit=1" / "book.ipynb",
    ]  # fmt: skip
    cells, _ = cells_of([str(book)], [], ["engines={verify: rules@0.9, realize: rules},{}"])
    assert [cell.job.output.parent.name[:-7] for cell in cells] == [
        "engines=verify- rules@0.9, realize- rules", "engines=none",
    ]  # fmt: skip
    odd = ["a/b", "a-b", "..", "é" * 300, "{x}", "a\nb", "", " "]
    cells, out = cells_of([str(book)], [], ["title=" + ",".join(map(json.dumps, odd))], tmp_path / "out")
    folders = {cell.job.output.parent for cell in cells}
    assert len(folders) == len(odd)
    assert all(folder.parent == out and len(os.fsencode(folder.name)) < 200 for folder in folders)


def test_another_value_in_the_grid_keeps_the_folder_and_another_fixed_one_does_not(book: Path) -> None:
    def folder(fixed: str, *grids: str) -> Path:
        return cells_of([str(book)], [("title", fixed)], grids)[1]

    assert folder("a", "limit=1") == folder("a", "limit=1,2")
    assert len({folder("a", "limit=1"), folder("b", "limit=1"), folder("a", "share=1")}) == 3


def test_evidence_is_simulated_where_any_engine_of_the_notebook_is_noisy(tmp_path: Path) -> None:
    lines = 'engine: str = "rules"  # who answers\nother: str = "rules@0.8"  # who helps\n'
    path = notebook(tmp_path / "a.ipynb", parameters=lines + 'engines: list = ["rules"]  # rows')
    grids = ["engine=rules,rules@0.5", "other=rules,rules@0.8", 'engines=["rules"],["rules", "rules@0.9"]']
    told = [cell.evidence for cell in cells_of([str(path)], [], grids)[0]]
    assert told == ["measured", *["simulated"] * 7]


def test_the_engines_of_a_cell_are_those_of_all_its_operators(book: Path, server: ChatServer) -> None:
    grids = ['engine=rules,"rules, Realize: small"', "engines={validate: other},{validate: rules@0.9},{}"]
    cells, _ = cells_of([str(book)], [], grids)
    assert [(str(cell.engines["engine"]), bool(cell.models), cell.evidence) for cell in cells] == [
        ("rules, Validate: other", True, "measured"),
        ("rules, Validate: rules@0.9", False, "simulated"),
        ("rules", False, "measured"),
        ("rules, Realize: small, Validate: other", True, "measured"),
        ("rules, Realize: small, Validate: rules@0.9", True, "simulated"),
        ("rules, Realize: small", True, "measured"),
    ]
    assert cells[0].identity["addresses"] == {"rules, Validate: other": f"rules, Validate: {server.address}"}


def test_noise_in_whose_place_others_answer_every_operator_makes_nothing_simulated(book: Path, tmp_path: Path) -> None:
    (cell,), _ = cells_of([str(book)], [], ["engine=rules@0.5"], tmp_path / "out")
    assert cell.evidence == "simulated" and _kept(cell).finished()["evidence"] == "measured"


def test_a_rehearsal_renames_models_alone_and_the_same_ones_alike(book: Path, server: ChatServer) -> None:
    def renamed(engine: str, engines: str) -> list[Any]:
        (cell,), _ = cells_of([str(book)], [], [f"engine={engine}", f"engines={engines}"])
        names = _stand_ins(cell)
        back = {name: model for model, name in names.items()}
        assert all(_renamed(_renamed(value, names), back) == value for value in cell.point.values())
        return [_renamed(value, names) for value in cell.point.values()]

    assert renamed("rules@0.5", "{validate: small}") == ["rules@0.5", {"validate": "stand-in-1"}]
    assert renamed("small", "{validate: small}") == ["stand-in-1", {"validate": "stand-in-1"}]
    assert renamed("small", "{validate: other, realize: rules}") == [
        "stand-in-1", {"validate": "stand-in-2", "realize": "rules"},
    ]  # fmt: skip
    assert renamed('"small, Validate: other"', "{realize: other}") == [
        "stand-in-1, Validate: stand-in-2", {"realize": "stand-in-2"},
    ]  # fmt: skip


def _kept(cell: Cell, not_measured: bool = False, failed: bool = False) -> Cell:
    """The cell as if it had been played: an output, a run, a record."""
    cell.job.output.parent.mkdir(parents=True, exist_ok=True)
    cell.job.output.write_text("{}")
    fault = "BackendDied" if not_measured else "ZeroDivisionError"
    setup = Asking(count=4, wrong=("003",) if not_measured or failed else (), fault=fault)
    run = collect(setup, workers=1, show_progress=False)
    cell.noted.write_text(f"{run.folder}\n")
    cell.keep(Outcome(cell.job, "", 2.0, 1.0))
    return cell


def test_a_cell_is_finished_while_nothing_that_it_was_made_from_changes(book: Path, tmp_path: Path) -> None:
    def cell(limit: int = 1, fixed: str = "a") -> Cell:
        return cells_of([str(book)], [("title", fixed)], [f"limit={limit}"], tmp_path / "out")[0][0]

    record = _kept(cell()).finished()
    assert record and record["seconds"] == 2.0
    assert record["accounts"] == {"episodes": 4, "not_measured": 0, "calls": 12, "dollars": 0.0}
    assert cell().finished() and not cell(limit=2).finished() and not cell(fixed="b").finished()
    notebook(book, "print('other')", parameters=PARAMETERS)
    assert not cell().finished()
    _kept(cell()).job.output.unlink()
    assert not cell().finished()


def test_a_cell_with_episodes_that_were_not_measured_is_played_again(book: Path, tmp_path: Path) -> None:
    (cell,), _ = cells_of([str(book)], [], ["limit=1"], tmp_path / "out")
    assert not _kept(cell, not_measured=True).finished()


def test_a_cell_with_failed_episodes_is_played_again_where_asked(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, _ = cells_of([str(book)], [], ["limit=1,2"], tmp_path / "out")
    _kept(cells[0]), _kept(cells[1], failed=True)
    assert all(cell.finished() for cell in cells)
    monkeypatch.setenv(RETRY_FAILED, "1")
    assert [bool(cell.finished()) for cell in cells] == [True, False]


def test_a_sweep_goes_on_after_sigkill_and_a_failing_cell_fails_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    book, out = notebook(tmp_path / "book.ipynb", REPORT, parameters=PARAMETERS), tmp_path / "out"
    grids = ["--grid", "limit=1,3", "--grid", "share=0.5"]
    command = ["run", str(book), *grids, "--out", str(out), "--yes", "--jobs", "1"]
    killed = subprocess.Popen([sys.executable, "-m", "lab", *command], cwd=ROOT, stdout=subprocess.DEVNULL)
    first = out / "limit=1 share=0.5" / "book.cell.json"
    for _ in range(6000):
        if first.exists():
            break
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    before = first.stat().st_mtime_ns
    assert main(command) == 1
    assert first.stat().st_mtime_ns == before, "a finished cell is not played again"
    told = capsys.readouterr().out
    assert "2 cells in" in told and "1 are finished, 1 to play" in told
    assert "0 dollars, about" in told and "as 1 finished cells took" in told
    with (out / "sweep.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["limit"], row["share"], row["calls (figure)"]) for row in rows] == [
        ("1", "0.5", "1"), ("3", "0.5", ""),
    ]  # fmt: skip
    told_of = ["unknown", "state", "evidence", "data", "n"]
    assert [rows[0][name] for name in told_of] == ["", "ok", "measured", "synthetic", "1"]
    assert (rows[1]["data"], rows[1]["n"]) == ("", "")
    assert rows[1]["state"] == "failed: cell 4: AssertionError: too many"
    assert "| limit | share |" in (out / "sweep.md").read_text().replace("---:", "")
    assert f"AssertionError: too many; kept up to there in {out}" in told


def test_what_a_model_will_take_is_told_from_a_rehearsal_and_its_runs_and_nobody_is_asked_without_a_terminal(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ChatServer, capsys: pytest.CaptureFixture
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("small: {input: 2.0, output: 10.0}\nother: {input: 20.0, output: 100.0}\n")
    monkeypatch.setenv("LAB_PRICES", str(prices))
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115
    grid = ["--grid", "engines={validate: small},{validate: other},{}"]
    command = ["run", str(book), "-p", "limit", "2", *grid, "--out", str(tmp_path / "out")]
    assert main(command) == 2
    told = capsys.readouterr()
    assert "rehearsing 1 of 1 settings" in told.out
    assert "small in 'rules, Validate: small', checking: 2 episodes, 6 calls (as many calls as rules made" in told.out
    assert "no run of a model on checking yet; try a limit of 2 first" in told.out
    assert "in all: calls 12; dollars unknown; hours unknown" in told.out
    assert "1 cell on rules and recordings: 0 dollars" in told.out
    assert "add --yes" in told.err
    assert server.count == 0 and not list(tmp_path.glob("default-runs/checking/*")), "a rehearsal asks nobody"

    server.behave(lambda request: chat.answer({"right": True}, delay=0.02))
    played = Checking(engine="rules", engines={"validate": "small"}, count=2)
    collect(played, workers=1, show_progress=False)  # 3 calls of 7 tokens in and 3 out each
    assert main(command) == 2
    told = capsys.readouterr()
    assert "rehearsing" not in told.out, "a rehearsal is kept"
    assert "small in 'rules, Validate: small', checking: 0 of 2 episodes, 0 calls" in told.out, "it is on disk"
    assert "other in 'rules, Validate: other', checking: 2 episodes, 6 calls, 42 tokens in, 18 out, 0.00 d" in told.out
    assert "tells no seconds of other" in told.out
    assert "in all: calls 6; dollars 0.00; hours unknown" in told.out


def test_a_rehearsal_never_writes_among_the_runs_of_the_model_whose_name_it_bears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REHEARSAL, str(tmp_path / "apart"))
    run = collect(Asking(engine="gpt-4o", count=1), workers=1, show_progress=False)
    assert run.folder.is_relative_to(tmp_path / "apart") and not list(tmp_path.glob("default-runs/*"))
    assert connect("gpt-4o").ask.__self__.__class__.__name__ == "Rules"
