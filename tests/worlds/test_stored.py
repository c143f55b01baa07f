"""Folders that are made once: damage, a second worker, a failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from joblib import Parallel, delayed

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
