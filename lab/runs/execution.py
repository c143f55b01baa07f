"""Play the episodes of a run: in this process, on threads, on processes or on a cluster, under one supervisor.

If a worker dies, all episodes in progress are suspects: each is played again, last and alone. If its worker dies
again, the episode is not measured, and the run continues. An episode that takes longer than LAB_EPISODE_SECONDS is not
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
from lab.models.budget import BudgetSpent
from lab.models.client import EndpointError
from lab.models.rendering import PromptTooLong
from lab.runs.first_answers import FirstAnswers, paths_of, unread, unreadable
from lab.runs.run import ENOUGH, Deaths, Episode, Run
from lab.runs.workers import Cluster, Crew, Processes, Threads, WorkerDied

# Errors of the operating system (a full disk, a deleted file) are always failures of the machine. No agent touches the
# machine itself; errors of an agent's program in the sandbox are that program's results.
OF_THE_MACHINE = (BackendDied, EndpointError, OSError, MemoryError, sqlite3.Error)
OF_THE_AGENT = (MalformedAnswer, PromptTooLong)  # raised by lab because of the agent's prompt or its model's answer
NO_THREAD = "can't start new thread"  # Python's RuntimeError at a limit of threads or memory
LIBRARIES = re.compile(rf"<frozen|{re.escape(sysconfig.get_path('stdlib'))}/|.*/(site|dist)-packages/")
# The suite's packages, which may be installed in the libraries' folder.
OWN = ("lab", "sdp", "statefactory", "procllm", "standins", "agents", "worlds")
ACCOUNTS = "played"  # attribute of an episode's error: its usage until then, a `Played`
TRACEBACK_LINES = 12  # enough to locate the line, short enough to read in a table
LIMIT = "LAB_EPISODE_SECONDS"  # timeout of an episode; without it there is no limit
IDLE_SECONDS = 5.0  # time without a finished episode before the crew checks that it has workers
# A process takes two or three seconds to start and import its experiment.
HERE_FIRST = 3.0  # seconds of playing in this process to estimate the time of the rest
WORTH_PROCESSES = 15.0  # estimated seconds of the rest above which processes are started


@dataclass(frozen=True)
class Played:
    """The result, the usage and the recorded answers of a played task (see `lab.runs.run`)."""

    result: Any
    usage: Any = None
    answers: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Fault:
    """An episode that was not measured because the machine failed (see `lab.results.outcomes`)."""

    task: str
    why: str


Play = Callable[[str], Played]
Ended = tuple[Episode | Fault, Played]


def play_all(
    run: Run, play: Play, workers: int = 0, backend: str = "loky", show_progress: bool = True, cluster: str = "",
    title: str = "", sparing: bool = False, first: FirstAnswers | None = None,
) -> list[Episode]:  # fmt: skip
    """Play every pending task of the run and append each episode as it ends. Returns all episodes of the run.

    play: task id -> Played; with processes it must be picklable, best a function of a module with functools.partial.
    workers: episodes at a time; 1 stays in this process. 0 means 1, or all threads of a cluster.
    backend: "loky" (processes, for rules, which compute) or "threading" (for endpoints, which wait). cluster: the
    address of a Dask scheduler, "tcp://host:8786"; replaces the backend. title: of the progress line; by default the
    run's method. sparing: start in this process, and use processes only if the rest is long enough. first: the answers
    that the run already has, if a model is asked; a run whose first answers cannot be read stops
    (lab/runs/first_answers.py).
    If the agent fails, the episode is stored with its error. If the machine fails, or workers die (see `Supervisor`),
    the episode is not measured: it stays pending and is played again the next time.
    Raises KeyboardInterrupt on Ctrl-C, after closing the workers.
    Raises Unavailable if the engine, the data or the cluster is missing, since all further episodes would fail, too.
    """
    if any(rule_set := rules.taken()):
        play = partial(rules.played, rule_set, play)
    pending = run.pending()
    suspects = run.deaths.suspects(pending)
    tasks = [task for task in pending if task not in suspects]
    sparing = sparing and not cluster and backend == "loky" and workers > 1
    # Only another process can be stopped when its time is up.
    here = time_limit() is None and (sparing or (not cluster and workers in (0, 1)))
    planned = len(run.manifest.tasks)
    with progress.bar(planned, title or run.manifest.method, planned - len(pending), show_progress) as bar:
        for usage in run.usage().values():
            bar.book(usage)
        sink = _Kept(run, bar, first, bool(cluster))
        began, count = time.monotonic(), len(tasks)
        try:
            while tasks and here:
                run.deaths.under_way(tasks[:1])
                sink.add(*play_one(play, tasks.pop(0)))
                elapsed = time.monotonic() - began
                remaining = elapsed / (count - len(tasks)) * len(tasks)
                here = not (sparing and elapsed > HERE_FIRST and remaining > WORTH_PROCESSES)
            if tasks or suspects:
                # Close explicitly: the traceback of an error would keep workers and connections alive.
                with contextlib.closing(_elsewhere(run, play, tasks, suspects, workers, backend, cluster)) as ending:
                    for ended in ending:
                        sink.add(*ended)
            sink.rest()
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
    """Appends finished episodes to the run. Episodes with malformed answers wait until the model's first answers show
    that most can be read. An episode almost all of whose answers by a server cannot be read is not measured.

    booked: whether to add each episode's usage to the progress bar; in this process each call adds its own.
    """

    def __init__(self, run: Run, bar: progress.Bar, first: FirstAnswers | None, booked: bool) -> None:
        self._run, self._bar, self._booked, self._answers = run, bar, booked, first
        self._held: list[Ended] = []

    def add(self, ended: Episode | Fault, played: Played) -> None:
        """Append an episode, or hold it back. Raises Unavailable if most first answers of the model cannot be read."""
        if (answers := self._answers) is None:
            self._append(ended, played)
            return
        answers.add_usage(played.usage)
        if answers.unreadable:
            raise unreadable([*(answer for _, waiting in self._held for answer in waiting.answers), *played.answers])
        if answers.served and isinstance(ended, Episode) and (why := unread(played.usage)):
            ended = Fault(ended.task, why)
        if not answers.complete and "malformed" in paths_of(played.usage):
            self._held.append((ended, played))
            return
        if answers.complete:
            self.rest()
        self._append(ended, played)

    def rest(self) -> None:
        """Append the episodes that were held back, also if a run has too few answers to judge."""
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
    """Play tasks on workers and yield each as it ends. Suspects come last, never on threads of this process."""
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
    """The timeout of an episode in seconds, or None. Raises ValueError for a value that is no positive number."""
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
    """Plays tasks on a crew; iterate over `play` once. here: whether a dying worker takes this process with it."""

    crew: Crew
    deaths: Deaths
    here: bool = False
    running: dict[Future[Any], tuple[str, float]] = field(default_factory=dict)
    beside: set[str] = field(default_factory=set)  # tasks whose last attempt ran at the same time as another task

    def play(self, tasks: Iterable[str], suspects: Iterable[str]) -> Generator[Ended]:
        """Yield each task as it ends; suspects come last, one at a time. Raises what the crew raises."""
        queue, alone, limit = deque(tasks), deque(suspects), time_limit()
        spent: BudgetSpent | None = None
        while self.running or queue or alone:
            while queue and len(self.running) < max(1, self.crew.room()):
                self._start(queue.popleft(), alone=False)
            if alone and not self.running:
                self._start(alone.popleft(), alone=True)
            for future in self._ended(limit):
                task, _ = self.running.pop(future)
                try:
                    ended = self.crew.result(future)
                except BudgetSpent as error:  # the others under way end with their calls, whose answers are paid for
                    spent = error
                    queue.clear()
                    alone.clear()
                    progress.note(f"{error}; the answers under way are waited for")
                except WorkerDied as death:
                    self.deaths.add(task, death.times)
                    if task not in self.beside and self.deaths.counts[task] >= ENOUGH:
                        yield self._quarantined(task, death)
                    else:
                        alone.append(task)
                else:
                    self.deaths.forget(task)
                    yield ended
            for task in self._overdue(limit, queue):
                why = f"{task} took longer than {LIMIT}={limit:g}; raise or unset it, or end what the episode waits for"
                yield Fault(task, why), Played(None)
        if spent:
            raise spent

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
        """Give up tasks over the timeout and return them. Tasks that are lost with them go back to `left`."""
        if limit is None:
            return []
        overdue = [future for future, (_, began) in self.running.items() if time.monotonic() - began >= limit]
        tasks = [self.running.pop(future)[0] for future in overdue]
        if any([self.crew.give_up(future) for future in overdue]):
            left.extendleft(task for task, _ in self.running.values())
            self.running.clear()
        return tasks

    def _quarantined(self, task: str, death: WorkerDied) -> Ended:
        count = self.deaths.counts[task]
        why = f"{count} workers died while they played {task}, the last one while it played only this ({death}). "
        return Fault(task, why + "Check the logs for a lack of memory. The next run retries it once, alone"), Played(
            None
        )


def play_one(play: Play, task: str) -> Ended:
    """Play a task; retry once if the machine failed. A second failure gives a Fault; other errors are the agent's.

    Raises Unavailable if all further episodes would fail, too.
    """
    for may_retry in (True, False):
        try:
            played = play(task)
            return Episode(task, played.result), played
        except Unavailable:
            raise
        except MissingData as error:  # missing on this worker, so for all its episodes
            raise Unavailable(str(error)) from None
        except (Exception, SystemExit) as error:
            if by_the_agent(error):
                return Episode(task, None, traceback_of(error)), _accounts(error)
            if not may_retry or isinstance(error, EndpointError):  # the endpoint's client has retried already
                return Fault(task, traceback_of(error)), _accounts(error)
            progress.note(f"{task}: {redact(str(error))}; starting it again")
    raise AssertionError("unreachable")


def by_the_agent(error: BaseException) -> bool:
    """Whether the agent or its world failed, and not the machine.

    The innermost frame outside of libraries decides: `lab` itself (display, cache, endpoint) counts as the machine.
    """
    if isinstance(error, OF_THE_AGENT):
        return True
    if isinstance(error, OF_THE_MACHINE) or NO_THREAD in str(error):
        return False
    trace = traceback.walk_tb(error.__traceback__)
    packages = [package for frame, _ in trace if (package := _package(frame))]
    return packages[-1:] != ["lab"]


def _package(frame: FrameType) -> str:
    """The top-level package of a frame's code; "" for libraries and generated code."""
    package = str(frame.f_globals.get("__name__") or "").partition(".")[0]
    return package if package in OWN or not LIBRARIES.match(frame.f_code.co_filename) else ""


def traceback_of(error: BaseException) -> str:
    """An error with the end of its traceback as text, safe to store."""
    # Messages may quote a server's reply with secrets. Relative paths read the same on all machines.
    trace = "".join(traceback.format_exception(error, limit=-TRACEBACK_LINES, chain=False))
    return redact(trace.replace(f"{ROOT}/", ""))


def _accounts(error: BaseException) -> Played:
    """The usage of an episode that raised, which is attached to the error."""
    played = getattr(error, ACCOUNTS, None)
    return played if isinstance(played, Played) else Played(None)
