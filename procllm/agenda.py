"""The task sequence K of Algorithm 1, and how it is decomposed.

As printed, UpdateTask (lines 23-27) decomposes the head of K whenever a method matches it. A parent comes back to the
head when its subtasks are done, is decomposed again, and the procedure never ends. Here a task is decomposed once for
each time that it stands in K; when it comes back it is worked on itself.

A subtask that a network lists twice, or that two parents share, stands in K twice and is worked off twice, with its own
subtasks: line 26 pushes all subtasks of a method, and line 14 pops one task. F.1 adds verified tasks to a set but never
drops a task for being in it; what reads the set is not printed.
"""

from __future__ import annotations

from dataclasses import dataclass

from procllm.files import NOTES
from procllm.network import TOP, Network, Task


@dataclass
class Entry:
    """A task in K. decomposed: its subtasks were pushed before it."""

    task: Task
    decomposed: bool = False


class Agenda:
    """K with its head last, and the tasks that were verified, once for each time."""

    def __init__(self, network: Network, start: Task | None = None) -> None:
        """start: the task to begin with; by default the network's method for the top task says what it is."""
        self.network = network
        self.verified: list[str] = []
        self._entries = [Entry(start or network.task(TOP))]
        self._update()

    @property
    def head(self) -> Task | None:
        """The task to work on; None when all is done."""
        return self._entries[-1].task if self._entries else None

    @property
    def pending(self) -> tuple[str, ...]:
        """The names in K, head first."""
        return tuple(entry.task.name for entry in reversed(self._entries))

    def verify(self) -> None:
        """Lines 14-15: the head is done; the next one is decomposed."""
        self.verified.append(self._entries.pop().task.name)
        self._update()

    def _update(self) -> None:
        """UpdateTask (lines 23-27), of what was not decomposed yet."""
        while self._entries and not (head := self._entries[-1]).decomposed:
            head.decomposed = True
            method = self.network.find_first_relevant(head.task.name)
            # A primitive subtask without a method has no effect files; its parent's and the notes show what it did.
            shown = tuple(dict.fromkeys((*head.task.files, NOTES)))
            subtasks = method.subtasks if method else ()
            self._entries += [Entry(self.network.task(name, shown)) for name in reversed(subtasks)]
