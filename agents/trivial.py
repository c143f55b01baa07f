"""Agents without any skill, for the floor of a world: they ask no model, and know nothing but what may be done now.

What they score is what the world gives away. An agent of a paper that scores no more has shown nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from agents.environment import Environment
from agents.history import STUCK, History
from agents.play import DEFAULT, Play, Settings, Watch, unwatched
from lab.machine.faults import Unavailable
from lab.models.backbone import Backbone

IDLE = "did nothing"


class NothingListed(Unavailable):
    """An agent that chooses among valid actions was put into a world that lists none. Stops the run."""


def do_nothing(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched
) -> History:
    """End the task before any action."""
    play = Play(environment, backbone, settings, watch)
    play.end(IDLE)
    return play.history


def constant_action(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched,
    *, constant: str,
) -> History:  # fmt: skip
    """Do the same again and again. constant: an action of the environment; for a question, an answer."""
    play = Play(environment, backbone, settings, watch)
    while not play.over:
        play.do(constant)
    return play.history


def first_action(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched
) -> History:
    """Do the first valid action each time. Raises NothingListed."""
    return _listed(Play(environment, backbone, settings, watch), lambda actions: actions[0])


def random_action(
    environment: Environment, backbone: Backbone, settings: Settings = DEFAULT, watch: Watch = unwatched,
    *, seed: int,
) -> History:  # fmt: skip
    """Do a random valid action each time; the same ones for the same seed and task. Raises NothingListed."""
    play = Play(environment, backbone, settings, watch)
    return _listed(play, Random(f"{seed} {play.history.task}").choice)


def _listed(play: Play, choose: Callable[[Sequence[str]], str]) -> History:
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
    return play.history
