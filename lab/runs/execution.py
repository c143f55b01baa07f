"""Playing the episodes of a run: here, on threads, on processes, or on a cluster; the supervisor of all of them.

Where a worker dies, all episodes that were under way are suspects: each is played again, last and alone. One that ends
its worker there, too, is not measured, and the run goes on. One that takes longer than LAB_EPISODE_SECONDS is not
measured either.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import sysconfig
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

from lab.machine import progress
from lab.machine.faults import BackendDied, MissingData, Unavailable
from lab.machine.paths import ROOT
from lab.machine.secrets import redact
from lab.models import rules
from lab.models.backbone import MalformedAnswer
from lab.models.client import EndpointError
from lab.models.prompts import PromptTooLong
from lab.runs.first_answers import FirstAnswers, paths_of, unread, unreadable
from lab.runs.run import ENOUGH, Deaths, Episode, Run
from lab.runs.workers import Cluster, Crew, Processes, Threads, WorkerDied

# Errors of the operating system (a full disk, a deleted file) are failures of the machine, whichever code raised them:
# no agent touches the machine itself, and errors of its program in the sandbox are results of that program.
OF_THE_MACHINE = (BackendDied, EndpointError, OSError, MemoryError, sqlite3.Error)
OF_THE_AGENT = (MalformedAnswer, PromptTooLong)  # raised by lab, about what the agent asked or its model answered
NO_THREAD = "can't start new thread"  # Python's RuntimeError at a limit of threads or memory
LIBRARIES = re.compile(rf"<frozen|{re.escape(sysconfig.get_path('stdlib'))}/|.*/(site|dist)-packages/")
# Packages that may be installed among libraries.
OWN = ("lab", "sdp", "statefactory", "procllm", "standins", "agents", "worlds")
ACCOUNTS = "played"  # attribute of an episode's error: what the episode took until then, a `Played`
TRACEBACK_LINES = 12  # enough to locate the line, short enough to read in a table
LIMIT = "LAB_EPISODE_SECONDS"  # of one episode; without it there is no limit
IDLE_SECONDS = 5.0  # without an episode that ends, before it is looked whether there are workers at all
# A process takes two or three seconds to start and import what it plays.
HERE_FIRST = 3.0  # seconds of playing in this process, to see how long the rest would take
WORTH_PROCESSES = 15.0  # seconds that it would have to take


@dataclass(frozen=True)
class Played:
    """What playing one task gave: the episode's result, its usage and its recorded answers (see `lab.runs.run`)."""

    result: Any
    usage: Any = None
    answers: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Fault:
    """An episode that the machine kept from being measured (see `lab.results.outcomes`)."""

    task: str
    why: str


Play = Callable[[str], Played]
Ended = tuple[Episode | Fault, Played]


def play_all(
    run: Run, play: Play, workers: int = 0, backend: str = "loky", show_progress: bool = True, cluster: str = "",
    title: str = "", sparing: bool = False, first: FirstAnswers | None = None,
) -> list[Episode]:  # fmt: skip
    """Play every pending task of the run and append each episode as it ends.

    play: task id -> Played; with processes it must be picklable, best a function of a module with functools.partial.
    workers: how many at a time; 1 stays in this process. 0 is 1, and on a cluster every thread that it has.
    backend: "loky" (processes; rules compute) or "threading" (endpoints wait). cluster: in place of it, the address of
    a Dask scheduler, "tcp://host:8786". title: of the progress line; by default the run's method. sparing: begin in
    this process, and take processes only where the rest is long enough to be worth their start. first: the answers that
    the run has, where a model is asked; a run whose first answers cannot be read stops (lab/runs/first_answers.py).
    An episode that the agent fails is recorded with its error. If the machine fails it, it is not measured: it stays
    pending, and is played again the next time. So does an episode whose workers die (see `Supervisor`).
    Raises KeyboardInterrupt on Ctrl-C, after closing what was under way, and Unavailable where what answers, its data
    or the cluster is not there, since every further episode would fail alike.
    """
    if any(own := rules.taken()):
        play = partial(rules.played, own, play)
    pending = run.pending()
    suspects = run.deaths.suspects(pending)
    tasks = [task for task in pending if task not in suspects]
    sparing = sparing and not cluster and backend == "loky" and workers > 1
    here = sparing or (not cluster and workers in (0, 1) and time_limit() is None)
    planned = len(run.manifest.tasks)
    with progress.bar(planned, title or run.manifest.method, planned - len(pending), show_progress) as bar:
        for usage in run.usage().values():
            bar.book(usage)
        kept = _Kept(run, bar, first, bool(cluster))
        began, count = time.monotonic(), len(tasks)
        try:
            while tasks and here:
                run.deaths.under_way(tasks[:1])
                kept.add(*play_one(play, tasks.pop(0)))
                took = time.monotonic() - began
                rest = took / (count - len(tasks)) * len(tasks)
                here = not (sparing and took > HERE_FIRST and rest > WORTH_PROCESSES)
            if tasks or suspects:
                # Closed here where an error ends the loop: its traceback would keep workers and connections alive.
                with contextlib.closing(_elsewhere(run, play, tasks, suspects, workers, backend, cluster)) as ending:
                    for ended in ending:
                        kept.add(*ended)
            kept.rest()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_so_far(run)) from None
        except Unavailable as error:
            error.add_note(_so_far(run))
            raise
    if run.not_measured:
        why = next(iter(run.not_measured.values())).strip().splitlines()[-1]
        progress.say(f"{len(run.not_measured)} of {planned} episodes were not measured ({why}); run again to play them")
    return run.results()


def _so_far(run: Run) -> str:
    return f"{len(run.episodes)} of {len(run.manifest.tasks)} episodes are in {run.folder}; run again to resume"


class _Kept:
    """What ended goes into the run: a model's episodes with malformed answers only once its first answers show that
    others can be read. An episode of which hardly one can is not measured.

    booked: whether the progress bar has to be given each episode's usage; in this process every call reports its own.
    """

    def __init__(self, run: Run, bar: progress.Bar, first: FirstAnswers | None, booked: bool) -> None:
        self._run, self._bar, self._booked, self._answers = run, bar, booked, first
        self._held: list[Ended] = []

    def add(self, ended: Episode | Fault, played: Played) -> None:
        """Raises Unavailable where a model's first answers show that most cannot be read."""
        if (answers := self._answers) is None:
            self._append(ended, played)
            return
        answers.add_usage(played.usage)
        if answers.unreadable:
            raise unreadable([*(answer for _, held in self._held for answer in held.answers), *played.answers])
        if isinstance(ended, Episode) and (why := unread(played.usage)):
            ended = Fault(ended.task, why)
        if not answers.complete and "malformed" in paths_of(played.usage):
            self._held.append((ended, played))
            return
        if answers.complete:
            self.rest()
        self._append(ended, played)

    def rest(self) -> None:
        """Keep what was held back: a run of fewer answers cannot say."""
        for ended in self._held:
            self._append(*ended)
        self._held.clear()

    def _append(self, ended: Episode | Fault, played: Played) -> None:
        if self._booked:
            self._bar.book(played.usage)
        if isinstance(ended, Episode):
            self._run.append(ended, played.usage, played.answers)
            self._bar.update()
        else:
            self._run.append_fault(ended.task, ended.why, played.usage)


def _elsewhere(
    run: Run, play: Play, tasks: list[str], suspects: list[str], workers: int, backend: str, cluster: str
) -> Generator[Ended]:
    """What came of tasks on workers; suspects come last, where the death of a worker does not end this process."""
    episode = partial(play_one, play)
    if backend == "threading" and not cluster:
        with contextlib.closing(Threads(episode, workers or 1)) as threads:
            yield from Supervisor(threads, run.deaths, here=True).play(tasks, [])
        tasks = []
    if cluster:
        crew: Crew = Cluster(episode, cluster, max(workers, 0), run.manifest.address)
    elif tasks or suspects:
        import joblib

        crew = Processes(episode, joblib.effective_n_jobs(workers or 1))  # -1 means all
    else:
        return
    with contextlib.closing(crew):
        yield from Supervisor(crew, run.deaths).play(tasks, suspects)


def time_limit() -> float | None:
    """Seconds that an episode may take, None for any number. Raises ValueError."""
    text = os.environ.get(LIMIT, "").strip()
    try:
        seconds = float(text or "inf")
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(f"{LIMIT}={text}: give a number of seconds above 0, or unset it for no limit")
    return seconds if text else None


@dataclass
class Supervisor:
    """Plays tasks on a crew; iterate over `play` once. here: whether the workers share this process's fate."""

    crew: Crew
    deaths: Deaths
    here: bool = False
    running: dict[Future[Any], tuple[str, float]] = field(default_factory=dict)
    beside: set[str] = field(default_factory=set)  # tasks that are, or were, under way beside another one

    def play(self, tasks: Iterable[str], suspects: Iterable[str]) -> Generator[Ended]:
        """What came of each task, as it ends; suspects come last, alone. Raises what the crew raises."""
        left, alone, limit = deque(tasks), deque(suspects), time_limit()
        while self.running or left or alone:
            while left and len(self.running) < max(1, self.crew.room()):
                self._start(left.popleft(), alone=False)
            if alone and not self.running:
                self._start(alone.popleft(), alone=True)
            for future in self._ended(limit):
                task, _ = self.running.pop(future)
                try:
                    ended = self.crew.result(future)
                except WorkerDied as death:
                    self.deaths.add(task, death.times)
                    if task not in self.beside and self.deaths.counts[task] >= ENOUGH:
                        yield self._quarantined(task, death)
                    else:
                        alone.append(task)
                else:
                    self.deaths.forget(task)
                    yield ended
            for task in self._overdue(limit, left):
                why = f"{task} took longer than {LIMIT}={limit:g}; raise or unset it, or end what the episode waits for"
                yield Fault(task, why), Played(None)

    def _start(self, task: str, alone: bool) -> None:
        under_way = [*(other for other, _ in self.running.values()), task]
        self.beside.discard(task)
        self.beside.update(under_way if len(under_way) > 1 else ())
        if self.here:
            self.deaths.under_way(under_way)
        self.running[self.crew.submit(task, alone)] = task, time.monotonic()

    def _ended(self, limit: float | None) -> set[Future[Any]]:
        oldest = min(began for _, began in self.running.values())
        patience = min(IDLE_SECONDS, max(0.0, oldest + limit - time.monotonic()) if limit else IDLE_SECONDS)
        ended, _ = wait(self.running, patience, FIRST_COMPLETED)
        if not ended and patience == IDLE_SECONDS:
            self.crew.idle()
        return ended

    def _overdue(self, limit: float | None, left: deque[str]) -> list[str]:
        """Tasks whose time is over, no longer waited for; those that end with them go back to what is left."""
        if limit is None:
            return []
        over = [future for future, (_, began) in self.running.items() if time.monotonic() - began >= limit]
        tasks = [self.running.pop(future)[0] for future in over]
        if any([self.crew.give_up(future) for future in over]):
            left.extendleft(task for task, _ in self.running.values())
            self.running.clear()
        return tasks

    def _quarantined(self, task: str, death: WorkerDied) -> Ended:
        count = self.deaths.counts[task]
        why = f"{count} workers died while they played {task}, the last one while it played nothing else ({death}); "
        return Fault(task, why + "was memory short? Logs may tell. It is tried once, alone, when run again"), Played(
            None
        )


def play_one(play: Play, task: str) -> Ended:
    """Play a task, once more where the machine failed. What fails again is not measured; other errors are the agent's.

    Raises Unavailable where every further episode would fail alike.
    """
    for again in (True, False):
        try:
            played = play(task)
            return Episode(task, played.result), played
        except Unavailable:
            raise
        except MissingData as error:  # on this worker, and so for each of its episodes
            raise Unavailable(str(error)) from None
        except (Exception, SystemExit) as error:
            if by_the_agent(error):
                return Episode(task, None, traceback_of(error)), _accounts(error)
            if not again or isinstance(error, EndpointError):  # asked again already, as long as its patience allows
                return Fault(task, traceback_of(error)), _accounts(error)
            progress.note(f"{task}: {redact(str(error))}; starting it again")
    raise AssertionError("unreachable")


def by_the_agent(error: BaseException) -> bool:
    """Whether an agent or its world failed, and not the machine: decided by where the error arose.

    The innermost frame outside of libraries decides: lab's own modules (display, cache, endpoint) are the machine's.
    """
    if isinstance(error, OF_THE_AGENT):
        return True
    if isinstance(error, OF_THE_MACHINE) or NO_THREAD in str(error):
        return False
    trace = traceback.walk_tb(error.__traceback__)
    packages = [package for frame, _ in trace if (package := _package(frame))]
    return packages[-1:] != ["lab"]


def _package(frame: FrameType) -> str:
    """The top-level package that a frame's code belongs to; "" for a library's, and for generated code."""
    package = str(frame.f_globals.get("__name__") or "").partition(".")[0]
    return package if package in OWN or not LIBRARIES.match(frame.f_code.co_filename) else ""


def traceback_of(error: BaseException) -> str:
    """An error with the end of its traceback, fit to be stored."""
    # Messages may quote a server, so all is redacted; paths are made relative so that a run reads the same anywhere.
    trace = "".join(traceback.format_exception(error, limit=-TRACEBACK_LINES, chain=False))
    return redact(trace.replace(f"{ROOT}/", ""))


def _accounts(error: BaseException) -> Played:
    """What an episode took that raised; its accounts came with the error."""
    played = getattr(error, ACCOUNTS, None)
    return played if isinstance(played, Played) else Played(None)
