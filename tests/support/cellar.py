"""A cellar that moves, hides and ends: the smallest world in which the certified state is not all that Realize needs.

Doors fall shut behind the walker, coins are seen only in the room where they lie, and a pit, the last door and the last
coin that is wanted end the episode. So a rejected action leads on too, and what is certified (the coins in the purse)
does not tell where one stands: the view does. No model is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from lab.models.backbone import Ledger
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings
from sdp.operators import Adapter, Verdict
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.base import EpisodeOver, Step


class Cellar:
    """Rooms from 1 on, before them the stairs, 0. rooms: the coins in each, None for a pit; behind the last one is the
    way out. wanted: coins for a full score.
    """

    def __init__(self, rooms: Iterable[int | None], wanted: int) -> None:
        self.wanted, self.done = wanted, False
        self.room = self.here = self.held = 0
        self._rooms: Iterator[int | None] = iter(rooms)

    def step(self, action: str) -> Step:
        """The world's words after "go on", "take" or "leave". Raises EpisodeOver after the end."""
        if self.done:
            raise EpisodeOver("Nobody is in the cellar any more")
        if action == "take":
            self.held, self.here = self.held + self.here, 0
            self.done = self.held >= self.wanted
            return self._answer(f"You hold {self.held} coins.", held=self.held)
        if action == "go on":
            coins = next(self._rooms, None)
            self.room, self.here, self.done = self.room + 1, coins or 0, coins is None
            return self._answer("You are out of the cellar." if self.done else "The door falls shut behind you.")
        if action == "leave":
            self.room, self.here, self.done = 0, 0, True
            return self._answer("You climb out.")
        return self._answer(f"Nobody here knows how to {action}.")

    def view(self) -> dict[str, Any]:
        """What is seen where one stands."""
        return {"room": self.room, "coins here": self.here, "held": self.held, "score": self.score}

    @property
    def score(self) -> float:
        """The share of the wanted coins that is held."""
        return min(1.0, self.held / self.wanted)

    def _answer(self, text: str, **facts: int) -> Step:
        return Step(text, self.score, self.done, facts=facts)


@dataclass(frozen=True)
class Purse:
    """The certified state: the coins that are certified to be held."""

    coins: int


@dataclass(frozen=True)
class CellarAdapter(Adapter[Purse, str, Step]):
    """SDP's operators for the cellar: one predicate a coin, checked where the world counts them."""

    world: Cellar

    def start(self) -> tuple[Purse, Predicate]:
        return Purse(0), holds(self.world.wanted)

    def propose(self, state: Purse, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        return [holds(coins) for coins in range(state.coins + len(planned) + 1, self.world.wanted + 1)]

    def view(self) -> Mapping[str, Any]:
        return self.world.view()

    def realize(self, state: Purse, target: Predicate, failures: Sequence[Attempt], view: Mapping[str, Any]) -> str:
        return "take" if view["coins here"] or view["held"] >= target.about.get("coins", inf) else "go on"

    def act(self, action: str) -> Step:
        return self.world.step(action)

    def ended(self, observation: Step) -> bool:
        return observation.done

    def validate(self, tail: Sequence[Predicate], observation: Step, failures: Sequence[Attempt]) -> Verdict:
        held = observation.facts.get("held", 0)
        return Verdict(sum(predicate.about.get("coins", 0) <= held for predicate in tail), observation.text)

    def advance(self, state: Purse, certified: Sequence[Predicate], observation: Step) -> Purse:
        return Purse(certified[-1].about.get("coins", state.coins))

    def replan(
        self, state: Purse, goal: Predicate, trajectory: Trajectory, view: Mapping[str, Any]
    ) -> Sequence[Predicate]:
        return trajectory.plans[-1].predicates[trajectory.certified :]

    def finalize(self, state: Purse, goal: Predicate, trajectory: Trajectory, view: Mapping[str, Any]) -> str:
        return "leave"


def holds(coins: int) -> Predicate:
    return Predicate(f"The purse holds {coins} coins.", about={"coins": coins})


@dataclass(frozen=True, kw_only=True)
class Searches(Certifying):
    """The cellar as an experiment."""

    data: str = "synthetic"
    settings: Settings = Settings(step_cap=20)

    method: ClassVar[str] = "sdp-cellar"

    def tasks(self) -> Sequence[str]:
        return [f"search {number}" for number in range(self.limit)]

    def adapter(self, task: str, ledger: Ledger) -> Adapter[Any, Any, Any]:
        return CellarAdapter(Cellar([1, 0, 2, 1, *[0] * 20], wanted=3))
