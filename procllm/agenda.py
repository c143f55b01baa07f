"""The agenda: the task sequence K of Algorithm 1, and how its tasks are decomposed.

As printed, UpdateTask (lines 23-27) decomposes the head of K whenever a method matches it. A parent returns to the head
when its subtasks are done, is decomposed again, and the procedure never ends. Here each entry of K is decomposed once;
when it returns to the head, the agent works on the task itself.

A subtask that a network lists twice, or that two parents share, has two entries in K. It is worked off twice, with its
own subtasks: line 26 pushes all subtasks of a method, and line 14 pops one task. F.1 adds verified tasks to a set but
never drops a task for being in it; the code that reads the set is not printed.
"""

from __future__ import annotations

from dataclasses import dataclass

from procllm.files import NOTES
from procllm.network import TOP, Network, Task


@dataclass
class Entry:
    """An entry of K. decomposed: its subtasks have been pushed."""

    task: Task
    decomposed: bool = False


class Agenda:
    """The task sequence K, its head last, and the verified tasks, with repetitions."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.verified: list[str] = []
        self._entries = [Entry(network.task(TOP))]
        self._update()

    @property
    def head(self) -> Task | None:
        """The task to work on; None when all tasks are done."""
        return self._entries[-1].task if self._entries else None

    @property
    def pending(self) -> tuple[str, ...]:
        """The names of the tasks in K, head first."""
        return tuple(entry.task.name for entry in reversed(self._entries))

    def verify(self) -> None:
        """Mark the head as verified, remove it and decompose the next task (lines 14-15)."""
        self.verified.append(self._entries.pop().task.name)
        self._update()

    def _update(self) -> None:
        """UpdateTask (lines 23-27), for entries that have not been decomposed yet."""
        while self._entries and not (head := self._entries[-1]).decomposed:
            head.decomposed = True
            method = self.network.find_first_relevant(head.task.name)
            # A primitive subtask has no effect files of its own; its parent's files and the notes show what was done.
            files = tuple(dict.fromkeys((*head.task.files, NOTES)))
            subtasks = method.subtasks if method else ()
            self._entries += [Entry(self.network.task(name, files)) for name in reversed(subtasks)]
