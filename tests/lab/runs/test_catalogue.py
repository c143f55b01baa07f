"""The catalogue of runs: each run is found by its names and told in a line, whatever became of its folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import Shelving, manifest
from lab.__main__ import main
from lab.machine.paths import ROOT, runs_folder
from lab.models.replay import MissingRun
from lab.runs import catalogue, find, runs
from lab.runs.collecting import collect
from lab.runs.manifest import Manifest
from lab.runs.run import Run

PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}
HOLD = "import sys; from asking import manifest; from lab.runs.run import Run; from pathlib import Path; "


def row() -> pd.Series:
    """The only run's."""
    (only,) = [row for _, row in runs().iterrows()]
    return only


def states() -> dict[str, str]:
    """Folder -> state."""
    return dict(runs()[["folder", "state"]].itertuples(index=False))


def listed(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["show"]) == 0
    return capsys.readouterr().out


# --- a line a run -----------------------------------------------------------------------------------------------


def test_a_finished_run_has_its_engine_state_and_telling_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_NOTEBOOK", "table9_boxes.ipynb")
    results = collect(Shelving(count=40, engine="rules@0.8", seed=3), show_progress=False)
    run = row()
    assert (run.method, run.engine, run.state, run.done, run.planned) == (
        "shelving", "rules@0.8?seed=3", "finished", 40, 40,
    )  # fmt: skip
    assert run.folder.startswith("table9_boxes/") and "synthetic seed=3 count=40" in run.folder
    assert runs_folder() / run.folder == results.folder


def test_a_run_that_another_process_writes_is_running_and_is_not_disturbed() -> None:
    folder = runs_folder() / "busy"
    hold = f"{HOLD}run = Run(Path({str(folder)!r}), manifest(3)); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], env=os.environ | PATHS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "open\n"
        assert (row().state, row().done, row().planned) == ("running", 0, 3)
        holder.kill()
    assert row().state == "stopped"


def test_damaged_and_foreign_folders_never_stop_the_listing(capsys: pytest.CaptureFixture[str]) -> None:
    for number, name in enumerate(("whole", "manifest", "digest"), start=1):
        collect(Shelving(count=number), run=name, show_progress=False)
    at = runs_folder()
    (at / "manifest" / "manifest.json").write_bytes(b"{\0")
    text = (at / "digest" / "manifest.json").read_text()
    (at / "digest" / "manifest.json").write_text(text.replace('"rules"', '"rules@0.9"', 1))
    (at / "bare").mkdir()
    (at / "bare" / "episodes.jsonl").touch()
    (at / "a recording").mkdir()
    shutil.copy(ROOT / "data/recordings/recipe_generator-local/manifest.json", at / "a recording")
    (at / "loop").symlink_to(at)
    assert {name: state.split(":")[0] for name, state in states().items()} == {
        "whole": "finished", "manifest": "DAMAGED", "digest": "DAMAGED", "bare": "DAMAGED",
    }  # fmt: skip
    assert listed(capsys).count("DAMAGED: ") == 3


# --- listing ----------------------------------------------------------------------------------------------------


def test_the_newest_runs_come_first_and_no_name_clears_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert listed(capsys).startswith("no runs in ") and runs().empty
    for number, engine in enumerate(["rules", "rules@0.2", "rules@0.9"]):
        folder = collect(Shelving(count=2, engine=engine), show_progress=False).folder
        for path in folder.iterdir():
            os.utime(path, (1e9 + 86400 * number,) * 2)
    assert list(runs()["engine"]) == ["rules@0.9", "rules@0.2", "rules"]
    head, first, *_ = listed(capsys).splitlines()
    assert re.split(r" {2,}", head) == ["date", "done", "state", "folder"]
    assert re.split(r" {2,}", first)[1:3] == ["2/2", "finished"] and "rules@0.9" in first
    collect(Shelving(count=2), run="\x1b[2J\u202eevil", show_progress=False)
    assert "\\x1b[2J\\u202eevil" in listed(capsys)
    assert main(["show", "evil"]) == 0 and "\x1b" not in capsys.readouterr().out


# --- names ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Runs with names that hold each other; the last lies in the folder of runs itself."""
    at = tmp_path_factory.mktemp("named") / "runs"
    for name in ("a", "ab", "Ab c/one", "Ab c/two", "b.c/one", "zürich (1)"):
        Run(at / name, manifest(1, seed=name)).close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_RUNS", str(at))
        yield catalogue.folders()


@given(part=st.data())
def test_a_part_of_a_name_means_a_run_or_lists_all_that_it_may_mean(many: list[Path], part: st.DataObject) -> None:
    at = many[-1].parent
    names = {folder: folder.relative_to(at).as_posix() for folder in many}
    whole = part.draw(st.sampled_from([*names.values()]))
    start = part.draw(st.integers(0, len(whole) - 1))
    name = part.draw(st.one_of(st.just(whole[start : start + part.draw(st.integers(1, 12))]), st.text(max_size=6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_RUNS", str(at))
        low = name.lower()
        exact = [one for one in many if low in (one.name.lower(), names[one].lower())]
        meant = [one for one in many if low in names[one].lower()]
        try:
            found = find(name)
        except MissingRun as error:
            # What is listed is what was meant, each by a name that means it alone.
            assert len(exact) != 1 and len(meant) != 1
            assert all(names[one] in str(error) for one in meant)
            assert meant or "python -m lab show" in str(error)
        else:
            assert found in (exact or meant) or found.resolve() in many
            assert len(exact) == 1 or len(meant) == 1 or found.resolve() in many


def test_every_run_is_found_by_its_folder_and_its_name(many: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", str(many[-1].parent))
    for folder in many:
        assert find(folder) == find(str(folder)) == find(folder.relative_to(many[-1].parent).as_posix()) == folder
    for name in ("", "\0", "x" * 5000, "../..", "[", "*"):
        with pytest.raises(MissingRun):
            find(name)
    with pytest.raises(MissingRun, match=r"did you mean 'zürich \(1\)'"):
        find("zurich (1)")
    played = collect(Shelving(count=2), show_progress=False)
    assert find(Manifest.read(played.folder).digest[:6]) == played.folder
    shutil.rmtree(played.folder.parent)
