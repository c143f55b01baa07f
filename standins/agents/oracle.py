"""The stand-in for a model where no honest rule plays a world: it knows how the task is solved. Simulated.

It is the same for all worlds and agents. The engine `oracle@p` takes the expert's next action with probability p, else
another one by the noise that is registered for the world's prompt, and where none is, a valid one at random. Both
follow from the seed and what the agent has seen, turn by turn. Plans, judgements and lessons go wrong at the same rate.
A plan names no more than the next action: an expert knows what comes next, and not always what comes then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from types import MappingProxyType
from typing import Any

from agents.answers import Act, Graph, Judged, Plan, Sentence, SubGoal, in_form, read
from agents.environment import Environment
from agents.planning_prompts import (
    PromptOf,
    Report,
    SubGoalFields,
    graph_prompt,
    judge_prompt,
    lesson_prompt,
    plan_prompt,
    sub_goal_prompt,
)
from agents.prompts import ActFields, react_prompt, written
from lab.models import rules
from lab.models.prompts import AnswerModel, FreeText
from lab.models.rules import Corruption
from standins.agents.noise import beside_the_point, left_out, left_unlinked, misjudged
from worlds.benchmark import Expert

Knows = tuple[Callable[[Any], Any], Corruption]  # how it answers a prompt, and how that goes wrong
KNOWN = "The next step of a way that is known."
GO_ON, SOME = "Go on from there.", 3  # actions that a sub-goal to go on has
AND = " && "  # between the actions that a report names
MOST_SHOWN = 200  # characters of an action, which may hold a whole itinerary


@rules.knows("agents.oracle")
def known(
    environment: Environment, expert: Expert, further: Mapping[PromptOf, Knows] = MappingProxyType({})
) -> rules.Known:
    """The answers to the agents' prompts for this world, by the expert of the episode.

    further: other prompts that it answers, too.
    """
    valid = partial(another_action, environment)
    ways: dict[PromptOf, Knows] = {
        react_prompt: (partial(next_of, expert), valid),
        plan_prompt: (partial(plan_of, expert), left_out),
        graph_prompt: (partial(graph_of, expert), left_unlinked),
        sub_goal_prompt: (partial(towards, expert), valid),
        judge_prompt: (partial(judged, environment), misjudged),
        lesson_prompt: (partial(lesson, expert), beside_the_point),
        **further,
    }
    answers: dict[str, rules.Rule] = {}
    errors: dict[str, Corruption] = {}
    for prompt, (answer, wrong) in ways.items():
        for by_schema in (False, True):
            name = prompt(environment.name, by_schema).name
            answers[name], errors[name] = partial(_given, answer, not by_schema), wrong
    return rules.Known(answers, errors)


def next_of(expert: Expert, fields: ActFields) -> Act:
    """The expert's next action."""
    return Act(thought=KNOWN, action=expert(_acted(fields)))


def plan_of(expert: Expert, fields: ActFields) -> Plan:
    """The expert's next action, and to go on."""
    return Plan(steps=[expert(_acted(fields)), GO_ON])


def graph_of(expert: Expert, fields: SubGoalFields) -> Graph:
    """The same as sub-goals, each after all that was done."""
    goals = [step for step in (_next(expert, _reported(fields.reports)), GO_ON) if step]
    numbers = range(fields.first, fields.first + len(goals))
    nodes = [SubGoal(number=at, goal=goal, after=[*range(1, at)]) for at, goal in zip(numbers, goals, strict=True)]
    return Graph(goals=nodes)


def towards(expert: Expert, fields: SubGoalFields) -> Act:
    """The expert's next action by the reports that are shown; after one or some, a report that names them."""
    own = _acted(fields)
    if len(own) >= (SOME if fields.now == GO_ON else 1):
        return Act(thought=KNOWN, action=f"done[{AND.join(own)}]")
    action = _next(expert, [*_reported(fields.reports), *own])
    return Act(thought=KNOWN, action=action or "failed[the way that is known is at its end]")


def judged(environment: Environment, fields: ActFields) -> Judged:
    """What the score says."""
    score = environment.result()["score"]
    return Judged(reason=f"The score is {score}.", solved=score >= 1)


def lesson(expert: Expert, fields: ActFields) -> Sentence:
    """What to begin with."""
    return Sentence(text=f"Begin with {expert([])}"[:MOST_SHOWN])


def another_action(environment: Environment, fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """Another valid action, each as likely; where there is none, nothing can be got wrong."""
    right = read(answer, Act).action
    others = [action for action in environment.valid_actions() if action != right]
    return written("Something else.", random.choice(others), isinstance(answer, FreeText)) if others else answer


def _given(answer: Callable[[Any], Any], free: bool, fields: ActFields) -> AnswerModel:
    return in_form(answer(fields), free)


def _acted(fields: ActFields) -> list[str]:
    """What was done; turns without an action change nothing."""
    return [turn.action for turn in fields.turns if turn.action]


def _reported(reports: Sequence[Report]) -> list[str]:
    return [action for one in reports if not one.failed for action in one.result.split(AND)]


def _next(expert: Expert, actions: Sequence[str]) -> str:
    """The expert's action; "" where it believes that it has arrived, as one may who sees a part of the actions."""
    try:
        return expert(actions)
    except IndexError:
        return ""
