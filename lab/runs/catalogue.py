"""The catalogue of runs: what lies in the folder of runs, a line each, and which of them a name means.

Runs are read without being opened, so that nothing of them changes. What was read is kept in `runs/.catalogue.json`
until a run's files or the code change. A folder that is damaged, or whose experiment is not to be had here, has its
line too, and says so.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.machine.faults import DamagedFile, Unavailable
from lab.machine.files import write_atomically
from lab.machine.lines import MANIFEST
from lab.machine.paths import runs_folder, shown
from lab.machine.printing import aligned, visible
from lab.machine.spelling import hint
from lab.machine.versions import code_hash
from lab.models import engines, usage
from lab.models.replay import MissingRun
from lab.results.exports import EMPTY
from lab.results.headlines import Headline, headlines
from lab.results.outcomes import Score
from lab.results.text import shortened
from lab.runs.collecting import by_group
from lab.runs.manifest import Manifest
from lab.runs.run import EPISODES, FAULTS, LOCK, USAGE, plain, writer
from lab.viewer.episodes import Kept

if TYPE_CHECKING:
    import pandas as pd

CATALOGUE = ".catalogue.json"  # in the folder of runs; may be deleted at any time
ID = 6  # characters of a run's hash that stand for it, as in its folder's name
MOST = 12  # candidates that an error lists
WIDEST = {"condition": 48, "engine": 32}  # characters in the printed table
STATES = ("running", "finished", "stopped", "not measured", "damaged")
FOLDER = re.compile(r"(.*?) ?n=\d+ [0-9a-f]{6}")  # as `lab.runs.run.folder_for` names it
Since = str | datetime.datetime | None
AGO = re.compile(r"(\d+) ?([dh])")
DATE = re.compile(r"\d{4}-\d\d-\d\d")  # Python would also read 20261120 and 2026W47, and take 12 digits for neither


class NoScores(ValueError):
    """A run's scores cannot be had here; says why. lasting: until the run or the code changes, whatever the machine."""

    def __init__(self, why: str, lasting: bool = True) -> None:
        super().__init__(why)
        self.lasting = lasting


@dataclass(frozen=True)
class Entry:
    """A run in one line.

    run: the beginning of its hash. folder: below the folder of runs, if it lies there. date: when it was last written
    to, local time. done: episodes that count, failed ones among them; planned: how many there are to be. scores: a
    headline for each part of the run. calls, tokens, dollars: what it took; dollars None where a price is unknown.
    state: one of STATES. why: what is damaged, or why there are no scores.
    """

    run: str
    folder: str
    date: datetime.datetime
    notebook: str
    condition: str
    engine: str = ""
    method: str = ""
    done: int = 0
    planned: int = 0
    failed: int = 0
    not_measured: int = 0
    scores: tuple[Headline, ...] = ()
    calls: int = 0
    tokens: int = 0
    dollars: float | None = 0.0
    state: str = "damaged"
    why: str = ""

    @property
    def told(self) -> str:
        """The state in words."""
        left = self.planned - self.done
        if self.state == "damaged":
            return f"DAMAGED: {self.why}"
        if self.state == "not measured":
            return f"{left} not measured"
        missed = f", {self.not_measured} not measured" if self.not_measured else ""
        return f"{self.state}, {left} pending{missed}" if left else self.state

    @property
    def evidence(self) -> str:
        """What kind of number its score is; "" without one."""
        return engines.parse(self.engine).evidence if self.scores else ""

    @property
    def cost(self) -> str:
        """Dollars, or tokens where no price is known; a dash where no model was asked."""
        if not self.tokens and not self.dollars:
            return EMPTY
        return f"{self.tokens:,} tokens" if self.dollars is None else f"${self.dollars:,.2f}"


def runs(
    notebook: str = "", engine: str = "", since: Since = None, sort: str = "date", score: bool = True
) -> pd.DataFrame:
    """The runs as a table: a row for each, and where a run compares parts of itself, such as conditions, for each part.

    value, ci_low, ci_high: the headline with its 95 % interval, in percent where `metric` is a rate. The rest, and the
    arguments, are as for `entries`.
    """
    import pandas as pd

    columns = (
        "run", "date", "notebook", "condition", "engine", "evidence", "state", "done", "planned", "failed",
        "not_measured", "metric", "part", "value", "ci_low", "ci_high", "n", "dollars", "tokens", "folder",
    )  # fmt: skip
    none = Headline("", "", 0, math.nan, math.nan, math.nan)
    rows = [
        {**vars(entry), **one._asdict(), "ci_low": one.low, "ci_high": one.high, "evidence": entry.evidence}
        for entry in entries(notebook, engine, since, sort, score)
        for one in entry.scores or (none,)
    ]
    return pd.DataFrame(rows, columns=columns)


def entries(
    notebook: str = "", engine: str = "", since: Since = None, sort: str = "date", score: bool = True
) -> list[Entry]:
    """The runs in the folder of runs, those written last first.

    notebook, engine: only runs in whose notebook's name or engine this is found. since: only those written to since
    then: a date, such as 2026-11-20, or so many days or hours ago, such as 7d or 12h. sort: a column of SORTED. score:
    also score what was not scored yet, which may take as long as in its notebook.
    Raises ValueError for another.
    """
    if sort not in SORTED:
        raise ValueError(f"--sort {sort}: sort by one of {', '.join(SORTED)}{hint(sort, SORTED)}")
    first = _moment(since)
    found = [
        entry
        for entry in _read_all(score)
        if notebook in entry.notebook and engine in entry.engine and (first is None or entry.date >= first)
    ]
    found.sort(key=lambda entry: entry.date, reverse=True)
    return sorted(found, key=SORTED[sort])


# Numbers are sorted from the highest, and what has none comes last.
SORTED: Mapping[str, Any] = {
    "date": lambda entry: 0,
    "notebook": lambda entry: entry.notebook,
    "condition": lambda entry: entry.condition,
    "engine": lambda entry: entry.engine,
    "done": lambda entry: -entry.done,
    "score": lambda entry: -entry.scores[0].value if entry.scores else math.inf,
    "cost": lambda entry: (-(entry.dollars or 0.0), -entry.tokens),
    "state": lambda entry: STATES.index(entry.state),
}


def lines(found: Sequence[Entry]) -> Iterator[str]:
    """The runs for a terminal, a line each, and one more for each further part."""
    if not found:
        yield f"no such runs in {shown(runs_folder())}"
        return
    rows = [("run", "date", "notebook", "condition", "engine", "done", "score", "evidence", "cost", "state")]
    for entry in found:
        scores = [str(score) for score in entry.scores] or [EMPTY]
        condition, engine = (shortened(getattr(entry, name), width) for name, width in WIDEST.items())
        about = (entry.run, f"{entry.date:%Y-%m-%d %H:%M}", entry.notebook or EMPTY, condition, engine)
        rows.append((*about, f"{entry.done}/{entry.planned}", scores[0], entry.evidence, entry.cost, entry.told))
        rows += [("",) * 6 + (score, entry.evidence, "", "") for score in scores[1:]]
    yield aligned([[visible(" ".join(cell.split())) for cell in row] for row in rows])


def as_json(found: Sequence[Entry]) -> str:
    """The runs as a JSON list; what cannot be seen is escaped."""
    values = [
        asdict(entry)
        | {"date": entry.date.isoformat(), "scores": [s._asdict() for s in entry.scores]}
        | {"evidence": entry.evidence}
        for entry in found
    ]
    return json.dumps(values, indent=1)


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
    found = [folder for folder in known if folder.name.lower() == wanted]
    found = found or [
        folder
        for folder, below in known.items()
        if wanted in below.lower() or (wanted and _digest(folder).startswith(wanted))
    ]
    if len(found) == 1:
        return found[0]
    at = shown(runs_folder())
    if not found:
        near = hint(str(name), [part for folder in known for part in (folder.name, folder.parent.name)])
        raise MissingRun(f"There is no run {str(name)!r} in {at}{near}. See all of them with: python -m lab runs")
    rest = [f"and {len(found) - MOST} more"] * (len(found) > MOST)
    head = f"{str(name)!r} may be any of {len(found)} runs in {at}; say which:"
    raise MissingRun("\n  ".join([head, *map(called, found[:MOST]), *rest]))


def called(folder: Path) -> str:
    """A run as it is told to a user: the beginning of its hash, and its folder."""
    return visible(f"{_digest(folder)[:ID]:{ID}}  {_below(folder)}")


def scores(kept: Kept) -> list[Score]:
    """What a run's headline is the mean of, from its whole groups of episodes; failed ones say why. Raises NoScores."""
    setup = kept.setup
    if setup is None:  # a class of somebody's notebook can be had there
        raise NoScores(kept.unread, lasting="experiment" not in kept.manifest.surroundings)
    if not metric(kept):
        raise NoScores(f"{setup.method} has no score of its own")
    episodes, _ = by_group(setup, kept.manifest.tasks, kept.episodes, kept.not_measured)
    try:
        return setup.scores(episodes)
    except Exception as error:  # of a paper, or of a reader's own experiment, on what other code may have written
        of_here = isinstance(error, (OSError, ImportError, Unavailable))
        raise NoScores(f"{type(error).__name__}: {error}", lasting=not of_here) from error


def headline(kept: Kept) -> list[Headline]:
    """The mean of each part's scores. Raises NoScores."""
    return headlines(scores(kept), metric(kept))


def metric(kept: Kept) -> str:
    """The name of its scores, "" where it has none here."""
    return (kept.setup.headline or kept.setup.metric) if kept.setup else ""


def _read_all(score: bool) -> list[Entry]:
    """All runs, those that did not change since from the catalogue."""
    path, code, known = runs_folder() / CATALOGUE, code_hash(), dict[str, Any]()
    with suppress(OSError, ValueError, AttributeError):
        held = json.loads(path.read_bytes())
        known = held["runs"] if held.get("code") == code else {}
    found, read, there = [], dict[str, Any](), folders()
    changed = {folder for folder in there if known.get(_below(folder), [None])[0] != _stamp(folder)}
    try:
        with progress.bar(len(changed), "reading runs", show=len(changed) > MOST) as bar:
            for folder in there:
                # Before it is read: what is written meanwhile is read the next time.
                stamp, lasting = _stamp(folder), True
                if folder in changed:
                    entry, lasting = _entry(folder, score)
                    bar.update()
                else:
                    entry = _restored(known[_below(folder)][1])
                if lasting:
                    read[_below(folder)] = [stamp, asdict(entry) | {"date": entry.date.isoformat()}]
                found.append(replace(entry, state="running") if writer(folder) else entry)
    finally:  # also after Ctrl-C: some scores take minutes
        if changed or read.keys() != known.keys():
            with suppress(OSError):  # a folder of runs that may only be read
                write_atomically(path, json.dumps({"code": code, "runs": read}).encode())
    return found


def _entry(folder: Path, score: bool) -> tuple[Entry, bool]:
    """A run's line, read from its files; and whether it stays so until they or the code change."""
    kept, below = Kept(folder), Path(_below(folder))
    times = [os.stat(path).st_mtime for name in FILES if os.path.exists(path := folder / name)]
    # Not the lock, which whoever looks whether there is something to play takes as well.
    date = datetime.datetime.fromtimestamp(max(times, default=os.stat(folder).st_mtime)).replace(microsecond=0)
    notebook = "" if below.parent == Path(".") else below.parent.as_posix()
    entry = Entry(_digest(folder)[:ID], str(below), date, notebook, folder.name)
    try:
        manifest = kept.manifest
        if about := FOLDER.fullmatch(folder.name):
            entry = replace(entry, condition=about[1].removeprefix(plain(manifest.engine)).strip())
        entry = replace(
            entry, run=manifest.digest[:ID], engine=manifest.engine, method=manifest.method, planned=len(manifest.tasks)
        )
        done, not_measured = kept.episodes, len(kept.not_measured)
        left = len(manifest.tasks) - len(done)
        entry = replace(
            entry,
            done=len(done),
            failed=sum(episode.failed for episode in done.values()),
            not_measured=not_measured,
            state="finished" if not left else "not measured" if left == not_measured else "stopped",
            **_took(kept.usage),
        )
        return replace(entry, scores=tuple(headline(kept)) if done and score else ()), score or not done
    except NoScores as error:
        return replace(entry, why=str(error)), error.lasting
    except DamagedFile as error:
        return replace(entry, why=str(error)), False
    except (TypeError, KeyError, ValueError) as error:  # lines of JSON that no run writes
        return replace(entry, why=f"{shown(folder)} holds something else than a run ({error})"), False


FILES = (MANIFEST, EPISODES, FAULTS, USAGE)


def _took(usages: Mapping[str, Any]) -> dict[str, Any]:
    """Calls, tokens and dollars of all episodes. What books something else than calls has none."""
    parts = [part for used in usages.values() for part in (used or {}).values()]
    try:
        total = usage.summed(parts)
    except (TypeError, KeyError, AttributeError):
        return {}
    tokens = total["tokens in"] + total["tokens out"]
    return {"calls": total["calls"], "tokens": tokens, "dollars": total["dollars"]}


def _restored(held: Mapping[str, Any]) -> Entry:
    """An entry from the catalogue, which this code wrote."""
    date, told = datetime.datetime.fromisoformat(held["date"]), tuple(Headline(*score) for score in held["scores"])
    return Entry(**{**held, "date": date, "scores": told})


def _stamp(folder: Path) -> list[list[int]]:
    """What changes whenever a run is written to: size and time of each of its files."""
    found = []
    for name in FILES:
        with suppress(OSError):
            about = os.stat(folder / name)
            found.append([about.st_size, about.st_mtime_ns])
    return found


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


def _moment(since: Since) -> datetime.datetime | None:
    if not since:
        return None
    try:
        if isinstance(since, datetime.datetime):
            moment = since
        elif ago := AGO.fullmatch(since.strip()):
            unit = {"d": "days", "h": "hours"}[ago[2]]
            moment = datetime.datetime.now() - datetime.timedelta(**{unit: int(ago[1])})
        elif DATE.match(since.strip()):
            moment = datetime.datetime.fromisoformat(since.strip())
        else:
            raise ValueError
        return moment.astimezone().replace(tzinfo=None) if moment.tzinfo else moment  # local, as the dates of runs are
    except (ValueError, OverflowError):
        examples = "2026-11-20, 2026-11-20T08:30, 2026-11-20T08:30+01:00, 7d, or 12h"
        raise ValueError(f"--since {since}: give a date or an age, such as {examples}") from None
