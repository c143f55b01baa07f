"""Where an episode stands, as a planner knows it: the goal, and what was done and seen, really or in thought."""

from __future__ import annotations

from dataclasses import dataclass, replace

Step = tuple[str, str]  # an action, and the observation that it led to


@dataclass(frozen=True, slots=True)
class Path:
    """A goal and the steps towards it. first: the observation before any action."""

    goal: str
    first: str
    steps: tuple[Step, ...] = ()

    def then(self, action: str, observation: str) -> Path:
        """With one step more."""
        return replace(self, steps=(*self.steps, (action, observation)))

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(action for action, _ in self.steps)

    @property
    def observation(self) -> str:
        """The newest one."""
        return self.steps[-1][1] if self.steps else self.first
