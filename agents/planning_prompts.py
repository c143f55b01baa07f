"""Prompts of agents that plan or reflect, in addition to actions: plans, graphs of sub-goals, judgements, lessons.

All show the history as ReAct's prompt does, and then ask. Each has a version in free text and one bound to a schema.
The wording is in `agents/prompt_texts`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from agents.answers import Act, Graph, Judged, Plan, Sentence
from agents.prompts import OBSERVED, VALID, ActFields, world_prompt
from lab.models.prompts import Fields, Prompt

PromptOf = Callable[..., Prompt]  # takes a world's name, and whether answers are bound to a schema


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


@cache
def plan_prompt(world: str, by_schema: bool = False) -> Prompt:
    """Asks for the steps that remain; shows the plan so far, if there is one."""
    return world_prompt("agents/plan.md", ActFields, Plan, world, by_schema)


@cache
def graph_prompt(world: str, by_schema: bool = False) -> Prompt:
    """TDP's supervisor: asks for the sub-goals that remain, and shows reports on those that were worked on."""
    return world_prompt("agents/tdp_graph.md", SubGoalFields, Graph, world, by_schema)


@cache
def sub_goal_prompt(world: str, by_schema: bool = False) -> Prompt:
    """TDP's executor: asks for the next action towards one sub-goal, or for the sub-goal's end."""
    return world_prompt("agents/tdp.md", SubGoalFields, Act, world, by_schema, (OBSERVED,), (VALID,))


@cache
def judge_prompt(world: str, by_schema: bool = False) -> Prompt:
    """Reflexion's evaluator, if the model itself is the evaluator."""
    return world_prompt("agents/judge.md", ActFields, Judged, world, by_schema)


@cache
def lesson_prompt(world: str, by_schema: bool = False) -> Prompt:
    """Reflexion's verbal reflection on a trial that failed."""
    return world_prompt("agents/reflect.md", ActFields, Sentence, world, by_schema)
