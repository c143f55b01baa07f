"""The stand-in for a model where no honest rule plays a world: it knows how the task is solved. Simulated.

It is the same for all worlds. The engine `oracle@p` takes the expert's next action with probability p, else another one
by the noise that is registered for the world's prompt, and where none is, a valid one at random. Both follow from the
seed and what the agent has seen, turn by turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from random import Random

from agents.environment import Environment
from agents.prompts import ActFields, Past, react_prompt, written
from agents.react import read
from lab.models import rules
from lab.models.prompts import AnswerModel, FreeText

Expert = Callable[[Sequence[Past]], str]  # the turns so far -> the action that it takes next


@contextmanager
def knowing(environment: Environment, expert: Expert) -> Iterator[None]:
    """Within, the engine `oracle` answers the agents' prompts for this world as the expert of the episode."""
    names = {react_prompt(environment.name, by_schema).name: not by_schema for by_schema in (False, True)}
    errors = dict.fromkeys(names, partial(another_action, environment))
    with rules.oracle({name: partial(as_expert, expert, free) for name, free in names.items()}, errors):
        yield


def as_expert(expert: Expert, free: bool, fields: ActFields) -> AnswerModel:
    """The expert's next action, as an answer."""
    return written("The next step of a way that is known.", expert(fields.turns), free)


def another_action(environment: Environment, fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """Another valid action, each as likely; where there is none, nothing can be got wrong."""
    right = read(answer).action
    others = [action for action in environment.valid_actions() if action != right]
    return written("Something else.", random.choice(others), isinstance(answer, FreeText)) if others else answer


def along(path: Sequence[str]) -> Expert:
    """Takes the first action of a path that was not taken yet in its turn; at its end, from the beginning again."""

    def expert(turns: Sequence[Past]) -> str:
        done = 0
        for turn in turns:
            done += turn.action == path[done % len(path)]
        return path[done % len(path)]

    return expert


def from_the_beginning(path: Sequence[str], back: str) -> Expert:
    """Takes the path, and after any other action begins it again. back: the action that leads to its beginning."""

    def expert(turns: Sequence[Past]) -> str:
        taken: list[str] = []
        for turn in turns:
            taken = [] if turn.action == back else [*taken, turn.action]
        return path[len(taken)] if taken == list(path[: len(taken)]) else back

    return expert
