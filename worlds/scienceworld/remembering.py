"""ScienceWorld that plays nothing twice: what the simulator said after the same actions, it says from memory.

The conditions of a study play the same tasks, and mostly begin with the same actions. An episode does not depend on
earlier ones (tests check that), so that the answers are the same. At the first new action the simulator catches up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from worlds.base import Step
from worlds.scienceworld.tasks import ScienceTask
from worlds.scienceworld.world import Looks, ScienceWorld

T = TypeVar("T")
KEPT = 16  # tasks that are remembered, the latest ones; an episode takes about 3 kB a step


@dataclass
class Situation:
    """A point of an episode. step: the answer that led to it. answers: to questions, by method. after: by action."""

    step: Step
    answers: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Situation] = field(default_factory=dict)


class RememberingWorld(ScienceWorld):
    """ScienceWorld for many episodes on the same tasks. Its steps list no actions; `valid_actions` does."""

    def __init__(self, data: str, simplification: str) -> None:
        super().__init__(data, simplification, list_actions=False)
        self._starts: dict[str, Situation] = {}  # by task id, the latest last
        self._now = Situation(Step(""))

    def reset(self, task: ScienceTask) -> Step:
        """As in ScienceWorld; a task that is remembered does not start the simulator."""
        if (start := self._starts.pop(task.id, None)) is None:
            start = Situation(super().reset(task))
        else:
            self._task, self._history, self._over, self._borrowed = task, [], False, True
        self._starts[task.id] = self._now = start
        if len(self._starts) > KEPT:
            del self._starts[next(iter(self._starts))]
        return start.step

    def step(self, action: str) -> Step:
        """As in ScienceWorld. Once the simulator has caught up, it plays on, so that it does so at most once."""
        # `_borrowed`: the simulator is elsewhere, and would have to catch up.
        known = self._now.after.get(action) if self._borrowed and not self._over else None
        if known:
            self._history.append(action)
            self._over = known.step.done
        else:
            known = self._now.after.setdefault(action, Situation(super().step(action)))
        self._now = known
        return known.step

    def looks(self) -> Looks:
        """As in ScienceWorld."""
        return self._once(super().looks)

    def rooms(self) -> tuple[str, ...]:
        """As in ScienceWorld."""
        return self._once(super().rooms)

    def valid_actions(self) -> tuple[str, ...]:
        """As in ScienceWorld."""
        return self._once(super().valid_actions)

    def _once(self, ask: Callable[[], T]) -> T:
        """The answer to a question about this point of the episode. Raises EpisodeOver before a reset."""
        if self._task is None or ask.__name__ not in self._now.answers:
            self._now.answers[ask.__name__] = ask()
        answer: T = self._now.answers[ask.__name__]
        return answer
