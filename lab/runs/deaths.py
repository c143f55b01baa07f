"""Which episodes were under way when a process died: the suspects of a run, kept in its folder.

A process that is killed cannot say what it played. So it is noted while it plays, and counted when the run is opened
again. An episode that is suspected often enough is played apart, by a process whose death ends nothing else.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path

ENOUGH = 2  # deaths after which an episode is played alone in a process of its own, and if that dies, not measured


class Deaths:
    """How many processes died while they played each task. counts: of tasks that are not settled."""

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
