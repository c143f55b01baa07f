"""Prompts of planners: to choose candidate actions, to predict outcomes, and to act on rewards.

The wording is in `statefactory/prompt_texts`. `proposals` has the prompt that proposes actions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, create_model

from agents.answers import Act, labelled
from agents.prompts import HISTORY, OBSERVED, VALID, ActFields, act_form, world_prompt
from lab.models.answers import AnswerModel, Listing
from lab.models.backbone import MalformedAnswer
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields, Prompt
from statefactory.predictors import Step

PREDICT = "predict"  # operator of the world model
CHOOSE = "choose"  # operator that selects candidates among the valid actions
MOST = 20  # most candidates in an answer, since a model that repeats itself would never stop
NONE = "none"
NUMBERS = re.compile(r"\d{1,5}(?:, *\d{1,5})*")


class PredictFields(Fields):
    """tools: the actions as text. first: what was seen before any action. steps: actions and observations since."""

    tools: str
    goal: str
    first: str
    steps: tuple[Step, ...]
    action: str


class Predicted(AnswerModel):
    """What an action leads to."""

    observation: str = Field(description="what the environment would answer, in its own words")
    done: bool = Field(description="whether the task is then solved, or the episode over in another way")


@cache
def predict_prompt(world: str) -> Prompt:
    """A world model's prompt. world: its short name."""
    prompt = read_prompt("statefactory/predict.md", PredictFields, Predicted)
    return replace(prompt, name=f"{prompt.name}.{world}")


class ChooseFields(ActFields):
    """options: the valid actions. most: K, how many of them may be chosen."""

    options: list[str]
    most: int


class Chosen(AnswerModel):
    """The most promising actions by their numbers, from 1 and the best one first; none where no listed one will do."""

    model_config = ConfigDict(str_strip_whitespace=True)

    thought: str = Field(description="what was tried, and what has to come next, in a sentence or two")
    numbers: list[int] = Field(
        description="the numbers of the chosen actions, the most promising first", max_length=MOST
    )

    def as_text(self) -> str:
        return f"Thought: {self.thought}\nChosen: {', '.join(map(str, self.numbers)) or NONE}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        thought, chosen = labelled(text, "Thought", "Chosen")
        if chosen != NONE and not NUMBERS.fullmatch(chosen):
            raise MalformedAnswer(f"behind `Chosen:` stand neither numbers with commas between them nor `{NONE}`")
        numbers = [int(digits) for digits in re.findall(r"\d+", chosen)]
        if len(numbers) > MOST:
            raise MalformedAnswer(f"it has {len(numbers)} numbers, and {MOST} are the most")
        return cls(thought=thought, numbers=numbers)

    def among(self, options: Sequence[str], most: int) -> list[str]:
        """The actions, each once. Raises MalformedAnswer for a number that is not listed, and for too many."""
        if wrong := [number for number in self.numbers if not 0 < number <= len(options)]:
            raise MalformedAnswer(f"number {wrong[0]} is not listed; the last one is {len(options)}")
        # Small models repeat a number at nearly every turn. The meaning is clear, and rejecting these answers would
        # leave them without rewards.
        numbers = dict.fromkeys(self.numbers)
        if len(numbers) > most:
            raise MalformedAnswer(f"it has {len(numbers)} numbers, and {most} are the most")
        return [options[number - 1] for number in numbers]


@dataclass(frozen=True)
class Listed:
    """The `narrow` of a choice by schema: at most K numbers, all of listed actions."""

    def __call__(self, fields: ChooseFields) -> type[Chosen]:
        """The answer class for these options and K; cached, so that equal numbers share a class."""
        return _chosen(len(fields.options), fields.most)


@cache
def _chosen(options: int, most: int) -> type[Chosen]:
    number: Any = Annotated[int, Field(ge=1, le=options)]
    field = Field(description=Chosen.model_fields["numbers"].description, max_length=most)
    return create_model("Chosen", __base__=Chosen, numbers=(list[number], field))


# Further instructions of each world, after the content of the paper's three prompts (C.6.2).
OF_WORLD = {
    "alfworld": """
Where nothing here serves the task, choose places that were not looked into yet, and none that turned out to be empty.
""",
    "blocksworld": """
The hand holds one block, and a block can be moved only while none stands on it. Prefer what puts a block where the task
has it; before that, what frees a block that has to move.
""",
    "scienceworld": """
As long as the agent is not where the task goes on, choose the way there. A focus on a wrong thing ends the task with
the loss of all points: choose `focus on` for nothing but the very thing that the task wants, and where the task says
what comes first, not before that is done. Leave out all that the part of the task at hand does not need.
""",
}
# An environment's view without its list of valid actions, which would appear twice.
SEEN = HISTORY.replace(
    "{% if view %}", "{% set seen = view.split('Valid actions: ')[0]|trim %}\n{% if seen %}"
).replace("{{ view }}", "{{ seen }}")


@cache
def choose_prompt(world: str, by_schema: bool = False) -> Prompt:
    """C.6.2's filter: choose at most K of the valid actions. world: its short name."""
    prompt = world_prompt(
        "statefactory/choose.md", ChooseFields, Chosen, world, by_schema, (OBSERVED,),
        (Listing("options", "numbers", by="number", form=Listed()),),
        {"history": SEEN, "world": OF_WORLD.get(world, "")},
    )  # fmt: skip
    return replace(prompt, narrow=Listed()) if by_schema else prompt


class Rated(Fields):
    """A candidate as the agent is shown it: with the reward of Eq. 15, to three decimals."""

    action: str
    reward: float


class RatedFields(ActFields):
    """What ReAct is shown besides: candidates, in the order in which they were chosen."""

    candidates: list[Rated]


@cache
def rewarded_prompt(world: str, by_schema: bool = False) -> Prompt:
    """ReAct's prompt with the candidates' rewards (C.6.2)."""
    listings = (Listing("candidates", "action", text="action", form=act_form), VALID)
    return world_prompt("statefactory/rewarded.md", RatedFields, Act, world, by_schema, (OBSERVED,), listings)
