"""The oracle: it stands in for a model where no honest rule can play a world, and knows the solution. Simulated.

It is the same for all worlds and agents. With probability p, the engine `oracle@p` takes the expert's next action.
Otherwise it takes another one, by the noise registered for the world's prompt, or a random valid one if there is none.
Both depend on the seed and on what the agent has seen, turn by turn. Plans, judgements and lessons go wrong at the same
rate. A plan names only the next action: an expert knows what comes next, but not always what comes after it.
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
from lab.models.answers import AnswerModel, FreeText
from lab.models.rules import Corruption
from standins.agents.noise import beside_the_point, left_out, left_unlinked, misjudged
from worlds.benchmark import Expert

Knows = tuple[Callable[[Any], Any], Corruption]  # the answer to a prompt, and its noise
KNOWN = "The next step of a way that is known."
GO_ON, SOME = "Go on from there.", 3  # SOME: actions after which a sub-goal GO_ON reports
AND = " && "  # separates the actions in a report
MOST_SHOWN = 200  # characters of an action, which may hold a whole itinerary


@rules.knows("agents.oracle")
def known(
    environment: Environment, expert: Expert, further: Mapping[PromptOf, Knows] = MappingProxyType({})
) -> rules.Known:
    """Answers to the agents' prompts in this world, from the expert of the episode.

    further: answers to additional prompts.
    """
    valid = partial(another_action, environment)
    sources: dict[PromptOf, Knows] = {
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
    for prompt, (answer, noise) in sources.items():
        for by_schema in (False, True):
            name = prompt(environment.name, by_schema).name
            answers[name], errors[name] = partial(_given, answer, not by_schema), noise
    return rules.Known(answers, errors)


def next_of(expert: Expert, fields: ActFields) -> Act:
    """The expert's next action."""
    return Act(thought=KNOWN, action=expert(_acted(fields)))


def plan_of(expert: Expert, fields: ActFields) -> Plan:
    """The expert's next action, then GO_ON."""
    return Plan(steps=[expert(_acted(fields)), GO_ON])


def graph_of(expert: Expert, fields: SubGoalFields) -> Graph:
    """The same as sub-goals, each after all earlier ones."""
    goals = [step for step in (_next(expert, _reported(fields.reports)), GO_ON) if step]
    numbers = range(fields.first, fields.first + len(goals))
    nodes = [SubGoal(number=n, goal=goal, after=[*range(1, n)]) for n, goal in zip(numbers, goals, strict=True)]
    return Graph(goals=nodes)


def towards(expert: Expert, fields: SubGoalFields) -> Act:
    """The expert's next action after the reported ones; after one, or SOME for GO_ON, a report of these actions."""
    own = _acted(fields)
    if len(own) >= (SOME if fields.now == GO_ON else 1):
        return Act(thought=KNOWN, action=f"done[{AND.join(own)}]")
    action = _next(expert, [*_reported(fields.reports), *own])
    return Act(thought=KNOWN, action=action or "failed[the way that is known is at its end]")


def judged(environment: Environment, fields: ActFields) -> Judged:
    """The verdict by the score."""
    score = environment.result()["score"]
    return Judged(reason=f"The score is {score}.", solved=score >= 1)


def lesson(expert: Expert, fields: ActFields) -> Sentence:
    """The action to begin with."""
    return Sentence(text=f"Begin with {expert([])}"[:MOST_SHOWN])


def another_action(environment: Environment, fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A random other valid action; if there is none, the answer stays as it is."""
    right_action = read(answer, Act).action
    others = [action for action in environment.valid_actions() if action != right_action]
    return written("Something else.", random.choice(others), isinstance(answer, FreeText)) if others else answer


def _given(answer: Callable[[Any], Any], free: bool, fields: ActFields) -> AnswerModel:
    return in_form(answer(fields), free)


def _acted(fields: ActFields) -> list[str]:
    """The actions taken; turns without an action change nothing."""
    return [turn.action for turn in fields.turns if turn.action]


def _reported(reports: Sequence[Report]) -> list[str]:
    return [action for report in reports if not report.failed for action in report.result.split(AND)]


def _next(expert: Expert, actions: Sequence[str]) -> str:
    """The expert's action; "" if it takes the task as finished, as it may when it sees only some of the actions."""
    try:
        return expert(actions)
    except IndexError:
        return ""
