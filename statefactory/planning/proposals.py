"""Who proposes the actions that a tree search looks at: a model, or the world's list of valid actions (C.6.3)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import Protocol

from pydantic import Field, create_model

from lab.models.backbone import Backbone, MalformedAnswer
from lab.models.prompt_files import read_prompt
from lab.models.prompts import AnswerModel, Fields, Prompt
from statefactory.predictors import Path, Step
from worlds.pool import Pool

PROPOSE = "propose"  # the operator that makes up candidate actions for a tree search
MOST_PROPOSED = 20
TRIES = 3  # at an answer that can be read


class ProposeFields(Fields):
    """tools: the actions in words. first: what was seen before any action. steps: actions and observations since.

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
    """A proposer's prompt, for a world by its short name; rules and noise are registered for each."""
    prompt = read_prompt(
        "statefactory/propose.md", ProposeFields, Proposed, narrow=lambda fields: _at_most(fields.count),
        retry_temperatures=(0.3, 0.6),
    )  # fmt: skip
    return replace(prompt, name=f"{prompt.name}.{world}")


@cache
def _at_most(count: int) -> type[Proposed]:
    """A Proposed with as many actions as were asked for, or fewer."""
    field = Field(description=Proposed.model_fields["actions"].description, min_length=1, max_length=count)
    return create_model("Proposed", __base__=Proposed, actions=(list[str], field))


class Proposer(Protocol):
    """Proposes actions."""

    def actions(self, path: Path, count: int) -> list[str]:
        """At most `count` different actions to try after the path, 0 for all there are; the same for the same path."""
        ...


class Prompted:
    """A model that takes stock before it proposes; told the actions in words, the goal and the path."""

    def __init__(self, backbone: Backbone, world: str, tools: str) -> None:
        """world: its short name, which prompts are named after. tools: its actions in words."""
        self.backbone, self.world, self.tools = backbone, world, tools

    def actions(self, path: Path, count: int) -> list[str]:
        """None where no answer could be read. Raises ValueError for a count of 0, which a model cannot list to."""
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
    """The world's valid actions, shuffled; privileged as far as a world does not list them to an agent."""

    def __init__(self, pool: Pool, seed: int = 0) -> None:
        self.pool, self.seed = pool, seed

    def actions(self, path: Path, count: int) -> list[str]:
        """Shuffled by seed and path, so that a search that is resumed sees them in the same order. Raises WorldDied."""
        valid = list(self.pool.valid_actions(path.actions))
        Random(f"{self.seed} {path.actions}").shuffle(valid)
        return valid[:count] if count else valid
