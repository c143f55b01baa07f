"""The stand-in for a model where no honest rule plays a world: it knows how the task is solved. Simulated.

It is the same for all worlds and agents. The engine `oracle@p` takes the expert's next action with probability p, else
another one by the noise that is registered for the world's prompt, and where none is, a valid one at random. Plans,
judgements and lessons go wrong alike everywhere. All follows from the seed and what the agent has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import Any

from agents.answers import MOST_STEPS, Act, Graph, Judged, Plan, Sentence, SubGoal, in_form, read
from agents.environment import Environment
from agents.noise import BESIDE_ACTIONS
from agents.planning_prompts import (
    PromptOf,
    SubGoalFields,
    graph_prompt,
    judge_prompt,
    lesson_prompt,
    plan_prompt,
    sub_goal_prompt,
)
from agents.plans import BLANK
from agents.prompts import ActFields, react_prompt
from lab.models import rules
from lab.models.noise import Corruption
from lab.models.prompts import AnswerModel, FreeText

Expert = Callable[[Sequence[str]], Sequence[str]]  # the actions so far -> those that remain, () once all is done
MOST_SHOWN = 200  # characters of an action, which may hold a whole itinerary


@contextmanager
def knowing(environment: Environment, expert: Expert) -> Iterator[None]:
    """Within, the engine `oracle` answers the agents' prompts for this world as the expert of the episode."""
    astray = partial(another_action, environment)
    wrong: dict[PromptOf, Corruption] = {react_prompt: astray, sub_goal_prompt: astray, **BESIDE_ACTIONS}
    answers: dict[str, rules.Rule] = {}
    errors: dict[str, Corruption] = {}
    for prompt, function in ANSWERS.items():
        for by_schema in (False, True):
            name = prompt(environment.name, by_schema).name
            answers[name] = partial(_given, function, expert, not by_schema)
            errors[name] = wrong[prompt]
    with rules.oracle(answers, errors):
        yield


def along(path: Sequence[str]) -> Expert:
    """Takes the first action of a path that was not taken yet in its turn, and then the path again."""

    def expert(actions: Sequence[str]) -> Sequence[str]:
        done = 0
        for action in actions:
            done += action == path[done % len(path)]
        return path[done % len(path) :] if done % len(path) or not done else ()

    return expert


def from_the_beginning(path: Sequence[str], back: str) -> Expert:
    """Takes the path, and after any other action begins it again. back: the action that leads to its beginning."""

    def expert(actions: Sequence[str]) -> Sequence[str]:
        taken: list[str] = []
        for action in actions:
            taken = [] if action == back else [*taken, action]
        return path[len(taken) :] if taken == list(path[: len(taken)]) else [back, *path]

    return expert


def next_of(expert: Expert, fields: ActFields) -> Act:
    """The expert's next action; after the last one, the first one again."""
    remaining = _remaining(expert, fields) or expert(())
    return Act(thought="The next step of a way that is known.", action=remaining[0])


def rest_of(expert: Expert, fields: ActFields) -> Plan:
    """The actions from that one on, as steps."""
    return Plan(steps=list(_remaining(expert, fields) or expert(()))[:MOST_STEPS])


def graph_of(expert: Expert, fields: SubGoalFields) -> Graph:
    """The actions that no report says were done, each after the one before."""
    remaining = expert([one.goal for one in fields.reports if not one.failed]) or expert(())
    steps = enumerate(remaining[:MOST_STEPS], start=fields.first)
    return Graph(goals=[SubGoal(number=at, goal=step, after=[at - 1] if at > 1 else []) for at, step in steps])


def reached(expert: Expert, fields: SubGoalFields) -> Act:
    """The sub-goal's action and then its end; the expert's next action where the sub-goal is blank."""
    if fields.now == BLANK:
        return next_of(expert, fields)
    done = any(turn.action == fields.now for turn in fields.turns)
    return Act(thought="A step of a way that is known.", action="done[as it was said]" if done else fields.now)


def judged(expert: Expert, fields: ActFields) -> Judged:
    """Whether nothing remains."""
    remaining = len(_remaining(expert, fields))
    return Judged(reason=f"{remaining} steps of a way that is known remain.", solved=not remaining)


def lesson(expert: Expert, fields: ActFields) -> Sentence:
    """What to begin with."""
    return Sentence(text=f"Take one step of the way after the other, and begin with {expert(())[0]}"[:MOST_SHOWN])


def another_action(environment: Environment, fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """Another valid action, each as likely; where there is none, nothing can be got wrong."""
    right = read(answer, Act).action
    others = [action for action in environment.valid_actions() if action != right]
    if not others:
        return answer
    return in_form(Act(thought="Something else.", action=random.choice(others)), isinstance(answer, FreeText))


ANSWERS: dict[PromptOf, Callable[[Expert, Any], Any]] = {
    react_prompt: next_of,
    plan_prompt: rest_of,
    graph_prompt: graph_of,
    sub_goal_prompt: reached,
    judge_prompt: judged,
    lesson_prompt: lesson,
}


def _given(function: Callable[[Expert, Any], Any], expert: Expert, free: bool, fields: ActFields) -> AnswerModel:
    return in_form(function(expert, fields), free)


def _remaining(expert: Expert, fields: ActFields) -> Sequence[str]:
    return expert([turn.action for turn in fields.turns])
