"""The task sequence K of Algorithm 1, and how it is decomposed.

As printed, UpdateTask (lines 23-27) decomposes the head of K whenever a method matches it. A parent comes back to the
head when its subtasks are done, is decomposed again, and the procedure never ends; a leaf with a method but without
subtasks recurs at once. Appendix F.1 keeps the set of verified tasks; with it a head is decomposed only into subtasks
that are not verified yet, and once there are none it is worked on itself.
"""

from __future__ import annotations

from procllm.files import NOTES
from procllm.network import TOP, Network, Task


class Agenda:
    """K with its head last, and the tasks that were verified."""

    def __init__(self, network: Network, start: Task | None = None) -> None:
        """start: the task to begin with; by default the network's method for the top task says what it is."""
        self.network = network
        self.verified: list[str] = []
        self._tasks = [start or network.task(TOP)]
        self._update()

    @property
    def head(self) -> Task | None:
        """The task to work on; None when all is done."""
        return self._tasks[-1] if self._tasks else None

    @property
    def pending(self) -> tuple[str, ...]:
        """The names in K, head first."""
        return tuple(task.name for task in reversed(self._tasks))

    def verify(self) -> None:
        """Lines 14-15: the head is done; the next one is decomposed."""
        self.verified.append(self._tasks.pop().name)
        self._update()

    def _update(self) -> None:
        """UpdateTask (lines 23-27), of what is not verified yet."""
        while self._tasks:
            head = self._tasks[-1]
            if head.name in self.verified:  # two parents may share a subtask
                self._tasks.pop()
                continue
            method = self.network.find_first_relevant(head.name)
            missing = [name for name in method.subtasks if name not in self.verified] if method else []
            if not missing:
                return
            # A primitive subtask without a method has no effect files; its parent's and the notes show what it did.
            shown = tuple(dict.fromkeys((*head.files, NOTES)))
            self._tasks += [self.network.task(name, shown) for name in reversed(missing)]
