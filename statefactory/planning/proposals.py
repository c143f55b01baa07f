"""Proposers of candidate actions for tree search: a model, or the world's list of valid actions (C.6.3)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Protocol

from pydantic import Field, create_model

from lab.models.answers import AnswerModel
from lab.models.backbone import Backbone, MalformedAnswer
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields, Prompt
from statefactory.predictors import Path, Step
from worlds.pool import Pool

PROPOSE = "propose"  # operator that proposes candidate actions
MOST_PROPOSED = 20
TRIES = 3  # attempts to get a well-formed answer


class ProposeFields(Fields):
    """tools: the actions as text. first: what was seen before any action. steps: actions and observations since.

    count: how many actions are asked for, at most MOST_PROPOSED.
    """

    tools: str
    goal: str
    first: str
    steps: tuple[Step, ...]
    count: int = Field(ge=1, le=MOST_PROPOSED)


class Proposed(AnswerModel):
    """What is noted of the situation (C.6.3's scratchpad), and then the actions, the best first."""

    held: str = Field(description="what the agent has on it now, by name; or nothing")
    place: str = Field(description="where the agent is now")
    usable: list[str] = Field(description="what is in sight and can be acted on from here, by name", max_length=30)
    aim: str = Field(description="the next thing to bring about, in one short sentence, and why")
    actions: list[str] = Field(description="different actions to try next, the best first", min_length=1)


@cache
def propose_prompt(world: str) -> Prompt:
    """A proposer's prompt. world: its short name, since rules and noise are registered per world."""
    prompt = read_prompt(
        "statefactory/propose.md", ProposeFields, Proposed, narrow=lambda fields: _at_most(fields.count),
        retry_temperatures=(0.3, 0.6),
    )  # fmt: skip
    return replace(prompt, name=f"{prompt.name}.{world}")


@cache
def _at_most(count: int) -> type[Proposed]:
    """The answer class with at most `count` actions."""
    field = Field(description=Proposed.model_fields["actions"].description, min_length=1, max_length=count)
    return create_model("Proposed", __base__=Proposed, actions=(list[str], field))


class Proposer(Protocol):
    """Proposes actions."""

    def actions(self, path: Path, count: int) -> list[str]:
        """At most `count` distinct actions to try after the path; 0 for all. Equal paths give equal actions."""
        ...


class Prompted:
    """A model that notes the situation before it proposes. Gets the actions as text, the goal and the path."""

    def __init__(self, backbone: Backbone, world: str, tools: str) -> None:
        """world: short name, part of the prompts' names. tools: description of the actions."""
        self.backbone, self.world, self.tools = backbone, world, tools

    def actions(self, path: Path, count: int) -> list[str]:
        """See `Proposer.actions`; empty if no answer was well-formed.

        Raises ValueError for a count above MOST_PROPOSED, or of 0: a model cannot list all actions.
        """
        if not 0 < count <= MOST_PROPOSED:
            raise ValueError(f"width={count}: a model is asked for 1 to {MOST_PROPOSED} actions")
        for sample in range(TRIES):
            try:
                answer = self.backbone.ask(
                    propose_prompt(self.world), sample, tools=self.tools, goal=path.goal, first=path.first,
                    steps=path.steps, count=count,
                )  # fmt: skip
            except MalformedAnswer:
                continue
            texts = (" ".join(action.split()) for action in answer.value.actions)
            return list(dict.fromkeys(filter(None, texts)))[:count]
        return []


class Listed:
    """The world's valid actions, shuffled. Privileged in worlds that do not list them to agents."""

    def __init__(self, pool: Pool, seed: int = 0) -> None:
        self.pool, self.seed = pool, seed

    def actions(self, path: Path, count: int) -> list[str]:
        """See `Proposer.actions`. Seed and path fix the order, also for resumed searches. Raises WorldDied."""
        valid = list(self.pool.valid_actions(path.actions))
        Random(f"{self.seed} {path.actions}").shuffle(valid)
        return valid[:count] if count else valid
