"""The stand-in for a model where no honest rule plays a world: it knows a path that solves the task. Simulated.

It is the same for all worlds. The engine `oracle@p` takes the path's next action with probability p, else another one
by the noise on the world's prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from agents.prompts import ActFields, react_prompt, written
from lab.models import rules
from lab.models.prompts import AnswerModel


@contextmanager
def knowing(world: str, path: Sequence[str]) -> Iterator[None]:
    """Within, the engine `oracle` answers the agents' prompts for this world by a path that solves the task."""
    answers = {False: partial(next_of, path, True), True: partial(next_of, path, False)}
    with rules.oracle({react_prompt(world, by_schema).name: answer for by_schema, answer in answers.items()}):
        yield


def next_of(path: Sequence[str], free: bool, fields: ActFields) -> AnswerModel:
    """The first action of the path that was not done yet in its turn; at its end, from the beginning again."""
    done = 0
    for turn in fields.turns:
        done += turn.action == path[done % len(path)]
    return written(f"Step {done + 1} of a path that is known.", path[done % len(path)], free)
