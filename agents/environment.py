"""What a world offers an agent: the task and the tools in words, actions in text, and what became of it.

Agents know worlds by this protocol alone, so that every agent plays every world that has an adapter (`agents.worlds`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from worlds.base import Step, Task, World


class Observation(NamedTuple):
    """What an action brought. done: the episode is over. valid: False for an action that there is not."""

    text: str
    done: bool = False
    valid: bool = True


class Environment(Protocol):
    """One episode on one task.

    name: of the world, short; prompts are named after it. tools: the actions and how they are written, in words, the
    same for all tasks.
    """

    @property
    def name(self) -> str: ...

    @property
    def tools(self) -> str: ...

    def begin(self) -> str:
        """Start, or start again from the beginning; the task in words, with what is there to see at first."""
        ...

    def act(self, action: str) -> Observation:
        """Carry out an action. One that there is not gets an observation that says so, never an exception."""
        ...

    def view(self) -> str:
        """What can be seen now without acting, "" for nothing; shown beside the history, and not kept in it."""
        ...

    def result(self) -> dict[str, Any]:
        """What the episode came to so far: `score` in [0, 1] and what else the benchmark reports; JSON."""
        ...


@dataclass
class InWorld:
    """Any world as it is: its actions are those of `World.step`, its score is the world's own.

    tools: the actions in words. refused: whether a step of the world turned an action down.
    """

    world: World
    task: Task
    name: str
    tools: str
    refused: Callable[[Step], bool] = lambda step: False
    score: float = 0.0

    def begin(self) -> str:
        """The goal and the world's first words."""
        self.score = 0.0
        return f"Task: {self.task.goal}\n\n{self.world.reset(self.task).text}"

    def act(self, action: str) -> Observation:
        """A step of the world."""
        step = self.world.step(action)
        self.score = step.score
        return Observation(step.text, step.done, not self.refused(step))

    def view(self) -> str:
        """Nothing but what the actions show."""
        return ""

    def result(self) -> dict[str, Any]:
        """The score after the last step."""
        return {"score": self.score}
