"""Runs are removed when they are asked for twice, and nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from asking import Shelving, manifest
from lab.__main__ import main
from lab.machine.paths import ROOT, runs_folder
from lab.models.replay import MissingRun
from lab.runs import pruning
from lab.runs.catalogue import find
from lab.runs.collecting import collect
from lab.runs.run import Run, folder_for, index

PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}


def played(days_ago: float = 0, **about: object) -> Path:
    """A run's folder, as notebooks name it, last written to so long ago."""
    folder = collect(Shelving(**{"count": 2} | about), show_progress=False).folder
    for path in folder.iterdir():
        moment = path.stat().st_mtime - 86400 * days_ago
        os.utime(path, (moment, moment))
    return folder


def chosen(*names: str, **about: object) -> set[Path]:
    """The folders that would go."""
    return {*pruning.choose(names, **about)}


def test_nothing_goes_without_yes_and_with_it_the_run_and_its_link(capsys: pytest.CaptureFixture[str]) -> None:
    gone, kept = played(seed=1), played(seed=2)
    assert main(["prune", gone.name[-6:]]) == 0
    said = capsys.readouterr().out
    assert gone.exists() and gone.name in said and "1 to delete; nothing was deleted: add --yes" in said
    assert main(["prune", gone.name[-6:], "--yes"]) == 0 and "1 deleted" in capsys.readouterr().out
    assert not gone.exists() and [link.resolve() for link in index().iterdir()] == [kept]
    assert played(seed=1) == gone  # and it can be played again


def test_old_runs_go_and_of_named_ones_those_that_are_old() -> None:
    old, new = played(40, seed=1), played(seed=2)
    assert chosen(older=30) == {old} and chosen(older=50) == set()
    assert chosen(new.name, older=30) == set() and chosen(new.name) == {new}
    with pytest.raises(ValueError, match="say which runs may go: --older"):
        chosen()


def test_a_running_run_stays_also_when_it_starts_in_between() -> None:
    folder = folder_for(manifest(3), "synthetic")
    hold = (
        "import sys; from asking import manifest; from lab.runs.run import Run; from pathlib import Path; "
        f"run = Run(Path({str(folder)!r}), manifest(3)); print('open', flush=True); sys.stdin.read()"
    )
    Run(folder, manifest(3)).close()
    before = pruning.choose([folder.name])
    with subprocess.Popen(
        [sys.executable, "-c", hold], env=os.environ | PATHS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "open\n"
        assert not pruning.choose(older=1e-9) and not pruning.remove(before)
        assert main(["prune", folder.name, "--yes"]) == 2
        holder.kill()
    assert (folder / "manifest.json").exists() and len(pruning.remove(before)) == 1


def test_nothing_outside_of_the_runs_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = collect(Shelving(count=2), run=str(tmp_path / "elsewhere"), show_progress=False).folder
    with pytest.raises(ValueError, match="only runs there are deleted"):
        chosen(str(elsewhere))
    recording = tmp_path / "recordings" / "boxes"
    shutil.copytree(ROOT / "data/recordings/recipe_generator-local", recording)
    monkeypatch.setenv("LAB_RECORDINGS", str(recording.parent))
    for name in ("boxes", str(recording)):
        with pytest.raises(MissingRun):
            chosen(name)
    # Recordings that somebody keeps among the runs, one of them made from a run's whole folder.
    inside = runs_folder() / "recordings"
    monkeypatch.setenv("LAB_RECORDINGS", str(inside))
    shutil.copytree(elsewhere, inside / "kept")
    assert find("kept") and not chosen(older=1e-9)
    with pytest.raises(ValueError, match="only runs there"):
        chosen("kept")


def test_a_damaged_run_can_go() -> None:
    folder = played()
    (folder / "manifest.json").write_text("{")
    assert main(["prune", folder.name, "--yes"]) == 0 and not folder.exists()
