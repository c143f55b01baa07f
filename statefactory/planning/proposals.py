"""Who proposes the actions that a tree search looks at: a model, or the world's list of valid actions (C.6.3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple, Protocol

from agents.prompts import Past
from agents.stand_in import Expert
from lab.models.backbone import Backbone
from lab.models.noise import Corruption
from lab.models.parsing import MalformedAnswer
from lab.models.rules import Rule
from statefactory.planning.paths import Path
from statefactory.planning.pool import Pool
from statefactory.planning.prompts import MOST_PROPOSED, Proposed, ProposeFields, propose_prompt

TRIES = 3  # at an answer that can be read


class Proposer(Protocol):
    """Proposes actions."""

    def actions(self, path: Path, count: int) -> list[str]:
        """At most `count` different actions to try after the path, 0 for all there are; the same for the same path."""
        ...


class Prompted:
    """A model that takes stock before it proposes; told the actions in words, the goal and the path."""

    def __init__(self, backbone: Backbone, world: str, tools: str) -> None:
        """world: its short name, which prompts are named after. tools: its actions in words."""
        self.backbone, self.world, self.tools = backbone, world, tools

    def actions(self, path: Path, count: int) -> list[str]:
        """None where no answer could be read. Raises ValueError for a count of 0, since a model could go on for ever."""
        if not 0 < count <= MOST_PROPOSED:
            raise ValueError(f"width={count}: a model is asked for 1 to {MOST_PROPOSED} actions")
        for sample in range(TRIES):
            try:
                answer = self.backbone.ask(
                    propose_prompt(self.world), sample, tools=self.tools, goal=path.goal, first=path.first,
                    steps=path.steps, count=count,
                )  # fmt: skip
            except MalformedAnswer:
                continue
            told = (" ".join(action.split()) for action in answer.value.actions)
            return list(dict.fromkeys(filter(None, told)))[:count]
        return []


class Listed:
    """The world's valid actions, shuffled; privileged as far as a world does not list them to an agent."""

    def __init__(self, pool: Pool, seed: int = 0) -> None:
        self.pool, self.seed = pool, seed

    def actions(self, path: Path, count: int) -> list[str]:
        """Shuffled by seed and path, so that a search that is resumed sees them in the same order. Raises WorldDied."""
        found = list(self.pool.valid_actions(path.actions))
        Random(f"{self.seed} {path.actions}").shuffle(found)
        return found[:count] if count else found


class StandIn(NamedTuple):
    """What answers a proposer's prompt for the engine `oracle`, and how it goes wrong; for `lab.models.rules.oracle`."""

    prompt: str
    rule: Rule
    noise: Corruption


def stand_in(world: str, expert: Expert, listed: Callable[[Path, int], list[str]]) -> StandIn:
    """A proposer that knows how the task is solved. Simulated.

    It names the expert's next action and, beside it, valid ones at random; by noise, the latter alone. listed: such as
    `Listed.actions`.
    """
    return StandIn(propose_prompt(world).name, partial(_knowing, expert, listed), partial(_led_astray, listed))


def _knowing(expert: Expert, listed: Callable[[Path, int], list[str]], fields: ProposeFields) -> Proposed:
    try:
        first = [expert([Past(action=action, observation=seen) for action, seen in fields.steps])]
    except IndexError:
        first = []  # it believes that it has arrived
    return _proposed(list(dict.fromkeys([*first, *_valid(listed, fields)]))[: fields.count])


def _led_astray(
    listed: Callable[[Path, int], list[str]], fields: ProposeFields, right: Proposed, random: Random
) -> Proposed:
    others = [action for action in _valid(listed, fields) if action != right.actions[0]]
    return _proposed(random.sample(others, min(fields.count, len(others)))) if others else right


def _valid(listed: Callable[[Path, int], list[str]], fields: ProposeFields) -> list[str]:
    return listed(Path(fields.goal, fields.first, fields.steps), 0)


def _proposed(actions: list[str]) -> Proposed:
    return Proposed(
        held="not noted", place="not noted", usable=[], aim="A step of a way that is known.", actions=actions
    )
