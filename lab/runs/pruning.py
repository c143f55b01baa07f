"""Removing runs that nobody needs: says first what would go, and takes no running one, and nothing but runs."""

from __future__ import annotations

import datetime
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lab.machine.faults import DamagedFile
from lab.machine.paths import recordings_folder, runs_folder, shown
from lab.machine.printing import aligned, visible
from lab.runs import catalogue
from lab.runs.catalogue import Entry
from lab.runs.manifest import Manifest
from lab.runs.run import RunBusy, held, index

UNFINISHED = ("stopped", "not measured")


class Chosen(NamedTuple):
    """A run that would go. size: bytes of its files."""

    entry: Entry
    folder: Path
    size: int


def choose(
    names: Sequence[str] = (), older: float | None = None, unfinished: bool = False, stale: bool = False,
    keep: int | None = None,
) -> list[Chosen]:  # fmt: skip
    """The runs that meet all conditions which are set, those written last first; at least one has to be set.

    names: only these (see `lab.runs.catalogue.find`). older: not written to for so many days. unfinished: some episode
    is pending. stale: made by other sources than this checkout's, so that nothing resumes it. keep: not the newest so
    many of those that are alike in notebook, condition and engine.
    Raises MissingRun, and ValueError where nothing is set, and for a run that is running, or that lies outside of the
    folder of runs.
    """
    if not names and older is keep is None and not (unfinished or stale):
        raise ValueError("say which runs may go: --older, --unfinished, --stale, --keep, or their names")
    named, chosen, alike = {_inside(name) for name in names}, [], Counter[tuple[str, ...]]()
    oldest = datetime.datetime.now() - datetime.timedelta(days=older or 0)
    for entry in catalogue.entries(score=False):
        folder = (runs_folder() / entry.folder).resolve()
        title = (entry.notebook, entry.condition, entry.engine, entry.method)
        alike[title] += 1
        if entry.state == "running" and folder in named:
            raise ValueError(f"{entry.run} {entry.folder} is running; wait for it, or stop it first")
        if (
            entry.state != "running"
            and (folder in named if names else _removable(folder))
            and (older is None or entry.date < oldest)
            and (not unfinished or entry.state in UNFINISHED)
            and (keep is None or alike[title] > keep)
            and (not stale or _stale(folder))
        ):
            size = sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
            chosen.append(Chosen(entry, folder, size))
    return chosen


def remove(chosen: Sequence[Chosen]) -> list[Chosen]:
    """Remove these runs and what leads to them; those that were. One that somebody has begun to write to stays."""
    gone = []
    for one in chosen:
        links = [link for link in index().glob("*") if link.is_symlink() and link.resolve() == one.folder]
        try:
            with held(one.folder):
                shutil.rmtree(one.folder)
        except RunBusy:
            continue
        for link in links:
            link.unlink()
        if one.folder.parent != runs_folder().resolve():
            with suppress(OSError):  # other runs of the notebook are in it
                one.folder.parent.rmdir()
        gone.append(one)
    return gone


def lines(chosen: Sequence[Chosen], gone: Sequence[Chosen] | None = None) -> Iterator[str]:
    """What would go, for a terminal; gone: what did go, None where nothing was to be removed."""
    if not chosen:
        yield f"no such runs in {shown(runs_folder())}"
        return
    rows = [
        (entry.run, f"{entry.date:%Y-%m-%d %H:%M}", entry.folder, entry.told, entry.cost, _size(size))
        for entry, _, size in chosen
    ]
    yield aligned([[visible(" ".join(cell.split())) for cell in row] for row in rows])
    if gone is None:
        yield f"{_counted(chosen)} would go; nothing was removed: add --yes"
        return
    stayed = len(chosen) - len(gone)
    yield f"{_counted(gone)} removed" + (f"; {stayed} stayed, since somebody writes to them" if stayed else "")


def _inside(name: str) -> Path:
    """The folder of a run that may be removed."""
    folder = catalogue.find(name).resolve()
    if not _removable(folder):
        raise ValueError(f"{name} is no run in {runs_folder()}: only runs there are removed; remove it by hand")
    return folder


def _removable(folder: Path) -> bool:
    """Whether it lies among the runs, and is no recording that somebody keeps there."""
    return folder.is_relative_to(runs_folder().resolve()) and not folder.is_relative_to(recordings_folder().resolve())


def _stale(folder: Path) -> bool:
    with suppress(DamagedFile):
        return not Manifest.read(folder).current
    return False  # nobody knows


def _counted(chosen: Sequence[Chosen]) -> str:
    return f"{len(chosen)} run{'s' * (len(chosen) != 1)}, {_size(sum(one.size for one in chosen))},"


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"
