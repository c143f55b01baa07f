"""The runs on disk: a table of them, the run that a name means, and what a run's headline is.

Runs are read without being opened, so that nothing of them changes. A folder that is damaged has its row, too.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.faults import DamagedFile
from lab.machine.lines import MANIFEST
from lab.machine.paths import runs_folder, shown
from lab.machine.printing import aligned, visible
from lab.machine.spelling import hint
from lab.models.replay import MissingRun
from lab.results.headlines import Headline, headlines
from lab.results.outcomes import Score
from lab.results.text import shortened
from lab.runs.collecting import by_group
from lab.runs.manifest import Manifest
from lab.runs.run import EPISODES, FAULTS, LOCK, USAGE, writer
from lab.viewer.episodes import Kept

if TYPE_CHECKING:
    import pandas as pd

ID = 6  # characters of a run's hash that stand for it, as in its folder's name
MOST = 12  # candidates that an error lists
WIDEST = {"engine": 32, "state": 100}  # characters in the printed table
FILES = (MANIFEST, EPISODES, FAULTS, USAGE)  # not the lock, which also those take who only look
COLUMNS = ("run", "date", "method", "engine", "done", "planned", "state", "folder")


class NoScores(ValueError):
    """A run's scores cannot be had here; says why."""


def runs(*words: str) -> pd.DataFrame:
    """A row for each run in the folder of runs, those written last first.

    words: only rows that hold all of them, in any case. run: the beginning of its hash. date: when it was last written
    to, local time. done: episodes that count, failed ones among them, of those planned. state: "finished", "running",
    "stopped", or what is damaged. folder: below the folder of runs; it names notebook, engine and settings.
    """
    import pandas as pd

    rows = [_row(folder) for folder in folders()]
    texts = (f"{' '.join(map(str, row.values()))} {row['done']}/{row['planned']}".lower() for row in rows)
    chosen = [row for row, text in zip(rows, texts, strict=True) if all(word.lower() in text for word in words)]
    table = pd.DataFrame(chosen, columns=COLUMNS)
    return table.sort_values("date", ascending=False, kind="stable", ignore_index=True)


def lines(table: pd.DataFrame) -> Iterator[str]:
    """A table of runs for a terminal."""
    if table.empty:
        yield f"no such runs in {shown(runs_folder())}"
        return
    rows: list[tuple[str, ...]] = [("run", "date", "engine", "done", "state", "folder")]
    for row in table.to_dict("records"):
        engine, state = (shortened(row[name], width) for name, width in WIDEST.items())
        rows.append(
            (
                row["run"],
                f"{row['date']:%Y-%m-%d %H:%M}",
                engine,
                f"{row['done']}/{row['planned']}",
                state,
                row["folder"],
            )
        )
    yield aligned([[visible(" ".join(cell.split())) for cell in row] for row in rows])


def folders() -> list[Path]:
    """All run folders in the folder of runs. Recordings are none, nor is what is hidden or a link."""
    found = []
    for path, inside, files in os.walk(runs_folder()):
        if {LOCK, EPISODES} & set(files):
            found.append(Path(path))
            inside.clear()
        else:
            inside[:] = sorted(name for name in inside if not name.startswith("."))
    return found


def find(name: str | Path) -> Path:
    """The folder that a name means: a folder, or any part of a run's name, or the beginning of its hash, that no other
    run has. A run that is called just so comes before those that are called so in part.

    Raises MissingRun listing all that the name may mean, or what is called much alike.
    """
    for folder in (Path(name), runs_folder() / name):
        if any(os.path.isfile(folder / file) for file in (LOCK, EPISODES)):
            return folder
    known, wanted = {folder: _below(folder) for folder in folders()}, str(name).lower()
    matches = [folder for folder in known if folder.name.lower() == wanted]
    matches = matches or [
        folder
        for folder, below in known.items()
        if wanted in below.lower() or (wanted and _digest(folder).startswith(wanted))
    ]
    if len(matches) == 1:
        return matches[0]
    at = shown(runs_folder())
    if not matches:
        near = hint(str(name), [part for folder in known for part in (folder.name, folder.parent.name)])
        raise MissingRun(f"There is no run {str(name)!r} in {at}{near}. See all of them with: python -m lab runs")
    rest = [f"and {len(matches) - MOST} more"] * (len(matches) > MOST)
    head = f"{str(name)!r} may be any of {len(matches)} runs in {at}; say which:"
    raise MissingRun("\n  ".join([head, *map(called, matches[:MOST]), *rest]))


def called(folder: Path) -> str:
    """A run as it is named to a user: the beginning of its hash, and its folder."""
    return visible(f"{_digest(folder)[:ID]:{ID}}  {_below(folder)}")


def written(folder: Path) -> datetime.datetime:
    """When a run was last written to, local time."""
    times = [os.stat(path).st_mtime for name in FILES if os.path.exists(path := folder / name)]
    moment = max(times, default=os.stat(folder).st_mtime)
    return datetime.datetime.fromtimestamp(moment).replace(microsecond=0)


def scores(kept: Kept) -> list[Score]:
    """What a run's headline is the mean of, from its whole groups of episodes; failed ones say why. Raises NoScores."""
    setup = kept.setup
    if setup is None:
        raise NoScores(kept.unread)
    if not metric(kept):
        raise NoScores(f"{setup.method} has no score of its own")
    episodes, _ = by_group(setup, kept.manifest.tasks, kept.episodes, kept.not_measured)
    try:
        return setup.scores(episodes)
    # Of a paper, or of a reader's own experiment, on what other code may have written.
    except Exception as error:
        raise NoScores(f"{type(error).__name__}: {error}") from error


def headline(kept: Kept) -> list[Headline]:
    """The mean of each part's scores. Raises NoScores."""
    return headlines(scores(kept), metric(kept))


def metric(kept: Kept) -> str:
    """The name of its scores, "" where it has none here."""
    return (kept.setup.headline or kept.setup.metric) if kept.setup else ""


def _row(folder: Path) -> dict[str, Any]:
    row = {"run": _digest(folder)[:ID], "date": written(folder), "method": "", "engine": "", "folder": _below(folder)}
    row |= {"done": 0, "planned": 0}
    try:
        manifest = Manifest.read(folder)
    except DamagedFile as error:
        return row | {"state": f"DAMAGED: {error}"}
    done = 0
    with suppress(FileNotFoundError):
        done = (folder / EPISODES).read_bytes().count(b"\n")  # a line an episode; a torn one has no end
    planned = len(manifest.tasks)
    state = "running" if writer(folder) else "finished" if done >= planned else "stopped"
    return row | {
        "method": manifest.method,
        "engine": manifest.engine,
        "done": done,
        "planned": planned,
        "state": state,
    }


def _below(folder: Path) -> str:
    """A run's name: its folder, below the folder of runs if it lies there."""
    return (folder.relative_to(runs_folder()) if folder.is_relative_to(runs_folder()) else folder).as_posix()


def _digest(folder: Path) -> str:
    """The hash of a run's manifest, "" where it cannot be read."""
    try:
        noted = json.loads((folder / MANIFEST).read_bytes()).get("digest")
        return str(noted or Manifest.read(folder).digest)  # of before it was noted
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
