"""What is made once and kept: folders of the cache, and the synthetic data of the repository."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from joblib import Parallel, delayed

from lab.machine.faults import DamagedFile
from lab.machine.paths import ROOT
from worlds import frozen
from worlds.stored import SUMS, cache_folder, intact, stored

FILES = ("one.txt", "two.txt")


def write(folder: Path, text: str = "whole") -> None:
    for name in FILES:
        (folder / name).write_text(text)


def kept() -> Path:
    return stored("things", "a key", FILES, write)


def names() -> list[str]:
    return [path.name for path in cache_folder("things").iterdir()]


@pytest.mark.parametrize("damage", [
    lambda folder: (folder / "one.txt").write_bytes(b"ha"), lambda folder: (folder / "one.txt").write_bytes(b"WHOLE"),
    lambda folder: (folder / "two.txt").unlink(), lambda folder: (folder / SUMS).write_text("{"),
], ids=["torn", "changed", "missing", "torn sums"])  # fmt: skip
def test_a_damaged_folder_is_made_again_and_a_whole_one_is_not(damage: Callable[[Path], object]) -> None:
    folder = kept()
    assert stored("things", "a key", FILES, lambda new: pytest.fail("it is there")) == folder
    damage(folder)
    assert not intact(folder, FILES)
    assert kept() == folder and intact(folder, FILES) and names() == [folder.name]


def test_what_another_worker_made_first_is_kept() -> None:
    def second(new: Path) -> None:
        kept()
        write(new, "later")

    folder = stored("things", "a key", FILES, second)
    assert (folder / "one.txt").read_text() == "whole" and names() == [folder.name]


def test_workers_that_want_the_same_at_once_do_not_clash() -> None:
    folders = Parallel(n_jobs=3, prefer="threads")(delayed(kept)() for _ in range(12))
    assert len(set(folders)) == 1 and intact(folders[0], FILES) and names() == [folders[0].name]


def test_a_failure_comes_through_and_leaves_nothing() -> None:
    def fails(new: Path) -> None:
        write(new)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        stored("things", "a key", FILES, fails)
    assert names() == []


@pytest.mark.slow
def test_the_script_writes_the_committed_files_again() -> None:
    command = [sys.executable, "-m", "scripts.make_synthetic", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("content", [None, b'{"id": 1}\n{"id"', b"\xff\n"])
def test_a_missing_or_damaged_file_is_named_with_its_remedy(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "FOLDER", tmp_path)
    if content is not None:
        (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(DamagedFile, match=r"rows\.jsonl.*Restore it"):
        frozen.read_rows("rows.jsonl")
