"""Recordings: a real model's answers and the resulting rows, small enough for the repository.

    data/recordings/NAME/manifest.json     what ran, with which model file, on which tasks, when
    data/recordings/NAME/answers.jsonl.gz  request hashes, answers and token counts; no benchmark text
    data/recordings/NAME/rows.csv          the finished rows of the results table
    data/recordings/NAME/scores.csv        the score of each task under each condition, if single tasks have scores
    data/recordings/NAME/usage.csv         calls, tokens, seconds and parse paths by operator

An unfinished recording has only its manifest and answers: no result is computed from a part of the tasks.
Rows that come from files missing on other machines, not from a model's answers, are stored as manifest and rows alone,
with paired.csv if their task-by-task comparisons are stored as well.

`python -m lab record` creates a recording, `replay:NAME` serves it, and notebooks display its rows. A recording whose
budget ran out can be resumed from its own files, in any clone.
"""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
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
    """A sitting in which a recording was made. minutes: wall-clock. calls: model calls without cache hits."""

    date: str
    minutes: float
    calls: int

    @classmethod
    def of(cls, minutes: float, calls: int) -> Sitting:
        """A sitting that ends today."""
        return cls(datetime.date.today().isoformat(), round(minutes, 1), calls)


@dataclass(frozen=True)
class Recording:
    """A recording's manifest. tasks: ids of the played tasks; planned: number of planned ones. seconds: the model's
    time for the answers; 0 if unknown.

    run: digest of the run, for a recording of rows alone. sha256: file name -> checksum; empty in old recordings.
    prompts: name -> digest of the suite's prompts that it answers. sittings: those in which it was made, if known.
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
        """Wall-clock hours over all sittings; 0 if unknown."""
        return sum(sitting.minutes for sitting in self.sittings) / 60

    @property
    def whole(self) -> bool:
        """Whether all planned tasks were played."""
        return len(self.tasks) >= self.planned

    @property
    def played(self) -> str:
        """Progress as text, such as "12 of 240"."""
        return f"{len(self.tasks)} of {self.planned}"


def resume(name: str) -> str:
    """Put the answers of an unfinished recording into the cache, so that its run resumes there.

    Returns a message for the user; "" if there is nothing to resume. Unusable answers are cached, too: truncated
    answers take a model longest, and would be the same again. Raises DamagedFile.
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
    """Put the answers of a recording, finished or not, into the cache, so that other runs of that model reuse them.

    So other methods can be compared with a recorded one. Returns a message. Raises MissingRun and DamagedFile.
    """
    return f"{_to_cache(Replay.of(engines.parse(f'replay:{name}')))} answers of {name} are not asked for again"


def _to_cache(served: Replay) -> int:
    """Store the recording's answers in the cache, and return their number."""
    cache = AnswerCache()
    for answer in served.answers.values():
        fields = ("text", "path", "tokens_in", "tokens_out", "seconds", "said", "truncated")
        cache.put(answer.request, {name: getattr(answer, name) for name in fields})
    return len(served.answers)


def save(
    run: Path, rows: pd.DataFrame, usage: pd.DataFrame, tasks: list[str], name: str = "",
    scores: pd.DataFrame | None = None, sitting: Sitting | None = None, begun: Iterable[Mapping[str, Any]] = (),
) -> Path | None:  # fmt: skip
    """Save a run folder and its finished rows as a recording. Replaces an earlier recording of that name.

    name: by default the name from `lab record`; outside of it returns None and writes nothing.
    tasks: ids of the played tasks. scores: a table as in `lab.results.stored`. sitting: the one that ends now. begun:
    answers of unfinished episodes, kept until all tasks are played, so that the next sitting does not ask again.
    Raises FileNotFoundError for a run without stored answers.
    Raises DamagedFile for a run that lost some.
    """
    name = name or os.environ.get(RECORDING, "")
    if not name:
        return None
    if not (run / ANSWERS).exists():
        raise FileNotFoundError(f"{run} holds no {ANSWERS}: only runs of a model are recorded")
    if (damaged_file := run / f"{ANSWERS}{DAMAGED}").exists():
        remedy = f"Delete {run} and run the same command: the cache answers what it has"
        raise damaged(damaged_file, "these answers of the run are lost, so that it cannot be recorded", remedy)
    manifest = Manifest.read(run)
    if len(tasks) < len(manifest.tasks):
        return _save_answers(name, manifest, tasks, [*_recorded(name), *begun, *read_lines(run / ANSWERS)], sitting)
    files = {"rows.csv": rows.to_csv(index=False).encode(), "usage.csv": usage.to_csv(index=False).encode()}
    if scores is not None and len(scores):
        files[SCORES] = scores.assign(run=f"replay:{name}").to_csv(index=False).encode()
    return _save_answers(name, manifest, tasks, read_lines(run / ANSWERS), sitting, files)


def save_begun(name: str, manifest: Manifest, begun: Iterable[Mapping[str, Any]], sitting: Sitting) -> Path:
    """Save the answers of a sitting that finished no task, so that the next one does not ask again.

    manifest: of the run to be recorded. Replaces an earlier recording of that name, whose answers are kept.
    """
    return _save_answers(name, manifest, [], [*_recorded(name), *begun], sitting)


def _save_answers(
    name: str, manifest: Manifest, tasks: list[str], given: Iterable[Mapping[str, Any]], sitting: Sitting | None,
    files: Mapping[str, bytes] = {},
) -> Path:  # fmt: skip
    """Save a run's answers, of a repeated request the last, with further files."""
    answers = {answer["request"]: answer for answer in given}
    lines = "".join(json.dumps(answers[request], sort_keys=True) + "\n" for request in sorted(answers))
    fields = {
        key: getattr(manifest, key) for key in ("method", "engine", "address", "parameters", "code", "surroundings")
    }
    seconds = round(sum(answer.get("seconds", 0.0) for answer in answers.values()), 3)
    used = {answer["prompt"] for answer in answers.values()}
    prompts = {prompt: digest for prompt, digest in sorted(digests(parse(manifest.engine)).items()) if prompt in used}
    more = {"tasks": tasks, "planned": len(manifest.tasks), "seconds": seconds, "prompts": prompts}
    more |= {"sittings": [asdict(part) for part in (*_sittings(name), sitting) if part]}
    return _save(name, {PACKED: gzip.compress(lines.encode(), 9, mtime=0), **files}, fields | more)


def _resumed(name: str) -> Recording | None:
    """The unfinished, valid recording of that name, which is being resumed; else None."""
    path = recordings_folder() / name / MANIFEST
    earlier = read_json(path, Recording) if path.exists() else None
    return earlier if earlier and not earlier.whole and not void(name) else None


def _sittings(name: str) -> tuple[Sitting, ...]:
    """The sittings of the recording that is being resumed."""
    earlier = _resumed(name)
    return earlier.sittings if earlier else ()


def _recorded(name: str) -> Iterator[dict[str, Any]]:
    """The answers of the recording that is being resumed: this sitting may not have come to all of its episodes."""
    if _resumed(name):
        packed = (recordings_folder() / name / PACKED).read_bytes()
        yield from map(json.loads, gzip.decompress(packed).splitlines())


def save_rows(name: str, rows: pd.DataFrame, about: Mapping[str, Any], paired: pd.DataFrame | None = None) -> Path:
    """Save finished rows without answers, because their run cannot be replayed: they come from files, not from a model.

    about: `method` (by which `rows` finds them), `engine`, `address` (of the engine, or "sha256:…" of the files),
    `parameters`, and other fields of `Recording`.
    paired: task-by-task comparisons, which the function `paired` returns.
    """
    files = {"rows.csv": rows} if paired is None else {"rows.csv": rows, PAIRED: paired}
    return _save(name, {file: table.to_csv(index=False).encode() for file, table in files.items()}, about)


def _save(name: str, files: Mapping[str, bytes], about: Mapping[str, Any]) -> Path:
    target, sums = recordings_folder() / name, {file: hashlib.sha256(data).hexdigest() for file, data in files.items()}
    for file, data in files.items():
        write_atomically(target / file, data)
    for file in (RECORDED - files.keys()) if target.exists() else ():  # left over from an earlier recording
        (target / file).unlink(missing_ok=True)
    manifest = {**about, "date": datetime.date.today().isoformat(), "sha256": sums}
    write_atomically(target / MANIFEST, json.dumps(manifest, indent=1).encode())
    return target


def manifests() -> dict[str, Recording]:
    """Name -> manifest of all recordings. Damaged ones are reported and left out."""
    recordings = {}
    for folder in sorted(recordings_folder().glob("*")):
        if os.path.lexists(folder / MANIFEST):
            with _left_out():
                recordings[folder.name] = read_json(folder / MANIFEST, Recording)
    return recordings


def void(name: str) -> str:
    """Why a recording is void, so that no claim may use it: a prompt that it answers has changed; "" if valid.

    A missing recording is void. Raises DamagedFile.
    """
    path = recordings_folder() / name / MANIFEST
    if not os.path.lexists(path):
        return f"there is no recording {name}"
    recording = read_json(path, Recording)
    try:
        recorded, current = recording.prompts, digests(parse(recording.engine))
    except BadEngine as error:  # such as a folder of prompts that this machine lacks
        return f"recording {name}: {error}"
    changed = sorted(prompt for prompt, digest in recorded.items() if current.get(prompt) != digest)
    return f"recording {name} was made with another wording of {', '.join(changed)}" if changed else ""


def names(method: str) -> list[str]:
    """Names of the finished recordings of a method that are not void."""
    return [name for name, entry in manifests().items() if entry.method == method and entry.whole and not void(name)]


def rows(method: str, more: Sequence[str] = ()) -> pd.DataFrame:
    """The finished rows of all recordings of a method, with a column `data`, "official" or "synthetic".

    more: further columns of the recorded rows. The source names recording, model file and date. Damaged and void
    recordings are reported and left out.
    """
    return _joined(method, partial(_rows, more=more), tables.table([]).assign(data="", **dict.fromkeys(more, "")))


def paired(method: str) -> pd.DataFrame:
    """The comparisons stored with the rows of a method, with name and date of each recording."""
    return _joined(method, _paired)


def usage(method: str) -> pd.DataFrame:
    """Usage of all recordings of a method by operator, with number of episodes, model file and date."""
    return _joined(method, _usage)


def _joined(
    method: str, read: Callable[[str, Recording], pd.DataFrame], none: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One table of all recordings of a method. none: the result if there is no recording; by default an empty table."""
    import pandas as pd

    parts = read_all(method, read)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(none)


def read_usage(name: str, recording: Recording) -> pd.DataFrame:
    """A recording's usage.csv. Raises DamagedFile."""
    path = recordings_folder() / name / "usage.csv"
    return read_table(path, ("operator", *COUNTED), COUNTED, recording.sha256.get(path.name, ""))


def read_all(method: str, read: Callable[[str, Recording], T]) -> list[T]:
    """Apply `read` to the name and manifest of every finished recording of a method. Damaged or void ones are reported
    and left out.
    """
    results = []
    for name, recording in manifests().items():
        if recording.method == method and recording.whole:
            with _left_out():
                if why := void(name):
                    progress.say_once(f"a recording is left out: {why}")
                else:
                    results.append(read(name, recording))
    return results


@contextmanager
def _left_out() -> Iterator[None]:
    """Report a damaged recording and skip it; the others keep their rows."""
    try:
        yield
    except DamagedFile as error:
        progress.say_once(f"a recording is left out: {error}")


def _rows(name: str, recording: Recording, more: Sequence[str] = ()) -> pd.DataFrame:
    path = recordings_folder() / name / "rows.csv"
    needed = ("method", "backbone", "metric", "value", "evidence")
    table = read_table(path, needed, tables.NUMBERS, recording.sha256.get(path.name, ""))
    source = f"recording {name}, {_model(recording)}, {recording.date}"
    columns = dict.fromkeys((*tables.COLUMNS, *more))  # old recordings lack the columns of outcomes
    table = table.assign(source=source).reindex(columns=list(columns))
    return table.assign(data=recording.parameters.get("data", ""))


def _paired(name: str, recording: Recording) -> pd.DataFrame:
    import pandas as pd

    if PAIRED not in recording.sha256:
        return pd.DataFrame()
    table = read_table(recordings_folder() / name / PAIRED, ("n",), sha256=recording.sha256[PAIRED])
    return table.dropna(axis="columns", how="all").assign(recording=name, date=recording.date)


def _model(recording: Recording) -> str:
    """Short text for the engines that answered: addresses, or the first digits of model files' hashes."""
    default, others = engines.split(recording.address)

    def short(address: str) -> str:
        return address[:19] + (f", {engines.OPENVINO}" if f"/{engines.OPENVINO}-" in address else "")

    return engines.joined(short(default), {operator: short(part) for operator, part in others.items()})


def _usage(name: str, recording: Recording) -> pd.DataFrame:
    columns = {"episodes": recording.played, "model file": _model(recording)}
    return read_usage(name, recording).assign(recording=name, **columns, date=recording.date)
