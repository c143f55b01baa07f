"""Playing the episodes of a run: here, on threads, on processes, or on a cluster (see lab/runs/cluster.py)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from functools import partial
from typing import Any

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.models import carried
from lab.runs.crews import Crew, Processes, Threads
from lab.runs.first_answers import FirstAnswers, malformed, raw_reply, unread, unreadable
from lab.runs.playing import ACCOUNTS as ACCOUNTS  # this line and the next: what callers of play_all need, too
from lab.runs.playing import Ended, Fault, Play, play_one
from lab.runs.playing import Played as Played
from lab.runs.run import Episode, Run
from lab.runs.supervisor import Supervisor, time_limit

# A process takes two or three seconds to start and import what it plays.
HERE_FIRST = 3.0  # seconds of playing in this process, to see how long the rest would take
WORTH_PROCESSES = 15.0  # seconds that it would have to take


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came; what was finished is in the run folder."""


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
    pending, and is played again the next time. So does an episode whose workers die (see lab/runs/supervisor.py).
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
                for ended, played in _readable(episodes, first):
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


def _readable(episodes: Generator[Ended], first: FirstAnswers | None) -> Generator[Ended]:
    """The episodes of a model, those with malformed answers only once its first answers show that others can be read.

    Raises Unreadable where they show that most cannot. An episode of which hardly one can is not measured.
    """
    if first is None:
        yield from episodes
        return
    held: list[Ended] = []
    answers = FirstAnswers(first.paths)
    for ended, played in episodes:
        answers.add_usage(played.usage)
        if answers.unreadable:
            raise unreadable(
                raw_reply([*(answer for _, earlier in held for answer in earlier.answers), *played.answers])
            )
        if isinstance(ended, Episode) and (why := unread(played.usage)):
            ended = Fault(ended.task, why)
        if not answers.complete and malformed(played.usage):
            held.append((ended, played))
            continue
        if answers.complete:
            yield from held
            held.clear()
        yield ended, played
    yield from held  # a run of fewer answers cannot say


def _stream(
    run: Run, play: Play, tasks: list[str], workers: int, backend: str, cluster: str, sparing: bool
) -> Generator[Ended]:
    suspects = run.deaths.suspects(tasks)
    tasks = [task for task in tasks if task not in suspects]
    if sparing and not cluster and backend == "loky" and workers > 1:
        tasks = yield from _here(run, play, tasks, sparing)
    elif not cluster and workers in (0, 1) and time_limit() is None:
        tasks = yield from _here(run, play, tasks)
    if tasks and not cluster and backend == "threading":
        yield from _on(Threads(play, workers or 1), run, tasks, [], here=True)
        tasks = []
    if tasks or suspects:
        yield from _on(_apart(run, play, workers, cluster), run, tasks, suspects)


def _here(run: Run, play: Play, tasks: list[str], sparing: bool = False) -> Generator[Ended, None, list[str]]:
    """Play tasks in this process; returns those that are left where `sparing` is asked and the rest would take long."""
    began = time.monotonic()
    for count, task in enumerate(tasks, start=1):
        run.deaths.under_way([task])
        yield play_one(play, task)
        took = time.monotonic() - began
        if sparing and took > HERE_FIRST and took / count * (len(tasks) - count) > WORTH_PROCESSES:
            return tasks[count:]
    return []


def _apart(run: Run, play: Play, workers: int, cluster: str) -> Crew:
    """Workers whose death does not end this process."""
    if not cluster:
        import joblib

        return Processes(play, joblib.effective_n_jobs(workers or 1))  # -1 means all
    from lab.runs.cluster import Cluster, Expected

    return Cluster(play, cluster, max(workers, 0), Expected.of(run.manifest.address))


def _on(crew: Crew, run: Run, tasks: list[str], suspects: list[str], here: bool = False) -> Generator[Any]:
    with contextlib.closing(crew):
        yield from Supervisor(crew, run.deaths, here).play(tasks, suspects)
