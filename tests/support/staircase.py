"""A world of two stairs as an environment of agents: the smallest with something to do and something to get wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.environment import InWorld
from worlds.base import Step, World


@dataclass(frozen=True)
class Climb:
    id: str = "climb"
    goal: str = "Stand on stair 2."


class Staircase(World):
    """`up` climbs a stair; on stair 2 the episode is over."""

    stair = 0

    def tasks(self, split: str) -> list[Climb]:
        return [Climb()]

    def reset(self, task: Any) -> Step:
        self.stair = 0
        return Step("You stand on stair 0.")

    def step(self, action: str) -> Step:
        if action != "up":
            return Step("You cannot do that here.", facts={"refused": action})
        self.stair += 1
        return Step(f"You stand on stair {self.stair}.", self.stair / 2, done=self.stair == 2)

    def close(self) -> None: ...


def staircase() -> InWorld:
    """A climb that is to begin."""
    return InWorld(Staircase(), Climb(), "staircase", "The only action is: up", lambda step: "refused" in step.facts)
