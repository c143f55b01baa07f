"""What a world offers an agent: the task and the tools in words, actions in text, and what became of it.

Agents know worlds by this protocol alone, so that every agent plays every world that has an adapter (`agents.worlds`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from worlds.base import Step, Task, World


class Observation(NamedTuple):
    """What an action brought. done: the episode is over. valid: False for an action that there is not."""

    text: str
    done: bool = False
    valid: bool = True


class Environment(Protocol):
    """One episode on one task. Whoever inherits shows nothing beside the history, and lists no actions.

    name: of the world, short; prompts are named after it. tools: the actions and how they are written, in words, the
    same for all tasks. form: a regular expression of the whole action, with no more in it than the tools say; "" where
    the tools state none.
    """

    name: str
    tools: str
    form: str

    def begin(self) -> str:
        """Start, or start again from the beginning; the task in words, with what is there to see at first."""
        ...

    def act(self, action: str) -> Observation:
        """Carry out an action. One that there is not gets an observation that says so, never an exception."""
        ...

    def view(self) -> str:
        """What can be seen now without acting, "" for nothing; shown beside the history, and not kept in it."""
        return ""

    def valid_actions(self) -> Sequence[str]:
        """What can be done now, as actions are written; some of it where that has no end, () where none is listed."""
        return ()

    def result(self) -> dict[str, Any]:
        """What the episode came to so far: `score` in [0, 1] and what else the benchmark reports; JSON."""
        ...


def nothing_refused(step: Step) -> bool:
    """For worlds whose steps do not tell that they turned an action down."""
    return False


@dataclass
class InWorld:
    """Any world as it is: its actions are those of `World.step`, its score is the world's own.

    tools, form: the actions in words, and as a regular expression. refused: whether a step of the world turned an
    action down. listed: show the valid actions before each turn, where the world lists them in its steps.
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
        """The world's first words, behind the goal unless they have it."""
        self.last = self.world.reset(self.task)
        goal, first = self.task.goal, self.last.text
        return first if goal in first else f"Task: {goal}\n\n{first}"

    def act(self, action: str) -> Observation:
        """A step of the world."""
        self.last = self.world.step(action)
        return Observation(self.last.text, self.last.done, not self.refused(self.last))

    def view(self) -> str:
        """Nothing but what the actions show, or the valid ones."""
        return f"Valid actions: {'; '.join(self.last.actions)}" if self.listed and self.last.actions else ""

    def valid_actions(self) -> Sequence[str]:
        """Those that the last step listed."""
        return self.last.actions

    def result(self) -> dict[str, Any]:
        """The score after the last step."""
        return {"score": self.last.score}


@dataclass
class InView(Environment):
    """A world without tasks, as `sdp.FactsAdapter` takes it: `step(action)` gives a `Step`, `view()` the facts that are
    seen, which are shown before each turn as JSON. It is over at its end, or at the full score, the fact "score".

    goal, tools: the task and the actions in words. form: the actions as a regular expression.
    """

    world: Any
    name: str
    goal: str
    tools: str
    form: str = ""

    def begin(self) -> str:
        """The goal."""
        return self.goal

    def act(self, action: str) -> Observation:
        """A step of the world."""
        step = self.world.step(action)
        return Observation(step.text, step.done or self.result()["score"] >= 1)

    def view(self) -> str:
        """The facts."""
        return json.dumps(self.world.view())

    def result(self) -> dict[str, Any]:
        """The score."""
        return {"score": self.world.view()["score"]}
