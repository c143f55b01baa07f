"""Playing the episodes of a run: here, on threads, on processes, or on a cluster (see lab/runs/cluster.py)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from functools import partial

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.models import rules
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
            raise unreadable(
                raw_reply([*(answer for _, held in self._held for answer in held.answers), *played.answers])
            )
        if isinstance(ended, Episode) and (why := unread(played.usage)):
            ended = Fault(ended.task, why)
        if not answers.complete and malformed(played.usage):
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
    if backend == "threading" and not cluster:
        yield from _on(Threads(play, workers or 1), run, tasks, [], here=True)
        tasks = []
    if tasks or suspects:
        yield from _on(_apart(run, play, workers, cluster), run, tasks, suspects)


def _apart(run: Run, play: Play, workers: int, cluster: str) -> Crew:
    """Workers whose death does not end this process."""
    if not cluster:
        import joblib

        return Processes(play, joblib.effective_n_jobs(workers or 1))  # -1 means all
    from lab.runs.cluster import Cluster, Expected

    return Cluster(play, cluster, max(workers, 0), Expected.of(run.manifest.address))


def _on(crew: Crew, run: Run, tasks: list[str], suspects: list[str], here: bool = False) -> Generator[Ended]:
    with contextlib.closing(crew):
        yield from Supervisor(crew, run.deaths, here).play(tasks, suspects)
