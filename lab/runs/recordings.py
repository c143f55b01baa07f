"""Recordings: a real model's answers and the rows they made, small enough for the repository.

    data/recordings/NAME/manifest.json     what ran, with which model file, on which tasks, when
    data/recordings/NAME/answers.jsonl.gz  request hashes, answers and token counts; no benchmark text
    data/recordings/NAME/rows.csv          the finished rows of the results table
    data/recordings/NAME/scores.csv        the score of each task under each condition, where single tasks have one
    data/recordings/NAME/usage.csv         calls, tokens, seconds and parse paths by operator

One that is not finished has its manifest and its answers alone: nothing is concluded from a part of the tasks.
Rows that no model's answers made, but files that are not on every machine, are kept as manifest and rows alone, with
paired.csv where comparisons task by task are kept as well.

`python -m lab record` makes one, `replay:NAME` serves it, and notebooks show its rows. One that is not finished,
because its budget was spent, goes on from its own files, in any clone.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lab.machine import progress
from lab.machine.faults import DamagedFile
from lab.machine.files import write_atomically
from lab.machine.paths import recordings_folder
from lab.machine.reading import MANIFEST, damaged, read_json, read_table
from lab.models import engines
from lab.models.cache import RECORDING, AnswerCache
from lab.models.engines import BadEngine, parse
from lab.models.prompt_sets import digests
from lab.models.replay import ANSWERS, PACKED, Replay
from lab.results import tables
from lab.results.stored import SUFFIX
from lab.runs.manifest import Manifest
from lab.runs.run import DAMAGED, read_lines

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
PAIRED, SCORES = "paired.csv", SUFFIX[1:]
RECORDED = {"rows.csv", "usage.csv", PAIRED, SCORES}
COUNTED = ("calls", "tokens in", "tokens out", "seconds")  # columns of usage.csv that every recording has


@dataclass(frozen=True)
class Sitting:
    """One of the runs that a recording was made in. minutes: of the clock. calls: of the model, without cached ones."""

    date: str
    minutes: float
    calls: int

    @classmethod
    def of(cls, minutes: float, calls: int) -> Sitting:
        """One that ends now."""
        return cls(datetime.date.today().isoformat(), round(minutes, 1), calls)


@dataclass(frozen=True)
class Recording:
    """A recording's manifest. tasks: those that were played; planned: how many should have been. seconds: that the
    model took for the answers; 0 where nobody kept them.

    run: the digest of the run whose rows alone are kept. sha256: of its other files, by name; a recording of before
    they were noted has none. prompts: the digests of the suite's prompts that it answers, by name. sittings: those it
    was made in, where they were noted.
    """

    method: str
    engine: str
    address: str
    parameters: Mapping[str, Any]
    date: str
    tasks: tuple[str, ...] = ()
    planned: int = 0
    seconds: float = 0.0
    code: str = ""
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    sittings: tuple[Sitting, ...] = ()

    @property
    def hours(self) -> float:
        """Of the clock, over all sittings; 0 where nobody noted them."""
        return sum(sitting.minutes for sitting in self.sittings) / 60

    @property
    def whole(self) -> bool:
        """Whether all planned tasks were played."""
        return len(self.tasks) >= self.planned

    @property
    def played(self) -> str:
        """How many of the planned tasks, in words."""
        return f"{len(self.tasks)} of {self.planned}"


def resume(name: str) -> str:
    """Put the answers of an unfinished recording into the cache, so that its run goes on from there.

    What is said of it; "" where there is nothing to go on from. What could not be used then cannot be used now: a model
    takes longest over answers that are cut. Raises DamagedFile.
    """
    folder = recordings_folder() / name
    if not (folder / MANIFEST).exists() or not (folder / PACKED).exists():
        return ""
    recording = read_json(folder / MANIFEST, Recording)
    if recording.whole:
        return ""
    _to_cache(Replay.at(folder, PACKED))
    return f"the recording {name} goes on from {recording.played} tasks, of {recording.date}"


def reuse(name: str) -> str:
    """Put the answers of a recording, finished or not, into the cache, so that no other run of that model asks for them
    again: methods can be played beside one that was recorded.

    What is said of it. Raises MissingRun and DamagedFile.
    """
    return f"{_to_cache(Replay.of(engines.parse(f'replay:{name}')))} answers of {name} are not asked for again"


def _to_cache(served: Replay) -> int:
    """How many answers were put there."""
    cache = AnswerCache()
    for answer in served.answers.values():
        kept = ("text", "path", "tokens_in", "tokens_out", "seconds", "said")
        cache.put(answer.request, {name: getattr(answer, name) for name in kept})
    return len(served.answers)


def save(
    run: Path, rows: pd.DataFrame, usage: pd.DataFrame, tasks: list[str], name: str = "",
    scores: pd.DataFrame | None = None, sitting: Sitting | None = None,
) -> Path | None:  # fmt: skip
    """Save a run folder and its finished rows as a recording, in place of an earlier one of that name.

    name: by default the one that `lab record` gave; None is returned, and nothing written, outside of it.
    tasks: ids of the tasks that were played. scores: those of `lab.results.stored`. sitting: the one that ends.
    Raises FileNotFoundError for a run that kept no answers, DamagedFile for one that lost some.
    """
    name = name or os.environ.get(RECORDING, "")
    if not name:
        return None
    if not (run / ANSWERS).exists():
        raise FileNotFoundError(f"{run} holds no {ANSWERS}: only runs of a model are recorded")
    if (aside := run / f"{ANSWERS}{DAMAGED}").exists():
        remedy = f"Delete {run} and run the same command: the cache answers what it has"
        raise damaged(aside, "these answers of the run are lost, so that it cannot be recorded", remedy)
    answers = {answer["request"]: answer for answer in read_lines(run / ANSWERS)}  # the last of a repeated request
    lines = "".join(json.dumps(answers[request], sort_keys=True) + "\n" for request in sorted(answers))
    held = Manifest.read(run)
    files = {PACKED: gzip.compress(lines.encode(), 9, mtime=0)}
    if len(tasks) >= len(held.tasks):
        files |= {"rows.csv": rows.to_csv(index=False).encode(), "usage.csv": usage.to_csv(index=False).encode()}
        if scores is not None and len(scores):
            files[SCORES] = scores.assign(run=f"replay:{name}").to_csv(index=False).encode()
    noted = {key: getattr(held, key) for key in ("method", "engine", "address", "parameters", "code", "surroundings")}
    seconds = round(sum(answer.get("seconds", 0.0) for answer in answers.values()), 3)
    asked = {answer["prompt"] for answer in answers.values()}
    prompts = {prompt: digest for prompt, digest in sorted(digests(parse(held.engine)).items()) if prompt in asked}
    more = {"tasks": tasks, "planned": len(held.tasks), "seconds": seconds, "prompts": prompts}
    more |= {"sittings": [asdict(each) for each in (*_sittings(name), sitting) if each]}
    return _save(name, files, noted | more)


def _sittings(name: str) -> tuple[Sitting, ...]:
    """Of the unfinished recording of that name, which is gone on with."""
    path = recordings_folder() / name / MANIFEST
    earlier = read_json(path, Recording) if path.exists() else None
    return earlier.sittings if earlier and not earlier.whole and not void(name) else ()


def save_rows(name: str, rows: pd.DataFrame, about: Mapping[str, Any], paired: pd.DataFrame | None = None) -> Path:
    """Save finished rows alone, where what made them cannot be replayed: nobody answered, but files were used.

    about: `method` (under which `rows` finds them), `engine`, `address` (of who answered, or of those files,
    "sha256:…"), `parameters`, and other fields of `Recording`.
    paired: comparisons task by task, which `paired` finds.
    """
    files = {"rows.csv": rows} if paired is None else {"rows.csv": rows, PAIRED: paired}
    return _save(name, {file: table.to_csv(index=False).encode() for file, table in files.items()}, about)


def _save(name: str, files: Mapping[str, bytes], about: Mapping[str, Any]) -> Path:
    target, sums = recordings_folder() / name, {file: hashlib.sha256(data).hexdigest() for file, data in files.items()}
    for file, data in files.items():
        write_atomically(target / file, data)
    for file in (RECORDED - files.keys()) if target.exists() else ():  # of an earlier recording of that name
        (target / file).unlink(missing_ok=True)
    whole = {**about, "date": datetime.date.today().isoformat(), "sha256": sums}
    write_atomically(target / MANIFEST, json.dumps(whole, indent=1).encode())
    return target


def manifests() -> dict[str, Recording]:
    """The manifests of all recordings, by name. One that is damaged is told, and left out."""
    recordings = {}
    for folder in sorted(recordings_folder().glob("*")):
        if os.path.lexists(folder / MANIFEST):
            with _left_out():
                recordings[folder.name] = read_json(folder / MANIFEST, Recording)
    return recordings


def void(name: str) -> str:
    """Why no claim may rest on a recording: a prompt that it answers was changed since; "" where none was.

    Raises DamagedFile; a recording that is not there is void.
    """
    path = recordings_folder() / name / MANIFEST
    if not os.path.lexists(path):
        return f"there is no recording {name}"
    recording = read_json(path, Recording)
    try:
        noted, current = recording.prompts, digests(parse(recording.engine))
    except BadEngine as error:  # a folder of prompts that is not here
        return f"recording {name}: {error}"
    changed = sorted(prompt for prompt, digest in noted.items() if current.get(prompt) != digest)
    return f"recording {name} was made with another wording of {', '.join(changed)}" if changed else ""


def names(method: str) -> list[str]:
    """The finished recordings of a run method that are not void."""
    return [name for name, made in manifests().items() if made.method == method and made.whole and not void(name)]


def rows(method: str) -> pd.DataFrame:
    """The finished rows of every recording of a run method, with a column `data` of what each was played on.

    The source names recording, model file and date. A recording that is damaged is told, and left out; so below.
    """
    return _joined(method, _rows, tables.table([]).assign(data=""))


def paired(method: str) -> pd.DataFrame:
    """The comparisons that are kept with the rows of a run method, with the name and date of each recording."""
    return _joined(method, _paired)


def usage(method: str) -> pd.DataFrame:
    """What every recording of a run method took, by operator, with its number of episodes, model file and date."""
    return _joined(method, _usage)


def _joined(
    method: str, read: Callable[[str, Recording], pd.DataFrame], none: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One table of every recording's. none: where there is no recording; by default an empty table."""
    import pandas as pd

    parts = read_all(method, read)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(none)


def read_usage(name: str, recording: Recording) -> pd.DataFrame:
    """A recording's usage.csv. Raises DamagedFile."""
    path = recordings_folder() / name / "usage.csv"
    return read_table(path, ("operator", *COUNTED), COUNTED, recording.sha256.get(path.name, ""))


def read_all(method: str, read: Callable[[str, Recording], T]) -> list[T]:
    """What `of` makes of every finished recording of a run method, by name and manifest; a damaged or void one is left
    out.
    """
    results = []
    for name, recording in manifests().items():
        if recording.method == method and recording.whole:
            with _left_out():
                if why := void(name):
                    _say(f"a recording is left out: {why}")
                else:
                    results.append(read(name, recording))
    return results


@contextmanager
def _left_out() -> Iterator[None]:
    """Leave a damaged recording out: it loses its own rows, and no other's."""
    try:
        yield
    except DamagedFile as error:
        _say(f"a recording is left out: {error}")


@cache  # of each file once, however many tables leave it out
def _say(message: str) -> None:
    progress.say(message)


def _rows(name: str, recording: Recording) -> pd.DataFrame:
    path = recordings_folder() / name / "rows.csv"
    needed = ("method", "backbone", "metric", "value", "evidence")
    table = read_table(path, needed, tables.NUMBERS, recording.sha256.get(path.name, ""))
    source = f"recording {name}, {_model(recording)}, {recording.date}"
    table = table.assign(source=source).reindex(columns=tables.COLUMNS)  # of before outcomes were counted: without them
    return table.assign(data=recording.parameters.get("data", ""))


def _paired(name: str, recording: Recording) -> pd.DataFrame:
    import pandas as pd

    if PAIRED not in recording.sha256:
        return pd.DataFrame()
    table = read_table(recordings_folder() / name / PAIRED, ("n",), sha256=recording.sha256[PAIRED])
    return table.dropna(axis="columns", how="all").assign(recording=name, date=recording.date)


def _model(recording: Recording) -> str:
    """What answered, in a word each: addresses, or the beginnings of model files' hashes."""
    whole, others = engines.split(recording.address)

    def short(address: str) -> str:
        return address[:19] + (f", {engines.OPENVINO}" if f"/{engines.OPENVINO}-" in address else "")

    return engines.joined(short(whole), {operator: short(part) for operator, part in others.items()})


def _usage(name: str, recording: Recording) -> pd.DataFrame:
    made = {"episodes": recording.played, "model file": _model(recording)}
    return read_usage(name, recording).assign(recording=name, **made, date=recording.date)
