"""Modules A, B and C: the three questions that StateFactory asks a model at every step.

    A, perceive    what the newest observation says, merged with what was known        (Table 9, Eq. 4)
    B, refine      what of that matters to the task, without losing what mattered      (Table 9, Eq. 4)
    C, interpret   what must hold in the end: the goal as a state, ever more specific  (Table 10, Eq. 6)

`modules(level)` has them for a level of representation (Table 11): the rules stay, the form of the answer changes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import Field

from lab.models.prompts import AnswerModel, Fields, Prompt, Shorten
from statefactory.state import Entity, Group, Level, Values
from statefactory.truncation import shorter_interpret, shorter_perceive, shorter_refine

Item = TypeVar("Item")  # Entity, Group or str: what a state of the level is made of
Reasoning: TypeAlias = Literal["short", "full"]
VERSION = "2"


class _Given(Fields, Generic[Item]):
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


class PerceiveFields(_Given[Item], Generic[Item]):
    """What Module A may read besides. None: there is none yet."""

    previous_goal: tuple[Item, ...] | None
    observation: str
    previous_state: tuple[Item, ...] | None


class RefineFields(_Given[Item], Generic[Item]):
    """What Module B may read besides. state: what Module A saw. action: the latest, all the official program shows."""

    previous_state: tuple[Item, ...] | None
    state: tuple[Item, ...]


class InterpretFields(_Given[Item], Generic[Item]):
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

# The form of a state at each level: Table 11's definitions and schema, and an example of the form from no benchmark.
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

PERCEIVE = """
You keep track of the world for an agent. From its newest observation you write down the current state.

- Sources: the observation and the previous state, and nothing else. The task and the previous goal state tell you what
  to look for; they are forbidden as sources. What stands only in the goal has not been seen: leave it out.
- Relevance: write down objects that help to do the task or to understand how far it has come; leave out the rest.
- The observation is what the agent's action led to. It may be empty.
- Seen again: an object of the previous state that the observation mentions gets the newest information.
- Persistence: an object of the previous state that the observation does not mention stays as it was.
- An object that is neither in the observation nor in the previous state does not belong to the current state.
{% if reasoning == "full" %}
- In `thinking`, go through the objects one by one: cite the exact phrase of the observation that the object's state
  rests on, and make sure that the object stands in the observation or in the previous state. Then name what stands
  only in the previous goal state, and reject it.
{% else %}
- In `thinking`, say in one short line which words each object rests on; drop what only the goal speaks of.
{% endif %}
"""
REFINE = """
You tidy the state that is kept of a world, so that it holds what matters to the task.

- From the current state take facts that bear on whether the task can be completed, directly or clearly through
  something else. When in doubt leave a fact out, and leave out whatever is no fact. Take nothing from the task itself.
- Join them with the previous state. Without a previous state, the facts taken are the answer.
- Keep what still matters, also where it was only a step on the way or has in part been overtaken: it shows how things
  came to be. Replace or remove a fact only where it is outdated, or was wrong, about the same property of the same
  object; then keep what is newest and most exact.
- A more detailed fact is no reason to drop another that still tells something.
- The action tells what has just been done.
"""
INTERPRET = """
You state what success at a task looks like: the goal state, the few facts that must hold when the task is done.

- A goal is a fact that must be true at the moment of success because the task says so, in words or by clear
  implication. Every milestone that the task lists counts ("first do A, then do B").
- A plan is a step, a precondition or an obstacle that you work out yourself. Plans are forbidden in the goal state.
- With no previous goal state (the first step), translate the whole task: each verb of the goal and each milestone into
  the fact that it ends in, for every object that the task speaks of. Leave out what holds without anything being done.
- With a previous goal state, keep all of it until the end, also what has been achieved, and add nothing, with two
  exceptions. Milestone: where the observation confirms one part of a task of several parts, the facts of the next part
  may be added if they are missing. Anchoring: where a goal speaks of a kind of thing and the observation first shows
  the very object, its name replaces the kind.
- When you anchor, take over the name alone; other properties of the object are goals only if the task asks for them.
- The task alone says what is wanted. The observation serves for anchoring, and may show what the task takes for
  granted. The current state and the action help with wording and bring in no goal. A fact that merely happens to be
  true now is no goal.
{% if reasoning == "full" %}
- In `thinking`, go step by step. First work out from the task when it counts as done. Then go through the goal's
  attributes one by one: cite the words of the task that ask for each, and reject what is there only because it is true
  in the current state.
{% else %}
- In `thinking`, say in one short line which words of the task ask for each part of the goal.
{% endif %}
"""
# The last of what stays the same: prompts of one operator share all that stands before it, whatever the world.
WORLD = "{% if instruction %}{{ '\\n\\n' + instruction }}{% endif %}"

# From what changes least from step to step to what always does.
_SEEN = """
Task: {{ goal }}
Previous goal state: {{ previous_goal | json }}
Previous state: {{ previous_state | json }}
{% if left_out %}
(Oldest items of the state left out for length: {{ left_out }})
{% endif %}
Action: {{ action }}
Observation: {{ observation or "None" }}
"""
_MERGED = """
Task: {{ goal }}
Previous state: {{ previous_state | json }}
{% if left_out %}
(Oldest items of the states left out for length: {{ left_out }})
{% endif %}
Action: {{ action }}
Current state: {{ state | json }}
"""
_GOAL = """
Task: {{ goal }}
Previous goal state: {{ previous_goal | json }}
Current state: {{ state | json }}
{% if left_out %}
(Oldest items of the state left out for length: {{ left_out }})
{% endif %}
Action: {{ action }}
Observation: {{ observation or "None" }}
"""


@cache
def modules(level: Level) -> Modules:
    """The three prompts for a level. Raises ValueError for "raw", which asks no model."""
    if level not in ITEMS:
        raise ValueError(f"The level {level!r} asks no model; levels that do: {', '.join(ITEMS)}")
    return Modules(
        _prompt(level, "perceive", PERCEIVE, _SEEN, PerceiveFields, Perceived, shorter_perceive),
        _prompt(level, "refine", REFINE, _MERGED, RefineFields, Refined, shorter_refine),
        _prompt(level, "interpret", INTERPRET, _GOAL, InterpretFields, Interpreted, shorter_interpret),
    )


def _prompt(
    level: Level, operator: str, rules: str, template: str, fields: Any, answer: Any, shorten: Shorten
) -> Prompt:  # fmt: skip
    """fields, answer: generic models, filled in here with the level's kind of item."""
    item, system = ITEMS[level], f"{rules.strip()}\n\n{FORMS[level].strip()}{WORLD}"
    name = f"statefactory.{level}.{operator}"
    return Prompt(name, VERSION, operator, system, template, fields[item], answer[item], shorten=shorten)
