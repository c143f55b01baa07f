"""What the operators for ScienceWorld ask a model (A.3). What does not change in an episode stands first."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model

from lab.models.prompts import AnswerModel, Fields, Prompt

MOST_JUDGED = 4  # heads of the plan that one verdict may certify
WHOLE = "The score of the task is 100."


Grain = Literal["stage", "change", "action"]
# What a predicate covers (§4.1): a stage of the task, one observable change, what one action does; the most of a plan.
GRAINS: dict[Grain, int] = {"stage": 5, "change": 20, "action": 200}


CONDITIONS = "a list of sentences, in the order in which they become true"


class Done(Fields):
    """An action and the world's answer to it."""

    action: str
    answer: str


class Stuck(Fields):
    """What a new plan is asked for about: the target, how often it failed, and the last attempts at it."""

    target: str
    failed: int
    attempts: list[Done]


class PlanFields(Fields):
    """grain: of GRAINS. rooms: those that can be reached. certified: targets that hold already. refused: actions that
    the world does not know, of the whole episode. stuck: at most one.
    """

    grain: Grain
    task: str
    rooms: list[str]
    room: str
    inventory: str
    certified: list[str]
    refused: list[str]
    stuck: list[Stuck]


class Targets(AnswerModel):
    """Conditions, in the order in which they are to become true."""

    targets: list[str] = Field(description=CONDITIONS, min_length=1)


@cache
def _at_most(most: int) -> type[Targets]:
    about: Any = Field(description=CONDITIONS, min_length=1, max_length=most)
    return create_model("Targets", __base__=Targets, targets=(list[str], about))


def limited(fields: PlanFields) -> type[Targets]:
    """No more conditions than the grain has."""
    return _at_most(GRAINS[fields.grain])


PLAN = Prompt(
    name="sdp.scienceworld.plan",
    version="1",
    operator="propose",
    system="""
You plan in a text world of rooms, things and substances. A plan is a list of conditions on the world that become true
one after another until the task is done: where the agent is, what the inventory holds, what is open, switched on,
focused on, hot or mixed.
{% if grain == "stage" %}
Each is a whole stage of the task, told in a sentence; a few are enough.
{% elif grain == "change" %}
Each is one observable change, told in a sentence.
{% else %}
Each is what a single action brings about, told in a sentence; leave no action out.
{% endif %}
None is an action, and none repeats what holds already. Name no room but those that are listed, and things as the task
or the room names them. Conditions read like these: "The agent is in the workshop.", "The inventory contains the cup.",
"The stove is activated.", "The agent has focused on the cup."
""",
    template="""
Rooms: {{ rooms | join(", ") }}
{{ room }}
{{ inventory }}
{% for one in certified %}
Holds already: {{ one }}
{% endfor %}
{% if refused %}
The world does not know: {{ refused | join("; ") }}
{% endif %}
{% for one in stuck %}
Not reached in {{ one.failed }} attempts: {{ one.target }}
{% for each in one.attempts %}
> {{ each.action }}: {{ each.answer }}
{% endfor %}
{% endfor %}
Task: {{ task }}
""",
    fields=PlanFields,
    answer=Targets,
    narrow=limited,
    retry_temperatures=(0.7,),
)


class ActFields(Fields):
    """What Realize may read (A.3): the room, the inventory, the target, what was done lately, and rooms visited.

    failed: what was done for this target and did not bring it.
    """

    room: str
    inventory: str
    visited: list[str]
    recent: list[Done]
    failed: list[str]
    target: str


class Action(AnswerModel):
    """One action."""

    action: str = Field(description="one of the actions, with the names of things or a room put in")


ACT = Prompt(
    name="sdp.scienceworld.act",
    version="1",
    operator="realize",
    system="""
You act in a text world of rooms, things and substances. Give the one action that makes the condition true or leads to
it.
Actions: go to ROOM, teleport to ROOM, open THING, close THING, pick up THING, put down THING, move THING to THING,
pour THING into THING, dunk THING into THING, mix THING, use THING on THING, activate THING, deactivate THING,
connect THING to THING, disconnect THING, look at THING, look in THING, read THING, eat THING, flush THING,
focus on THING, wait, look around. Focus on a thing only where the condition asks for it: a wrong focus ends everything.
THING is a name that stands in the room or in the inventory. Where the world does not know an action, or it did not
help, give another one.
""",
    template="""
Visited: {{ visited | join(", ") }}
{{ room }}
{{ inventory }}
{% for one in recent %}
> {{ one.action }}: {{ one.answer }}
{% endfor %}
{% if failed %}
Not again, it did not help: {{ failed | join("; ") }}
{% endif %}
Condition: {{ target }}
""",
    fields=ActFields,
    answer=Action,
    retry_temperatures=(0.7,),
)


class JudgeFields(Fields):
    """What Validate may read (A.3): the plan's next targets, the action, the world's answer, the points that it gained,
    and whether the agent entered a room for the first time.
    """

    targets: list[str]
    action: str
    answer: str
    gained: int
    new_room: bool


class Judged(AnswerModel):
    """How many of the conditions hold, from the first on."""

    reason: str = Field(description="why, in at most ten words")
    held: int = Field(description="how many of the conditions hold now, counted from the first", ge=0, le=MOST_JUDGED)


def up_to(fields: JudgeFields) -> type[Judged]:
    """No more conditions than were shown."""
    return _of(len(fields.targets))


@cache
def _of(count: int) -> type[Judged]:
    about: Any = Field(
        description=f"how many of the {count} conditions hold now, counted from the first", ge=0, le=count
    )
    return create_model("Judged", __base__=Judged, held=(int, about))


JUDGE = Prompt(
    name="sdp.scienceworld.judge",
    version="1",
    operator="validate",
    system="""
You check what one action in a text world has brought about. Of a list of conditions, count those that the world's
answer shows to hold, from the first on: 0 where the first one is not shown. A condition that says that the place of
something is known holds when the agent enters a room for the first time.
""",
    template="""
> {{ action }}: {{ answer }}
{% if gained %}
Points gained: {{ gained }}
{% endif %}
{% if new_room %}
The agent has entered this room for the first time.
{% endif %}
{% for one in targets %}
{{ loop.index }}. {{ one }}
{% endfor %}
""",
    fields=JudgeFields,
    answer=Judged,
    narrow=up_to,
)
