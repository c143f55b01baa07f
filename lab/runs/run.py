"""A run: a folder with a manifest and an append-only file of episodes, which can be killed and resumed at any moment.

manifest.json    what was run: method, engine, parameters, tasks, seeds; and with what: code, packages, commit
episodes.jsonl   one JSON line an episode, fsynced: what happened, and nothing that depends on the machine
faults.jsonl     episodes that the machine kept from being measured, and why; they are pending still
usage.jsonl      beside it, what each episode took: seconds, tokens, money, cache hits, paths of parsing
answers.jsonl    with recording on: every answer, which `replay:` serves
under_way.json   while it is played, or after a process died: the episodes that were under way (`Deaths`)

Each line has a checksum, which covers the manifest, too. A line that is torn, edited or another run's is set aside in
NAME.damaged when the run is opened, and its episode is played anew.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from lab.machine import progress
from lab.machine.faults import DamagedFile
from lab.machine.files import append_durably, write_atomically
from lab.machine.reading import MANIFEST, Line, lines_in, sealed
from lab.machine.reading import read_lines as read_lines  # of a run's files, for whoever reads them
from lab.models.replay import ANSWERS
from lab.runs.first_answers import paths_of
from lab.runs.manifest import Manifest, differences

EPISODES, USAGE, FAULTS, LOCK = "episodes.jsonl", "usage.jsonl", "faults.jsonl", "run.lock"
UNDER_WAY = "under_way.json"
DAMAGED = ".damaged"  # behind the name of a file: its lines that were set aside
LOST = {  # what becomes of what such a line told
    EPISODES: "their episodes are played anew",
    FAULTS: "what they told of is pending as before",
    USAGE: "what they counted is missing from the costs",
    ANSWERS: "no recording can be made of this run; delete its folder to play it again from the cache",
}
ENOUGH = 2  # deaths after which an episode is played alone in a process of its own, and if that dies, not measured
BUSY_PAUSE = 1.0  # seconds between two looks at a run that another process writes
RETRY_FAILED = "LAB_RETRY_FAILED"  # set: episodes that the agent failed are played again, each run's once a process
T = TypeVar("T")
_retried: set[Path] = set()  # folders of the runs whose failed episodes this process plays, or has played, again


class ManifestMismatch(RuntimeError):
    """A run folder was opened for another experiment than the one it holds."""


class RunBusy(RuntimeError):
    """Another process is writing to the run folder."""


@dataclass(frozen=True)
class Episode:
    """One method on one task. result: what happened, JSON; error: why the agent failed it, else None. Both count."""

    task: str
    result: Any
    error: str | None = None

    @property
    def failed(self) -> bool:
        return self.error is not None


class Run:
    """An open run folder. Use as a context manager; only one process may have it open."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Open or resume. Raises ManifestMismatch naming the differences, RunBusy naming the other process."""
        self.folder, self.manifest = Path(folder), manifest
        self._seal = manifest.digest  # of each line; of 10,000 tasks it takes a while
        self.episodes: dict[str, Episode] = {}
        self.not_measured: dict[str, str] = {}
        self.deaths = Deaths(self.folder / UNDER_WAY)
        with self._explained():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(self.folder / LOCK)
        try:
            with self._explained():
                self._agree()
                self._mend()
                self._forget_failed()
        except BaseException:
            self._lock.close()
            raise

    def pending(self) -> list[str]:
        """Ids of the tasks that have no episode yet, in the manifest's order; last those that were not measured."""
        left = [task for task in self.manifest.tasks if task not in self.episodes]
        return sorted(left, key=lambda task: task in self.not_measured)  # what may fail again must not hold up the rest

    def append(self, episode: Episode, usage: Any = None, answers: Iterable[Mapping[str, Any]] = ()) -> None:
        """Write one episode; when this returns it survives a power cut.

        usage and answers go to their own files first: an episode that is there has them too. Raises OSError
        naming the cause, such as a full disk; the episode is then pending still.
        """
        if self._lock.closed:
            raise ValueError(f"The run in {self.folder} is closed; open it again to append")
        took = [] if usage is None else [{"task": episode.task, "usage": usage}]
        # All lines first, so that a value that is no JSON leaves nothing behind.
        parts = {ANSWERS: self._lines(answers), USAGE: self._lines(took), EPISODES: self._lines([asdict(episode)])}
        try:
            with self._explained():
                for name, data in parts.items():
                    if data:
                        append_durably(self.folder / name, data)
            self.episodes[episode.task] = episode
            self.not_measured.pop(episode.task, None)
        except BaseException:
            self._mend()  # whatever came in between, Ctrl-C too: this object says what the file says
            raise

    def append_fault(self, task: str, why: str, usage: Any = None) -> None:
        """Note that the machine kept an episode from being measured; it stays pending. Raises OSError."""
        took = [] if usage is None else [{"task": task, "usage": usage}]
        with self._explained():
            append_durably(self.folder / FAULTS, self._lines([{"task": task, "why": why}]))
            if took:
                append_durably(self.folder / USAGE, self._lines(took))
        self.not_measured[task] = why

    def note(self, **facts: Any) -> None:
        """Add what came out while it was played to the manifest's surroundings. Raises OSError."""
        with self._explained():
            self._write({**Manifest.read(self.folder).surroundings, **facts})

    def results(self) -> list[Episode]:
        """All episodes in the manifest's order, failed ones included."""
        return [self.episodes[task] for task in self.manifest.tasks if task in self.episodes]

    def usage(self) -> dict[str, Any]:
        """Task id -> what its episode took. Where an episode was repeated after a kill, the last one counts."""
        return {line["task"]: line["usage"] for line in read_lines(self.folder / USAGE)}

    def close(self) -> None:
        """Release the folder."""
        if not self._lock.closed:
            self.deaths.close(self.episodes)
            self._lock.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _agree(self) -> None:
        path = self.folder / MANIFEST
        wanted, why = self.manifest.identity(), f"{path} is missing"
        if path.exists():
            path.open("rb").close()  # a folder, or no permission: no damage that could be mended here
            try:
                different = differences(Manifest.read(self.folder).identity(), wanted)
            except DamagedFile as error:
                why = str(error).partition(". ")[0]
            else:
                if different:
                    raise ManifestMismatch(
                        f"{self.folder} holds another experiment: {'; '.join(different)}. Choose another folder, or "
                        "delete it"
                    )
                return
        # The lines tell whose they are.
        lines = self._read(EPISODES) + self._read(FAULTS)
        if lines and all(line.why for line in lines):
            raise ManifestMismatch(
                f"{why}, and the {len(lines)} lines of its folder are not of this experiment. Restore the manifest, "
                "choose another folder, or delete this one"
            )
        if lines or path.exists():
            progress.say(f"{why}; it was written anew, since what lies beside it is of this experiment")
        for rest in self.folder.glob(f".{path.name}.*"):  # of a process killed while it wrote the manifest
            rest.unlink()
        self._write(self.manifest.surroundings)

    def _write(self, surroundings: Mapping[str, Any]) -> None:
        rest = {"tasks": self.manifest.tasks, "digest": self._seal, "surroundings": surroundings}
        whole = json.dumps(self.manifest.identity() | rest, indent=1, ensure_ascii=False)
        write_atomically(self.folder / MANIFEST, whole.encode())

    def _mend(self) -> None:
        episodes, faults, *_ = [self._whole(name) for name in (EPISODES, FAULTS, USAGE, ANSWERS)]
        self.episodes = {line["task"]: Episode(**line) for line in episodes}
        self.not_measured = {line["task"]: line["why"] for line in faults if line["task"] not in self.episodes}

    def _forget_failed(self) -> None:
        """Make pending again what the agent failed, if the user asks for that; on disk, so that it outlives a kill."""
        folder = self.folder.resolve()
        if not os.environ.get(RETRY_FAILED) or folder in _retried:
            return
        _retried.add(folder)  # a notebook opens its runs several times, and what fails again has failed
        if failed := failures(self.folder):
            progress.say(f"{len(failed)} failed episodes of {self.folder.name} are played again")
            kept = (asdict(episode) for task, episode in self.episodes.items() if task not in failed)
            write_atomically(self.folder / EPISODES, self._lines(kept))
            self._mend()

    def _whole(self, name: str) -> list[Any]:
        """The whole lines of a file, from which all others are taken."""
        path = self.folder / name
        _drop_torn_line(path)
        lines = self._read(name)
        if bad := [line for line in lines if line.why]:
            append_durably(path.with_name(name + DAMAGED), b"".join(line.raw + b"\n" for line in bad))
            write_atomically(path, b"".join(line.raw + b"\n" for line in lines if not line.why))
            numbers = ", ".join(str(line.number) for line in bad[:5]) + (", …" if len(bad) > 5 else "")
            progress.say(
                f"{path}: {len(bad)} of {len(lines)} lines ({numbers}) are torn, changed or another run's; they were "
                f"set aside in {name}{DAMAGED}, and {LOST[name]}"
            )
        return [line.value for line in lines if not line.why]

    def _read(self, name: str) -> list[Line]:
        path = self.folder / name
        return lines_in(path.read_bytes() if os.path.lexists(path) else b"", self._seal)

    def _lines(self, values: Iterable[Any]) -> bytes:
        return sealed(values, self._seal)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say of a file system's error what is safe and what to do."""
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why, mend = ("No space left", "free some space") if full else (error.strerror, "mend that")
            safe = "what was finished is"
            with suppress(OSError):
                kept = len({line.value["task"] for line in self._read(EPISODES) if not line.why})
                safe = f"{kept} of {len(self.manifest.tasks)} episodes are"
            at = "" if full or not error.filename else f" ({error.filename})"
            raise OSError(f"{why}{at}: {safe} safe in {self.folder}; {mend} and run again to resume") from error


def when_free(open_it: Callable[[], T]) -> T:
    """What `open_it` returns, as soon as no other process writes to the run that it needs."""
    waiting = False
    while True:
        try:
            return open_it()
        except RunBusy as busy:
            if not waiting:
                progress.note(f"waiting: {busy}")
            waiting = True
            time.sleep(BUSY_PAUSE)


def writer(folder: Path) -> str:
    """Who writes to a run just now, such as "process 12 on host"; "" for nobody, as far as can be seen from here."""
    try:
        with (folder / LOCK).open("rb") as file:
            try:
                # Shared, and for a moment: who opens the run meanwhile waits for it, and tries again.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().decode(errors="replace").strip() or "another process"
    except OSError:  # no such file, or a network folder without locks
        pass
    return ""


def failures(folder: Path) -> set[str]:
    """Tasks of a run's episodes that the agent failed, by an error or since no answer of its model could be read."""
    errors = {line["task"]: line["error"] for line in read_lines(folder / EPISODES)}
    usage = {line["task"]: line["usage"] for line in read_lines(folder / USAGE)}
    return {task for task, error in errors.items() if error or {*paths_of(usage.get(task))} == {"malformed"}}


def _drop_torn_line(path: Path) -> None:
    """Cut a file back to its last whole line: what follows was being written when the process died."""
    if not os.path.lexists(path):
        return
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)
            os.fsync(file.fileno())


def _lock(path: Path) -> IO[bytes]:
    file = path.open("a+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        owner = file.read().decode().strip() or "another process"
        file.close()
        if not isinstance(error, BlockingIOError):
            raise
        raise RunBusy(f"{path.parent} is being written by {owner}; wait for it, or choose another folder") from None
    with suppress(OSError):  # on a full disk the lock holds without a name
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
    return file


class Deaths:
    """How many processes died while they played each task: the suspects of a run. counts: of tasks not settled.

    A process that is killed cannot say what it played. So it is noted while it plays, and counted when the run is
    opened again. An episode that is suspected often enough is played apart, where a death ends nothing else.
    """

    def __init__(self, path: Path) -> None:
        """path: the note in the run's folder; one that cannot be read is as none."""
        self.path = path
        self.counts: Counter[str] = Counter()
        self._file: int | None = None
        with suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
            held = json.loads(path.read_bytes().partition(b"\n")[0])
            self.counts = Counter({str(task): int(count) for task, count in held["deaths"].items()})
            # Of several at a time nobody knows which it was; a single one is suspected at once.
            times = ENOUGH if len(held["under_way"]) == 1 else 1
            self.counts.update({str(task): times for task in held["under_way"]})

    def suspects(self, tasks: Iterable[str]) -> list[str]:
        """Those of the tasks that are to be played apart."""
        return [task for task in tasks if self.counts[task] >= ENOUGH]

    def add(self, task: str, times: int = 1) -> None:
        """Count deaths of workers."""
        self.counts[task] += times
        self.under_way(())

    def forget(self, task: str) -> None:
        """It came to its end, whatever died beside it."""
        if self.counts.pop(task, 0):
            self.under_way(())

    def under_way(self, tasks: Iterable[str]) -> None:
        """Note what this process plays from now on. A disk that is full loses the note and no more."""
        text = json.dumps({"deaths": self.counts, "under_way": list(tasks)}) + "\n"
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            # One write of all, whose first line counts: a kill leaves the old note or the new one.
            os.pwrite(self._file, text.encode(), 0)

    def close(self, settled: Container[str]) -> None:
        """Nothing is under way any more; without deaths there is nothing to keep. settled: tasks that have episodes."""
        self.counts = Counter({task: count for task, count in self.counts.items() if task not in settled})
        if self.counts:
            self.under_way(())
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if not self.counts:
            with suppress(OSError):
                self.path.unlink()
