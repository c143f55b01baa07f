"""The runs on disk: the folder for a new run, a table of all runs, and the search for a run by name.

Runs are read without being opened, so they do not change. Damaged folders have a row in the table, too.
"""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.faults import DamagedFile
from lab.machine.paths import notebook_name, runs_folder, shown
from lab.machine.printing import hint, visible
from lab.machine.reading import MANIFEST, damaged
from lab.models.replay import MissingRun
from lab.runs.manifest import Manifest
from lab.runs.run import EPISODES, FAULTS, LOCK, USAGE, writer

if TYPE_CHECKING:
    import pandas as pd

LONGEST_PART = 60  # characters of an engine string or a condition in a folder's name
MOST = 12  # candidates that an error lists
FILES = (MANIFEST, EPISODES, FAULTS, USAGE)  # files that date a run; not the lock, which readers touch, too
COLUMNS = ("date", "method", "engine", "done", "planned", "state", "folder")


def folder_for(manifest: Manifest, condition: str) -> Path:
    """The folder of an experiment: `runs/NOTEBOOK/ENGINE CONDITION n=COUNT HASH`.

    Named after the first notebook that plays the experiment; others share the folder. Outside of notebooks the run's
    method replaces the notebook's name. Raises DamagedFile if the link to an existing folder is invalid.
    """
    runs = runs_folder()
    parts = [_plain(manifest.engine), _plain(condition), f"n={len(manifest.tasks)}", manifest.digest[:6]]
    path = Path(_plain(notebook_name() or manifest.method)) / " ".join(word for word in parts if word)
    link = index() / manifest.digest
    try:  # creating a link is atomic, and succeeds in one process only
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path("..") / path)
    except FileExistsError:
        match = re.fullmatch(r"\.\./([^/.][^/]*/[^/]+ [0-9a-f]{6})", os.readlink(link) if link.is_symlink() else "")
        if not match:
            links = link.parent
            target = link if links.is_dir() else links
            why = "it should be a link to a run's folder" if target == link else "it should be a folder"
            copied = f" with {links}: these runs were copied with their links followed" if link.is_dir() else ""
            remedy = f"Delete it{copied}. It is made again, and the runs themselves stay as they are"
            raise damaged(target, why, remedy) from None
        path = Path(match[1])
    return runs / path


def index() -> Path:
    """The folder of links from an experiment's digest to its run folder."""
    return runs_folder() / ".by_hash"


def _plain(text: str) -> str:
    """Text for a folder's name, safe in any shell if quoted."""
    return "".join(character if character.isalnum() or character in " @.,+=_-" else "-" for character in text)[
        :LONGEST_PART
    ].strip()


def runs() -> pd.DataFrame:
    """A row for each run in the folder of runs, last written first.

    date: last write, local time. done: number of stored episodes, including failed ones. planned: number of tasks.
    state: "finished", "running", "stopped", or the damage. folder: relative to the folder of runs; it names notebook,
    engine and settings, and ends with the first digits of the run's hash.
    """
    import pandas as pd

    table = pd.DataFrame([_row(folder) for folder in folders()], columns=COLUMNS)
    return table.sort_values("date", ascending=False, kind="stable", ignore_index=True)


def folders() -> list[Path]:
    """All run folders in the folder of runs, without hidden folders and links. Recordings do not count as runs."""
    paths = []
    for path, subfolders, files in os.walk(runs_folder()):
        if {LOCK, EPISODES} & set(files):
            paths.append(Path(path))
            subfolders.clear()
        else:
            subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
    return paths


def find(name: str | Path) -> Path:
    """The run folder for a name: a path, or any unique part of a run's name, such as the hash at its end. An exact name
    takes precedence over partial matches.

    Raises MissingRun that lists all matches if there are several, or similar names if there are none.
    """
    for folder in (Path(name), runs_folder() / name):
        if any(os.path.isfile(folder / file) for file in (LOCK, EPISODES)):
            return folder
    known, text = folders(), str(name).lower()
    matches = [folder for folder in known if folder.name.lower() == text]
    matches = matches or [folder for folder in known if text in called(folder).lower()]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        alike = hint(str(name), [part for folder in known for part in (folder.name, folder.parent.name)])
        raise MissingRun(
            f"There is no run {str(name)!r} in {shown(runs_folder())}{alike}. See all of them with: python -m lab show"
        )
    more = [f"and {len(matches) - MOST} more"] * (len(matches) > MOST)
    head = f"{str(name)!r} may be any of {len(matches)} runs in {shown(runs_folder())}; say which:"
    raise MissingRun("\n  ".join([head, *map(called, matches[:MOST]), *more]))


def called(folder: Path) -> str:
    """A run's name for the user: its folder, relative to the folder of runs if it is inside."""
    path = folder.relative_to(runs_folder()) if folder.is_relative_to(runs_folder()) else folder
    return visible(path.as_posix())


def _row(folder: Path) -> dict[str, Any]:
    times = [os.stat(path).st_mtime for name in FILES if os.path.exists(path := folder / name)]
    written = datetime.datetime.fromtimestamp(max(times, default=os.stat(folder).st_mtime)).replace(microsecond=0)
    row = {"date": written, "method": "", "engine": "", "done": 0, "planned": 0, "folder": called(folder)}
    try:
        manifest = Manifest.read(folder)
    except DamagedFile as error:
        return row | {"state": f"DAMAGED: {error}"}
    episodes = folder / EPISODES
    done = episodes.read_bytes().count(b"\n") if episodes.exists() else 0  # a torn line has no newline
    planned = len(manifest.tasks)
    state = "running" if writer(folder) else "finished" if done >= planned else "stopped"
    return row | {
        "method": manifest.method, "engine": manifest.engine, "done": done, "planned": planned, "state": state,
    }  # fmt: skip
