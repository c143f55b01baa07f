"""Playing episodes: on this process, on threads, on processes, or on a cluster (see lab/runs/cluster.py)."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from lab.machine import progress
from lab.machine.faults import BackendDied, MissingData, Unavailable
from lab.machine.paths import ROOT
from lab.machine.secrets import redact
from lab.models import carried
from lab.models.retries import EndpointError
from lab.runs.run import Episode, Run

# OSError, MemoryError: the machine refused something (a full disk, a file that went). No agent acts on the machine;
# what its program does in the sandbox is a result of that program.
OF_THE_MACHINE = (BackendDied, EndpointError, OSError, MemoryError)
ACCOUNTS = "played"  # attribute of an episode's error: what the episode took until then, a `Played`
# A process takes two or three seconds to start and import what it plays.
HERE_FIRST = 3.0  # seconds of playing in this process, to see how long the rest would take
WORTH_PROCESSES = 15.0  # seconds that it would have to take
TRACEBACK_LINES = 12  # enough to find the place, short enough to read in a table


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came; what was finished is in the run folder."""


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
    title: str = "", sparing: bool = False,
) -> list[Episode]:  # fmt: skip
    """Play every pending task of the run and append each episode as it ends.

    play: task id -> Played; with processes it must be picklable, best a function of a module with functools.partial.
    workers: how many at a time; 1 stays in this process. 0 is 1, and on a cluster every thread that it has.
    backend: joblib's, "loky" (processes; rules compute) or "threading" (endpoints wait). cluster: in place of it, the
    address of a Dask scheduler, "tcp://host:8786". title: of the progress line; by default the run's method. sparing:
    begin in this process, and take processes only where the rest is long enough to be worth their start.
    An episode that raises is recorded with its error as failed. If the error is the machine's, it is not measured: it
    stays pending, and is played again the next time.
    Raises Interrupted on Ctrl-C, after closing what was under way, and Unavailable where what answers, its data or the
    cluster is not there, since every further episode would fail alike.
    """
    if any(own := carried.taken()):
        play = partial(carried.played, own, play)
    pending = run.pending()
    done = len(run.manifest.tasks) - len(pending)
    with progress.bar(len(run.manifest.tasks), title or run.manifest.method, done, show_progress) as bar:
        for usage in run.usage().values():
            bar.book(usage)
        try:
            with contextlib.closing(_stream(run, play, pending, workers, backend, cluster, sparing)) as episodes:
                for ended, played in episodes:
                    if cluster:  # else each call told its price when it was made
                        bar.book(played.usage)
                    if isinstance(ended, Episode):
                        run.append(ended, played.usage, played.answers)
                        bar.update()
                    else:
                        run.append_fault(ended.task, ended.why, played.usage)
        except KeyboardInterrupt:
            raise Interrupted(_kept(run)) from None
        except Unavailable as error:
            error.add_note(_kept(run))
            raise
    if run.not_measured:
        why = next(iter(run.not_measured.values())).strip().splitlines()[-1]
        progress.say(
            f"{len(run.not_measured)} of {len(run.manifest.tasks)} episodes were not measured ({why}); "
            "run again to play them"
        )
    return run.results()


def _kept(run: Run) -> str:
    return f"{len(run.episodes)} of {len(run.manifest.tasks)} episodes are in {run.folder}; run again to resume"


def _stream(
    run: Run, play: Play, tasks: list[str], workers: int, backend: str, cluster: str, sparing: bool
) -> Generator[Ended]:
    if sparing and not cluster and backend == "loky" and workers > 1:
        began, count = time.monotonic(), 0
        for count, task in enumerate(tasks, start=1):
            yield _play_one(play, task)
            took = time.monotonic() - began
            if took > HERE_FIRST and took / count * (len(tasks) - count) > WORTH_PROCESSES:
                break
        tasks = tasks[count:]
    if cluster and tasks:
        from lab.runs.cluster import Expected, stream

        def died(task: str, why: str) -> Ended:
            return Fault(task, why), Played(None)

        at_once = max(workers, 0)  # -1 means all to joblib.
        yield from stream(partial(_play_one, play), tasks, cluster, at_once, Expected.of(run.manifest.address), died)
    elif workers in (0, 1) or len(tasks) <= 1:
        yield from (_play_one(play, task) for task in tasks)
    else:
        yield from _on_workers(play, tasks, workers, backend)


def _on_workers(play: Play, tasks: list[str], workers: int, backend: str) -> Generator[Ended]:
    from joblib import Parallel, delayed

    jobs = (delayed(_play_in_worker)(play, task, backend, os.getpid()) for task in tasks)
    # Unordered: a slow episode must not hold back the writing of finished ones.
    parallel = Parallel(n_jobs=workers, backend=backend, return_as="generator_unordered", pre_dispatch="2*n_jobs")
    try:
        with contextlib.closing(parallel(jobs)) as episodes:
            yield from episodes
    finally:
        if backend == "loky":
            # joblib would use them again, with the environment (address, key) that they were born with.
            from joblib.externals.loky import get_reusable_executor

            get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _play_in_worker(play: Play, task: str, backend: str, parent: int) -> Ended:
    if backend == "loky":
        _end_with(parent)
    return _play_one(play, task)


@cache
def _end_with(parent: int) -> None:
    """End this worker when the run's process is killed; it would play on, and then wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _play_one(play: Play, task: str) -> Ended:
    """Play a task, once more where the machine failed. What fails again is not measured; other errors are the agent's.

    An endpoint has been asked again already, for as long as its patience allows.
    """
    for again in (True, False):
        try:
            played = play(task)
            return Episode(task, played.result), played
        except Unavailable:
            raise
        except MissingData as error:  # on this worker, and so for each of its episodes
            raise Unavailable(str(error)) from None
        except OF_THE_MACHINE as error:
            if again and not isinstance(error, EndpointError):
                progress.note(f"{task}: {redact(str(error))}; starting it again")
                continue
            return Fault(task, _told(error)), _accounts(error)
        except Exception as error:
            return Episode(task, None, _told(error)), _accounts(error)
    raise AssertionError("unreachable")


def _told(error: Exception) -> str:
    # Messages may quote a server, so all is redacted; paths are made relative so that a run reads the same anywhere.
    trace = "".join(traceback.format_exception(error, limit=-TRACEBACK_LINES, chain=False))
    return redact(trace.replace(f"{ROOT}/", ""))


def _accounts(error: Exception) -> Played:
    """What an episode took that raised; its accounts came with the error."""
    played = getattr(error, ACCOUNTS, None)
    return played if isinstance(played, Played) else Played(None)
