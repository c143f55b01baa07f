"""The stand-in for a model where no honest rule plays a world: it knows a path that solves the task. Simulated.

It is the same for all worlds and agents. The engine `oracle@p` takes the path's next action with probability p, else
another one by the noise on the world's prompt; plans, judgements and lessons go wrong alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from agents.answers import MOST_STEPS, Act, Graph, Judged, Plan, Sentence, SubGoal, in_form
from agents.planning_prompts import (
    PromptOf,
    SubGoalFields,
    graph_prompt,
    judge_prompt,
    lesson_prompt,
    plan_prompt,
    sub_goal_prompt,
)
from agents.prompts import ActFields, react_prompt
from lab.models import rules
from lab.models.prompts import AnswerModel

Path = Sequence[str]
MOST_SHOWN = 200  # characters of an action, which may hold a whole itinerary


@contextmanager
def knowing(world: str, path: Path) -> Iterator[None]:
    """Within, the engine `oracle` answers the agents' prompts for this world by a path that solves the task."""
    answers: dict[str, rules.Rule] = {
        prompt(world, by_schema).name: partial(_given, function, path, not by_schema)
        for prompt, function in ANSWERS.items()
        for by_schema in (False, True)
    }
    with rules.oracle(answers):
        yield


def next_of(path: Path, fields: ActFields) -> Act:
    """The first action of the path that was not done yet in its turn; at its end, from the beginning again."""
    done = _passed(path, [turn.action for turn in fields.turns])
    return Act(thought=f"Step {done + 1} of a path that is known.", action=path[done % len(path)])


def rest_of(path: Path, fields: ActFields) -> Plan:
    """The actions of the path from that one on, as steps."""
    return Plan(steps=_rest(path, [turn.action for turn in fields.turns]))


def graph_of(path: Path, fields: SubGoalFields) -> Graph:
    """The actions of the path from the first one that no report says was done, each after the one before."""
    steps = enumerate(_rest(path, [one.goal for one in fields.reports if not one.failed]), start=fields.first)
    return Graph(goals=[SubGoal(number=at, goal=step, after=[at - 1] if at > 1 else []) for at, step in steps])


def reached(path: Path, fields: SubGoalFields) -> Act:
    """The sub-goal's action and then its end; the path where the sub-goal is blank."""
    if fields.now not in path:
        return next_of(path, fields)
    done = any(turn.action == fields.now for turn in fields.turns)
    return Act(thought="A step of a path that is known.", action="done[as it was said]" if done else fields.now)


def judged(path: Path, fields: ActFields) -> Judged:
    """Whether the whole path was gone."""
    done = _passed(path, [turn.action for turn in fields.turns])
    return Judged(reason=f"{done} steps of {len(path)} were done in their turn.", solved=done >= len(path))


def lesson(path: Path, fields: ActFields) -> Sentence:
    """What to begin with."""
    return Sentence(text=f"Take one step of the path after the other, and begin with {path[0]}"[:MOST_SHOWN])


ANSWERS: dict[PromptOf, Callable[[Path, Any], Any]] = {
    react_prompt: next_of,
    plan_prompt: rest_of,
    graph_prompt: graph_of,
    sub_goal_prompt: reached,
    judge_prompt: judged,
    lesson_prompt: lesson,
}


def _given(function: Callable[[Path, Any], Any], path: Path, free: bool, fields: ActFields) -> AnswerModel:
    return in_form(function(path, fields), free)


def _passed(path: Path, actions: Sequence[str]) -> int:
    done = 0
    for action in actions:
        done += action == path[done % len(path)]
    return done


def _rest(path: Path, actions: Sequence[str]) -> list[str]:
    return [*path[_passed(path, actions) % len(path) :]][:MOST_STEPS]
