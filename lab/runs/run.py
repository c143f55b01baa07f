"""A run: a folder with a manifest and an append-only file of episodes, which can be killed and resumed at any moment.

manifest.json    what was run: method, engine, parameters, tasks, seeds; and with what: code, packages, commit
episodes.jsonl   one JSON line per episode, fsynced: what happened, and nothing that depends on the machine
faults.jsonl     episodes that were not measured because the machine failed, and why; they remain pending
usage.jsonl      usage of each episode: seconds, tokens, money, cache hits, paths of parsing
answers.jsonl    when recording: every answer, which `replay:` serves
under_way.json   while the run is played, or after a process died: the episodes in progress (`Deaths`)

Each line has a checksum that also covers the manifest. When a run is opened, lines that are torn, edited or from
another run are moved to NAME.damaged, and their episodes are played again.
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
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from lab.machine import progress
from lab.machine.faults import DamagedFile
from lab.machine.files import append_durably, write_atomically
from lab.machine.reading import MANIFEST, Line, lines_in, sealed
from lab.machine.reading import read_lines as read_lines  # exported: reads the files of a run
from lab.models.replay import ANSWERS
from lab.runs.first_answers import paths_of
from lab.runs.manifest import Manifest, differences

EPISODES, USAGE, FAULTS, LOCK = "episodes.jsonl", "usage.jsonl", "faults.jsonl", "run.lock"
UNDER_WAY = "under_way.json"
DAMAGED = ".damaged"  # suffix of the file with the damaged lines of another one
LOST = {  # file -> what the loss of its damaged lines means
    EPISODES: "their episodes are played again",
    FAULTS: "their episodes are still pending",
    USAGE: "their usage is missing from the costs",
    ANSWERS: "no recording can be made of this run; delete its folder to play it again from the cache",
}
ENOUGH = 2  # deaths after which an episode is played alone in its own process; if that dies, it is not measured
BUSY_PAUSE = 1.0  # seconds between two attempts to open a run that another process writes
RETRY_FAILED = "LAB_RETRY_FAILED"  # if set, each process plays a run's failed episodes again, once
T = TypeVar("T")
_retried: set[Path] = set()  # folders of runs whose failed episodes this process has made pending again


class ManifestMismatch(RuntimeError):
    """A run folder was opened for another experiment than the one it holds."""


class RunBusy(RuntimeError):
    """Another process is writing to the run folder."""


@dataclass(frozen=True)
class Episode:
    """One method on one task. result: what happened, as JSON; error: why the agent failed, else None. Both count."""

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
        self._seal = manifest.digest  # stored, since it is slow for 10,000 tasks
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
        """Ids of the tasks without an episode, in the manifest's order; tasks that were not measured come last."""
        pending = [task for task in self.manifest.tasks if task not in self.episodes]
        return sorted(pending, key=lambda task: task in self.not_measured)  # those may fail again and delay the others

    def append(self, episode: Episode, usage: Any = None, answers: Iterable[Mapping[str, Any]] = ()) -> None:
        """Write one episode durably: after the return it survives a power cut.

        usage and answers are written to their own files first, so every stored episode has them.
        Raises OSError naming the cause, such as a full disk; the episode then remains pending.
        """
        if self._lock.closed:
            raise ValueError(f"The run in {self.folder} is closed; open it again to append")
        usage_lines = [] if usage is None else [{"task": episode.task, "usage": usage}]
        # Serialise everything first, so that a value that is no JSON leaves no partial write.
        parts = {
            ANSWERS: self._lines(answers),
            USAGE: self._lines(usage_lines),
            EPISODES: self._lines([vars(episode)]),
        }
        try:
            with self._explained():
                for name, data in parts.items():
                    if data:
                        append_durably(self.folder / name, data)
            self.episodes[episode.task] = episode
            self.not_measured.pop(episode.task, None)
        except BaseException:
            self._mend()  # after any interruption, such as Ctrl-C, reload: this object must agree with the file
            raise

    def append_fault(self, task: str, why: str, usage: Any = None) -> None:
        """Store that the machine failed while an episode was played; the episode stays pending. Raises OSError."""
        usage_lines = [] if usage is None else [{"task": task, "usage": usage}]
        with self._explained():
            append_durably(self.folder / FAULTS, self._lines([{"task": task, "why": why}]))
            if usage_lines:
                append_durably(self.folder / USAGE, self._lines(usage_lines))
        self.not_measured[task] = why

    def note(self, **facts: Any) -> None:
        """Add facts that are known only after playing to the manifest's surroundings. Raises OSError."""
        with self._explained():
            self._write({**Manifest.read(self.folder).surroundings, **facts})

    def results(self) -> list[Episode]:
        """All episodes in the manifest's order, failed ones included."""
        return [self.episodes[task] for task in self.manifest.tasks if task in self.episodes]

    def usage(self) -> dict[str, Any]:
        """Task id -> usage of its episode. If an episode was repeated after a kill, the last one counts."""
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
        identity, why = self.manifest.identity(), f"{path} is missing"
        if path.exists():
            path.open("rb").close()  # fails for a folder or a missing permission, which cannot be repaired here
            try:
                different = differences(Manifest.read(self.folder).identity(), identity)
            except DamagedFile as error:
                why = str(error).partition(". ")[0]
            else:
                if different:
                    raise ManifestMismatch(
                        f"{self.folder} holds another experiment: {'; '.join(different)}. Choose another folder, or "
                        "delete it"
                    )
                return
        # The manifest is missing or damaged; the checksums of the lines show whether they belong to this experiment.
        lines = self._read(EPISODES) + self._read(FAULTS)
        if lines and all(line.why for line in lines):
            raise ManifestMismatch(
                f"{why}, and the {len(lines)} lines of its folder are not of this experiment. Restore the manifest, "
                "choose another folder, or delete this one"
            )
        if lines or path.exists():
            progress.say(f"{why}; it was written again, since the other files of its folder are of this experiment")
        for temporary in self.folder.glob(f".{path.name}.*"):  # from a process killed while it wrote the manifest
            temporary.unlink()
        self._write(self.manifest.surroundings)

    def _write(self, surroundings: Mapping[str, Any]) -> None:
        fields = {"tasks": self.manifest.tasks, "digest": self._seal, "surroundings": surroundings}
        text = json.dumps(self.manifest.identity() | fields, indent=1, ensure_ascii=False)
        write_atomically(self.folder / MANIFEST, text.encode())

    def _mend(self) -> None:
        episodes, faults, *_ = [self._whole(name) for name in (EPISODES, FAULTS, USAGE, ANSWERS)]
        self.episodes = {line["task"]: Episode(**line) for line in episodes}
        self.not_measured = {line["task"]: line["why"] for line in faults if line["task"] not in self.episodes}

    def _forget_failed(self) -> None:
        """If LAB_RETRY_FAILED is set, make failed episodes pending again, on disk, so that it survives a kill."""
        folder = self.folder.resolve()
        if not os.environ.get(RETRY_FAILED) or folder in _retried:
            return
        _retried.add(folder)  # only once: a notebook opens its runs several times
        if failed := failures(self.folder):
            progress.say(f"{len(failed)} failed episodes of {self.folder.name} are played again")
            remaining = (vars(episode) for task, episode in self.episodes.items() if task not in failed)
            write_atomically(self.folder / EPISODES, self._lines(remaining))
            self._mend()

    def _whole(self, name: str) -> list[Any]:
        """The intact lines of a file; moves all others to NAME.damaged."""
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
        """Re-raise a file system's error with a message that says what is safe and what to do."""
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why, fix = ("No space left", "free some space") if full else (error.strerror, "mend that")
            safe = "what was finished is"
            with suppress(OSError):
                finished = len({line.value["task"] for line in self._read(EPISODES) if not line.why})
                safe = f"{finished} of {len(self.manifest.tasks)} episodes are"
            path = "" if full or not error.filename else f" ({error.filename})"
            raise OSError(f"{why}{path}: {safe} safe in {self.folder}; {fix} and run again to resume") from error


def when_free(open_it: Callable[[], T]) -> T:
    """Call `open_it` until no other process writes to its run (RunBusy), and return its result."""
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
    """The process that is writing to a run, such as "process 12 on host"; "" if none is visible from here."""
    try:
        with (folder / LOCK).open("rb") as file:
            try:
                # A shared lock, held for a moment. A process that opens the run meanwhile gets RunBusy and retries.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().decode(errors="replace").strip() or "another process"
    except OSError:  # no such file, or a network folder without locks
        pass
    return ""


def failures(folder: Path) -> set[str]:
    """Tasks whose episodes the agent failed: with an error, or because no answer of its model could be read."""
    errors = {line["task"]: line["error"] for line in read_lines(folder / EPISODES)}
    usage = {line["task"]: line["usage"] for line in read_lines(folder / USAGE)}
    return {task for task, error in errors.items() if error or {*paths_of(usage.get(task))} == {"malformed"}}


def _drop_torn_line(path: Path) -> None:
    """Truncate a file after its last complete line: the rest was being written when the process died."""
    if not os.path.lexists(path):
        return
    data = path.read_bytes()
    length = data.rfind(b"\n") + 1
    if length < len(data):
        with path.open("r+b") as file:
            file.truncate(length)
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
    with suppress(OSError):  # on a full disk the lock still holds, without the owner's name
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}".encode())
    return file


class Deaths:
    """How many processes died while they played each task. counts: task -> deaths, of tasks without an episode.

    A killed process cannot report what it played. So the tasks in progress are written to a file while it plays, and
    counted when the run is opened again. A task with enough deaths is played in its own process, where another death
    ends nothing else.
    """

    def __init__(self, path: Path) -> None:
        """path: the file in the run's folder; an unreadable one counts as missing."""
        self.path = path
        self.counts: Counter[str] = Counter()
        self._playing: list[str] = []
        self._file: int | None = None
        with suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
            stored = json.loads(path.read_bytes().partition(b"\n")[0])
            self.counts = Counter({str(task): int(count) for task, count in stored["deaths"].items()})
            # If several tasks were in progress, the culprit is unknown; a single task is suspected at once.
            times = ENOUGH if len(stored["under_way"]) == 1 else 1
            self.counts.update({str(task): times for task in stored["under_way"]})

    def suspects(self, tasks: Iterable[str]) -> list[str]:
        """The tasks that have to be played alone."""
        return [task for task in tasks if self.counts[task] >= ENOUGH]

    def add(self, task: str, times: int = 1) -> None:
        """Count deaths of workers that played this task."""
        self.counts[task] += times
        self.under_way(())

    def forget(self, task: str) -> None:
        """Reset the count of a task that ended, even if a worker died meanwhile."""
        if self.counts.pop(task, 0):
            self.under_way(self._playing)

    def under_way(self, tasks: Iterable[str]) -> None:
        """Store the tasks that this process plays from now on. On a full disk this is skipped without an error."""
        self._playing = [*tasks]
        text = json.dumps({"deaths": self.counts, "under_way": self._playing}) + "\n"
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            # A single write, and only the first line is read back: a kill leaves the old or the new content.
            os.pwrite(self._file, text.encode(), 0)

    def close(self, settled: Container[str]) -> None:
        """Store the remaining deaths, or delete the file if there are none. settled: tasks that have episodes."""
        self.counts = Counter({task: count for task, count in self.counts.items() if task not in settled})
        if self.counts:
            self.under_way(())
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if not self.counts:
            with suppress(OSError):
                self.path.unlink()
