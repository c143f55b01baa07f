"""Prompts of the agents; the wording is in `agents/prompt_texts`.

Evidence comes first, so that what several questions share is read once. The form of a free-text answer comes last:
small models forget a form that comes before a long history. It is described in prose, since they copy samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

from pydantic import Field

from agents.answers import Act, Sentence, in_form
from lab.models.answers import AnswerModel, FreeText, Listing
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields, Prompt

BY_SCHEMA = "schema"


class QuestionFields(Fields):
    """evidence: texts to answer from; "" for none, a closed book. form: how to answer, as text."""

    evidence: str
    question: str
    form: str


class Said(AnswerModel):
    """The answer."""

    answer: str = Field(description="the answer, in as few words as possible")


class Reasoned(AnswerModel):
    """What leads to the answer, and the answer."""

    reasoning: str = Field(description="what follows from what, step by step, in at most four short sentences")
    answer: str = Field(description="the answer, in as few words as possible")


DIRECT = read_prompt("agents/direct.md", QuestionFields, Said)
CHAIN_OF_THOUGHT = read_prompt("agents/chain_of_thought.md", QuestionFields, Reasoned)


class ThinkFields(QuestionFields):
    """thoughts: the sentences so far, in order."""

    thoughts: list[str]


ENDING = "So the answer is:"


@cache
def think_prompt(by_schema: bool = False) -> Prompt:
    """Asks for the next sentence of a chain of thought, which is searched for next (IRCoT, Trivedi et al. 2023)."""
    prompt = read_prompt(
        "agents/interleave.md", ThinkFields, Sentence if by_schema else FreeText, retry_temperatures=(0.3, 0.6),
        stop=() if by_schema else ("\n\n",),
    )  # fmt: skip
    return replace(prompt, name=f"{prompt.name}.{BY_SCHEMA}") if by_schema else prompt


class Past(Fields):
    """A turn as the model is shown it. said: an answer that could not be read, in place of thought and action."""

    thought: str = ""
    action: str = ""
    said: str = ""
    observation: str


class ActFields(Fields):
    """What an acting agent may read. tools: the actions as text. turns: oldest first. view: what can be seen now.

    left_out: how many turns before these are not shown. What ReAct is not shown: plan, lessons of earlier trials, and
    now, the one thing to do.
    """

    tools: str
    task: str
    turns: list[Past]
    view: str = ""
    left_out: int = 0
    plan: list[str] = []
    lessons: list[str] = []
    now: str = ""

    @property
    def seen(self) -> str:
        """What was observed last: the task with its first observation before any turn."""
        return self.turns[-1].observation if self.turns else self.task


def act_form(fields: Fields) -> type[Act]:
    """The type that an action in free text is parsed into."""
    return Act


# Valid actions, which some worlds list at the end of their view.
VALID = Listing("view", "action", parted=("Valid actions: ", "; "), form=act_form)
OBSERVED = "\nObservation:"  # stop here: a model that goes on would invent what it observes
CUT_OFF = " [cut off]"
# How prompts show the history: `{{ history }}` in their texts.
HISTORY = """{{ task }}
{% if left_out %}
({{ left_out }} earlier turns are left out)
{% endif %}
{% for turn in turns %}

{% if turn.action %}
Thought: {{ turn.thought }}
Action: {{ turn.action }}
{% else %}
{{ turn.said }}
{% endif %}
Observation: {{ turn.observation }}
{% endfor %}
{% if view %}

{{ view }}
{% endif %}
{% if lessons %}

What earlier trials at this task taught:
{% for lesson in lessons %}
- {{ lesson }}
{% endfor %}
{% endif %}
{% if plan %}

The plan:
{% for step in plan %}
{{ loop.index }}. {{ step }}
{% endfor %}
{% endif %}
{% if now %}

Only this is to be done now, by the actions that there are: {{ now }}
{% endif %}"""


def without_oldest(fields: ActFields, characters_over: int) -> ActFields | None:
    """Drop as many of the oldest turns as needed; if one is left, truncate its observation; None if nothing is left."""
    count, freed, turns = 0, 0, fields.turns
    while count < len(turns) - 1 and freed < characters_over:
        freed += sum(map(len, turns[count].model_dump().values()))
        count += 1
    if count:
        return fields.model_copy(update={"turns": turns[count:], "left_out": fields.left_out + count})
    observation = turns[0].observation.removesuffix(CUT_OFF) if turns else ""
    if not observation:
        return None
    shortened = observation[: max(0, len(observation) - characters_over - len(CUT_OFF))] + CUT_OFF
    return fields.model_copy(update={"turns": [turns[0].model_copy(update={"observation": shortened})]})


def world_prompt(
    file: str,
    fields: type[ActFields],
    answer: type[AnswerModel],
    world: str,
    by_schema: bool,
    stop: tuple[str, ...] = (),
    listings: tuple[Listing, ...] = (),
    parts: Mapping[str, str] = MappingProxyType({}),
) -> Prompt:
    """The prompt of a text file for a world by its short name; rules and noise are registered for each world.

    by_schema: whether the answer is bound to its schema; else it is free text, which ends at one of `stop`.
    file, parts: see `read_prompt`; the part `history` is HISTORY by default.
    """
    prompt = read_prompt(
        file, fields, answer if by_schema else FreeText, {"history": HISTORY, **parts},
        stop=() if by_schema else stop, listings=listings, shorten=without_oldest,
    )  # fmt: skip
    return replace(prompt, name=f"{prompt.name}.{world}{f'.{BY_SCHEMA}' if by_schema else ''}")


@cache
def react_prompt(world: str, by_schema: bool = False) -> Prompt:
    """ReAct's prompt (Yao et al. 2022) for a world, without examples.

    Agents that plan or reflect use the same prompt for actions, with the plan or the lessons next to the history. So
    neither rules nor noise know which method asks.
    """
    return world_prompt("agents/react.md", ActFields, Act, world, by_schema, (OBSERVED,), (VALID,))


def written(thought: str, action: str, free: bool = True) -> AnswerModel:
    """A thought and an action as ReAct's prompt asks for them; rules and noise answer with it."""
    return in_form(Act(thought=thought, action=action), free)
