"""Agents without any skill (null models): they ask no model, and know only which actions are valid now.

Their score is the floor of a world: what the world gives away. A paper's agent that scores no more has shown nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from agents.history import STUCK
from agents.play import Play
from lab.machine.faults import Unavailable

IDLE = "did nothing"


class NothingListed(Unavailable):
    """An agent that chooses among valid actions was put into a world that lists none. Stops the run."""


def do_nothing(play: Play) -> None:
    """End the task before any action."""
    play.end(IDLE)


def constant_action(play: Play, constant: str) -> None:
    """Repeat one action. constant: an action of the environment; for a question, an answer."""
    while not play.over:
        play.do(constant)


def first_action(play: Play) -> None:
    """Take the first valid action each time. Raises NothingListed."""
    _listed(play, lambda actions: actions[0])


def random_action(play: Play, seed: int) -> None:
    """Take a random valid action each time; the same seed and task give the same actions. Raises NothingListed."""
    _listed(play, Random(f"{seed} {play.history.task}").choice)


def _listed(play: Play, choose: Callable[[Sequence[str]], str]) -> None:
    while not play.over:
        if actions := play.environment.valid_actions():
            play.do(choose(actions))
        elif play.history.turns:
            play.end(STUCK)
        else:
            raise NothingListed(
                f"{play.environment.name} lists no valid actions to choose from: take the agent 'do nothing' or "
                "'constant action' there"
            )
