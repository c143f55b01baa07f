"""What agents that plan or reflect ask a model, beside actions: plans, graphs of sub-goals, judgements, lessons.

All show the history as ReAct's prompt does, and then ask; each has a version in free text and one bound to a schema.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from agents.answers import MOST_STEPS, MOST_WORDS, Act, Graph, Judged, Plan, Sentence
from agents.history import ACT
from agents.prompts import BY_SCHEMA, FORM, OBSERVED, REACTING, TURNS, VALID, ActFields, without_oldest
from lab.models.prompts import AnswerModel, Fields, FreeText, Prompt

PromptOf = Callable[..., Prompt]  # of a world's name, and whether answers are bound to a schema


class Report(Fields):
    """What became of a sub-goal. result: what was found or done, or why it was not reached."""

    number: int
    goal: str
    result: str
    failed: bool = False


class SubGoalFields(ActFields):
    """now: the sub-goal. reports: of those whose results it needs; all for the supervisor. first: the next number."""

    reports: list[Report] = []
    first: int = 1


PLANNING = """
You plan how a task in an environment is solved; the plan is then carried out one action at a time, and you may be
asked for another one when more is known. First make out what the task asks for, and which names, dates and numbers it
gives. Then write the steps that are still to be taken, in their order. A step is one thing to find out or to do by the
actions below, with the names that it needs, and makes sense to somebody who reads this step alone. Leave out what was
done already, and leave out nothing else; the last step is the one that ends the task.
"""
PLAN_FORM = f"""
Answer with numbered lines and nothing else, one step each, at most {MOST_STEPS}; the first begins with `1. `."""
SUPERVISING = """
You break a task in an environment into sub-goals. For each of them somebody acts who sees the task, this sub-goal and
the results of those that it comes after, and nothing else. So say with each sub-goal what is to be found or done, with
all names that it needs, and refer to the result of sub-goal 1 as #1. It comes after those whose results it needs, and
after no others. One that failed is planned anew, in another way. The last sub-goal ends the task.
"""
GRAPH_FORM = f"""
Answer with numbered lines and nothing else, one sub-goal each, at most {MOST_STEPS}; the first begins with
`{{{{ first }}}}. `. A line about a sub-goal that needs results ends with whose they are, such as: (after 1, 2)"""
REPORTING = """
You are responsible for one sub-goal of the task alone, and others for the rest of it. Two more actions end your part:
done[RESULT] once the sub-goal is reached, with what was found or done, in a few words.
failed[REASON] where it cannot be reached.
"""
REPORTS = """
{% if reports %}

{% for report in reports %}
Sub-goal {{ report.number }} ({{ report.goal }}) {{ "failed" if report.failed else "brought" }}: {{ report.result }}
{% endfor %}
{% endif %}"""
JUDGING = """
You judge whether an attempt at a task in an environment solved it. You know what is shown and nothing else: hold what
was done against each thing that the task asks for, and say yes only where all of it was done, and follows from what
was observed.
"""
JUDGE_FORM = """
Answer with two lines and nothing else. The first begins with `Reason:` and says what the task asks for, and whether it
was done. The second is `Solved: yes` or `Solved: no`."""
REFLECTING = """
An attempt at a task in an environment did not solve it, and there will be another one from the beginning. Say what went
wrong first, and what the next attempt is to do in its place, with the names of things: a lesson for whom the attempt
itself is not shown.
"""
LESSON_FORM = f"""
Answer with one line of at most {MOST_WORDS} characters, and nothing else."""


@cache
def plan_prompt(world: str, by_schema: bool = False) -> Prompt:
    """The steps that are still to be taken; the plan so far is shown, where there is one."""
    ask = "\n\nWrite the plan of what is still to be done."
    return _prompt("plan", "plan", PLANNING, PLAN_FORM, ask, ActFields, Plan, world, by_schema)


@cache
def graph_prompt(world: str, by_schema: bool = False) -> Prompt:
    """TDP's supervisor: the sub-goals that are still to be reached, after reports of those that were worked on."""
    ask = f"{REPORTS}\n\nWrite the sub-goals that are still to be reached, numbered on from {{{{ first }}}}."
    return _prompt("tdp_graph", "supervise", SUPERVISING, GRAPH_FORM, ask, SubGoalFields, Graph, world, by_schema)


@cache
def sub_goal_prompt(world: str, by_schema: bool = False) -> Prompt:
    """TDP's executor: the next action towards one sub-goal, or its end."""
    system = REACTING + REPORTING
    return _prompt("tdp", ACT, system, FORM, REPORTS, SubGoalFields, Act, world, by_schema, (OBSERVED,))


@cache
def judge_prompt(world: str, by_schema: bool = False) -> Prompt:
    """Reflexion's evaluator, where the model itself is one."""
    ask = "\n\nDid this attempt solve the task?"
    return _prompt("judge", "judge", JUDGING, JUDGE_FORM, ask, ActFields, Judged, world, by_schema)


@cache
def lesson_prompt(world: str, by_schema: bool = False) -> Prompt:
    """Reflexion's verbal reflection on a trial that failed."""
    ask = "\n\nWrite the lesson for the next attempt."
    return _prompt("reflect", "reflect", REFLECTING, LESSON_FORM, ask, ActFields, Sentence, world, by_schema)


def _prompt(
    name: str, operator: str, system: str, form: str, ask: str, fields: type[Fields], answer: type[AnswerModel],
    world: str, by_schema: bool, stop: tuple[str, ...] = (),
) -> Prompt:  # fmt: skip
    form = "" if by_schema else form
    about: dict[str, Any] = {"shorten": without_oldest, "stop": () if by_schema else stop}
    about["listings"] = (VALID,) if answer is Act else ()
    return Prompt(
        f"agents.{name}.{world}{f'.{BY_SCHEMA}' if by_schema else ''}", "1", operator,
        system + "\n{{ tools }}", TURNS + ask + form, fields, answer if by_schema else FreeText, **about,
    )  # fmt: skip
