"""Prompts of the operators for ScienceWorld (A.3); the wording is in `sdp/prompt_texts/scienceworld`.

What does not change during an episode comes first.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lab.models.answers import AnswerModel, limited
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields

MOST_JUDGED = 4  # predicates from the head of the plan that one verdict may certify
RETRIED = (0.7,)  # the temperatures of a repeated prompt: at 0 the answer would be the same
WHOLE = "The score of the task is 100."


Grain = Literal["stage", "change", "action"]
# What a predicate covers (§4.1): a stage of the task, an observable change, or the effect of one action; with the
# largest number of predicates in a plan.
GRAINS: dict[Grain, int] = {"stage": 5, "change": 20, "action": 200}


class ActionTaken(Fields):
    """An action and the world's answer to it."""

    action: str
    answer: str


class FailedAction(Fields):
    """An action that did not bring its target, and why Validate rejected it."""

    action: str
    reason: str


class PlanningFields(Fields):
    """What Propose and Replan read. grain: of GRAINS. rooms: those that can be reached. certified: targets that hold
    already.
    """

    grain: Grain
    task: str
    rooms: list[str]
    room: str
    inventory: str
    certified: list[str]


class PlanFields(PlanningFields):
    """planned: the plan so far. single: whether the next condition alone is wanted (Eq. 1), else all that follow."""

    planned: list[str]
    single: bool


class ReplanFields(PlanningFields):
    """target: that is stuck, after so many failed attempts; the last of them. invalid: targets at which the simulator
    refused an action, of the whole episode (A.3). unknown: the actions that it refused.
    """

    target: str
    failed: int
    attempts: list[FailedAction]
    invalid: list[str]
    unknown: list[str]


class Targets(AnswerModel):
    """Conditions, in the order in which they are to become true."""

    targets: list[str] = Field(description="a list of sentences, in the order in which they become true")


def conditions(least: int, most: int) -> type[Targets]:
    """An answer type for a plan of `least` to `most` conditions."""
    return limited(Targets, "targets", list[str], min_length=least, max_length=most)


def next_targets(fields: PlanFields) -> type[Targets]:
    """An answer type limited to what may follow the plan so far; it needs a condition if nothing is planned."""
    remaining = GRAINS[fields.grain] - len(fields.planned)
    return conditions(0 if fields.planned else 1, 1 if fields.single else remaining)


PLAN = read_prompt("sdp/scienceworld/plan.md", PlanFields, Targets, retry_temperatures=RETRIED, narrow=next_targets)
REPLAN = read_prompt(
    "sdp/scienceworld/replan.md", ReplanFields, Targets, retry_temperatures=RETRIED,
    narrow=lambda fields: conditions(1, GRAINS[fields.grain]),
)  # fmt: skip


class ActFields(Fields):
    """What Realize may read (A.3): the room, the inventory, the target, what was done lately, and rooms visited.

    failed: what was done for this target and did not bring it, and why.
    """

    room: str
    inventory: str
    visited: list[str]
    recent: list[ActionTaken]
    failed: list[FailedAction]
    target: str


class Action(AnswerModel):
    """One action."""

    action: str = Field(description="one of the actions, with the names of things or a room put in")


ACT = read_prompt("sdp/scienceworld/act.md", ActFields, Action, retry_temperatures=RETRIED)


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


def of_shown(fields: JudgeFields) -> type[Judged]:
    """An answer type that certifies at most the conditions that are shown."""
    count = len(fields.targets)
    words = f"how many of the {count} conditions hold now, counted from the first"
    return limited(Judged, "held", int, words, ge=0, le=count)


JUDGE = read_prompt("sdp/scienceworld/judge.md", JudgeFields, Judged, narrow=of_shown)
