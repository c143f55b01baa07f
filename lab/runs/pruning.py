"""Deleting runs: those that are named or old. Running ones and recordings stay, and nothing but runs goes."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Sequence
from pathlib import Path

from lab.machine.paths import recordings_folder, runs_folder
from lab.runs import catalogue
from lab.runs.run import RunBusy, held, index, writer


def choose(names: Sequence[str] = (), older: float | None = None) -> list[Path]:
    """The folders of runs to delete: these (see `lab.runs.catalogue.find`), or all that were not written to for
    `older` days; with both, those of the named ones.

    Raises MissingRun, and ValueError where neither is given, and for a named run that is running, or that lies outside
    of the folder of runs.
    """
    if not names and older is None:
        raise ValueError("say which runs may go: --older DAYS, or their names")
    chosen = [_named(name) for name in names] or [f for f in catalogue.folders() if _removable(f) and not writer(f)]
    oldest = datetime.datetime.now() - datetime.timedelta(days=older or 0)
    return [folder for folder in chosen if older is None or catalogue.written(folder) < oldest]


def remove(folders: Sequence[Path]) -> list[Path]:
    """Delete these runs; those that went. One that somebody has begun to write to stays."""
    gone = []
    for folder in folders:
        links = [link for link in index().glob("*") if link.is_symlink() and link.resolve() == folder.resolve()]
        try:
            with held(folder):
                shutil.rmtree(folder)
        except RunBusy:
            continue
        for link in links:
            link.unlink()
        gone.append(folder)
    return gone


def size(folder: Path) -> int:
    """Bytes of its files."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def _named(name: str) -> Path:
    folder = catalogue.find(name).resolve()
    if not _removable(folder):
        raise ValueError(f"{name} is no run in {runs_folder()}: only runs there are deleted; delete it by hand")
    if now := writer(folder):
        raise ValueError(f"{catalogue.called(folder)} is running ({now}); wait for it, or stop it first")
    return folder


def _removable(folder: Path) -> bool:
    """Whether it lies among the runs, and is no recording that somebody keeps there."""
    at, recordings = runs_folder().resolve(), recordings_folder().resolve()
    return folder.resolve().is_relative_to(at) and not folder.resolve().is_relative_to(recordings)
