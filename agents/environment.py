"""The protocol through which agents see a world: task, tools, actions and result, all as text.

Agents use this protocol alone, so every agent plays every world that has an adapter (`agents.worlds`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from worlds.base import Step, Task, World


class Observation(NamedTuple):
    """The answer to an action. done: the episode is over. valid: False if the action does not exist or was refused."""

    text: str
    done: bool = False
    valid: bool = True


class Environment(Protocol):
    """One episode on one task. By default `view` shows nothing and `valid_actions` lists none.

    name: short name of the world; prompts are named after it. tools: the actions and their syntax as text, the same
    for all tasks. form: a regular expression of the whole action, which gives away no more than the tools say; "" if
    the tools state no form.
    """

    name: str
    tools: str
    form: str

    def begin(self) -> str:
        """Start or restart the episode; return the task's text and the first view."""
        ...

    def act(self, action: str) -> Observation:
        """Carry out an action. An unknown action gets an observation that says so, never an exception."""
        ...

    def view(self) -> str:
        """What is visible now without acting, "" for nothing; shown next to the history, and not stored in it."""
        return ""

    def valid_actions(self) -> Sequence[str]:
        """The actions that are possible now, as they are written: some if they are endless, () if none are listed."""
        return ()

    def result(self) -> dict[str, Any]:
        """The result of the episode so far: `score` in [0, 1] and the benchmark's other measures; JSON values."""
        ...


def nothing_refused(step: Step) -> bool:
    """Return False, for worlds whose steps do not say whether an action was refused."""
    return False


@dataclass
class InWorld:
    """Any world, unchanged: its actions are those of `World.step`, its score is the world's own.

    tools, form: the actions as text, and as a regular expression. refused: whether a step of the world refused its
    action. listed: show the valid actions before each turn, if the world's steps list them.
    """

    world: World
    task: Task
    name: str
    tools: str
    refused: Callable[[Step], bool] = nothing_refused
    listed: bool = False
    last: Step = Step("")
    form: str = ""

    def begin(self) -> str:
        """The world's first observation, with the goal before it unless it states the goal."""
        self.last = self.world.reset(self.task)
        goal, first = self.task.goal, self.last.text
        return first if goal in first else f"Task: {goal}\n\n{first}"

    def act(self, action: str) -> Observation:
        """A step of the world."""
        self.last = self.world.step(action)
        return Observation(self.last.text, self.last.done, not self.refused(self.last))

    def view(self) -> str:
        """The valid actions if `listed`, else ""."""
        return f"Valid actions: {'; '.join(self.last.actions)}" if self.listed and self.last.actions else ""

    def valid_actions(self) -> Sequence[str]:
        """The valid actions that the last step listed."""
        return self.last.actions

    def result(self) -> dict[str, Any]:
        """The score after the last step."""
        return {"score": self.last.score}
