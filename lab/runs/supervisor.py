"""The supervisor of a run's workers, the same for threads, processes and clusters.

Where a worker dies, all episodes that were under way are suspects: each is played again, last and alone. One that ends
its worker there, too, is not measured, and the run goes on. One that takes longer than LAB_EPISODE_SECONDS is not
measured either.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

from lab.runs.crews import Crew, WorkerDied
from lab.runs.deaths import ENOUGH, Deaths
from lab.runs.playing import Ended, Fault, Played

LIMIT = "LAB_EPISODE_SECONDS"  # of one episode; without it there is no limit
IDLE_SECONDS = 5.0  # without an episode that ends, before the crew is asked whether there are workers at all


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
                    ended = self.crew.result(future, task)
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
