"""What an action would lead to: the world model of C.6.2 and C.6.3.

The paper uses a trained LLaMA (Li et al. 2025). Here it is a prompted model, or rules that know the words of a world
(`standins.statefactory.foresight`). The world itself, replayed beside the episode, is the upper bound. No agent has it,
so tables call such rows privileged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from lab.models.backbone import Backbone, MalformedAnswer
from statefactory.planning.paths import Path
from statefactory.planning.prompts import predict_prompt
from worlds.pool import Pool


class Outcome(NamedTuple):
    """What an action is thought to lead to. done: whether the episode ends there. known: False where none was found."""

    observation: str
    done: bool = False
    known: bool = True


class WorldModel(Protocol):
    """Foresees what actions lead to."""

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """One outcome an action, each taken after the path and by itself."""
        ...


class Exact:
    """The world itself, replayed to the same point. Privileged."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """Raises WorldDied where the world dies twice."""
        steps = [self.pool.at((*path.actions, action)) for action in actions]
        return [Outcome(step.text, step.done) for step in steps]


class Prompted:
    """A model, or rules, asked what it expects; told the actions in words, the goal and the path."""

    def __init__(self, backbone: Backbone, world: str, tools: str) -> None:
        """world: its short name, which prompts are named after. tools: its actions in words."""
        self.backbone, self.world, self.tools = backbone, world, tools

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """An answer that cannot be read foresees nothing: the observation stays as it was."""
        return [self._outcome(path, action) for action in actions]

    def _outcome(self, path: Path, action: str) -> Outcome:
        try:
            answer = self.backbone.ask(
                predict_prompt(self.world), tools=self.tools, goal=path.goal, first=path.first, steps=path.steps,
                action=action,
            )  # fmt: skip
        except MalformedAnswer:
            return Outcome(path.observation, known=False)
        return Outcome(answer.value.observation, answer.value.done)
