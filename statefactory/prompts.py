"""Modules A, B and C: the three questions that StateFactory asks a model at every step.

    A, perceive    the newest observation, merged with the previous state               (Table 9, Eq. 4)
    B, refine      what of it matters to the task, keeping what mattered before         (Table 9, Eq. 4)
    C, interpret   the goal as a state, more and more specific                          (Table 10, Eq. 6)

`modules(level)` returns them for a level of representation (Table 11), which changes only the form of the answer. The
wording is in `statefactory/prompt_texts`. A world's own `instruction` comes last in the rules, and a question's parts
are ordered from the least to the most often changing. So prompts share long prefixes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import Field

from lab.models.answers import AnswerModel
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields, Prompt, Shorten
from statefactory.state import Entity, Group, Level, Values
from statefactory.truncation import shortened

Item = TypeVar("Item")  # Entity, Group or str, by level
Reasoning: TypeAlias = Literal["short", "full"]


class _ModuleFields(Fields, Generic[Item]):
    """What all three may read.

    reasoning: how much is written before the answer; "full" is what Tables 9 and 10 ask for, a citation an object and
    a review of each goal, and "short" a line, which saves most of the tokens. instruction: of the world, empty for
    most. left_out: items of the states that are not shown, for length (`statefactory.truncation`).
    """

    goal: str
    action: str
    values: Values = "sentences"
    reasoning: Reasoning = "short"
    instruction: str = ""
    left_out: int = 0


class PerceiveFields(_ModuleFields[Item], Generic[Item]):
    """What Module A may read besides. None: there is none yet."""

    previous_goal: tuple[Item, ...] | None
    observation: str
    previous_state: tuple[Item, ...] | None


class RefineFields(_ModuleFields[Item], Generic[Item]):
    """What Module B may read besides. state: what Module A saw. action: the latest, all the official program shows."""

    previous_state: tuple[Item, ...] | None
    state: tuple[Item, ...]


class InterpretFields(_ModuleFields[Item], Generic[Item]):
    """What Module C may read besides. state: what Module B kept. previous_goal: None at the paper's step 0."""

    state: tuple[Item, ...]
    observation: str
    previous_goal: tuple[Item, ...] | None


class Perceived(AnswerModel, Generic[Item]):
    """Module A's answer."""

    thinking: str = Field(description="what each object rests on, as the rules say")
    state: tuple[Item, ...] = Field(description="the current state")


class Refined(AnswerModel, Generic[Item]):
    """Module B's answer."""

    state: tuple[Item, ...] = Field(description="the updated state, with what matters to the task and nothing else")


class Interpreted(AnswerModel, Generic[Item]):
    """Module C's answer."""

    thinking: str = Field(description="why each part of the goal is one, as the rules say")
    goal: tuple[Item, ...] = Field(description="the goal state")


class Modules(NamedTuple):
    """The three prompts of one level."""

    perceive: Prompt
    refine: Prompt
    interpret: Prompt


ITEMS: dict[Level, type] = {"textual": str, "object_centric": Group, "object_attribute": Entity}

# Fills `{{ form }}` in the texts: Table 11's definitions and schema, with an example that is from no benchmark.
FORMS: dict[Level, str] = {
    "textual": """
A state is a list of whole English sentences. Each names its subject and states one observable fact, with no guess and
no summary.
Example of the form: ["The kite 3 is in the tree.", "The kite 3 is torn.", "The gate is shut."]
""",
    "object_centric": """
A state is a list of objects. An object is something concrete or abstract that the observations name; its identity is
the name they use. Its statements are whole English sentences, each with its own subject and one fact.
Example of the form: [{"identity": "kite 3", "statements": ["The kite 3 is in the tree.", "The kite 3 is torn."]},
{"identity": "gate", "statements": ["The gate is shut."]}]
""",
    "object_attribute": """
A state is a list of objects. An object is something concrete or abstract that is stated or clearly implied; its
identity is the name used for it. Each attribute is one property: a short telling name, and a value.
{% if values == "sentences" %}
A value is a whole sentence with subject and verb that can be read without the name.
Example of the form: [{"identity": "kite 3", "attributes": [{"name": "location", "value": "The kite 3 is in the tree."},
{"name": "condition", "value": "The kite 3 is torn."}]}, {"identity": "gate", "attributes": [{"name": "status", "value":
"The gate is shut."}]}]
{% else %}
A value is a few words.
Example of the form: [{"identity": "kite 3", "attributes": [{"name": "location", "value": "in the tree"}, {"name":
"condition", "value": "torn"}]}, {"identity": "gate", "attributes": [{"name": "status", "value": "shut"}]}]
{% endif %}
""",
}


@cache
def modules(level: Level) -> Modules:
    """The three prompts of a level. Raises ValueError for "raw", which asks no model."""
    if level not in ITEMS:
        raise ValueError(f"The level {level!r} asks no model; levels that do: {', '.join(ITEMS)}")
    return Modules(
        _prompt(level, "perceive", PerceiveFields, Perceived, shortened("observation", "previous_state")),
        # Module B: the current state repeats what still holds of the previous one.
        _prompt(level, "refine", RefineFields, Refined, shortened("previous_state", "state")),
        _prompt(level, "interpret", InterpretFields, Interpreted, shortened("observation", "state")),
    )


def _prompt(level: Level, operator: str, fields: Any, answer: Any, shorten: Shorten) -> Prompt:
    """Read a prompt text and fill in the level: `form` in the text, the item type in the generic fields and answer."""
    item, form = ITEMS[level], {"form": FORMS[level].strip()}
    prompt = read_prompt(f"statefactory/{operator}.md", fields[item], answer[item], form, shorten=shorten)
    return replace(prompt, name=f"statefactory.{level}.{operator}")
