"""SDP in the corridor as an experiment: walks with seeded dice, scored by the world. No model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lab.models.backbone import Ledger
from sdp.adapters.corridor import Corridor, CorridorAdapter, arrived, rolls
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings
from sdp.trajectory import Trajectory


@dataclass(frozen=True, kw_only=True)
class Walks(Certifying):
    """Walks through a corridor.

    limit: number of walks. rooms: predicates of a plan. faces: of the dice; a step with a face of 2 or more certifies
    that many predicates. looks: see `CorridorAdapter`.
    """

    data: str = "synthetic"
    limit: int = 300
    rooms: int = 6
    faces: tuple[int, ...] = (0, 1, 1, 2, 3)
    looks: bool = True
    settings: Settings = Settings(step_cap=5)

    method: ClassVar[str] = "sdp-corridor"
    benchmark: ClassVar[str] = "corridor"

    def tasks(self) -> Sequence[str]:
        return [f"walk {self.seed}-{number:04d}" for number in range(self.limit)]

    def adapter(self, task: str, ledger: Ledger) -> CorridorAdapter:
        """The dice depend only on the task and the faces, so every condition gets the same dice."""
        dice = rolls(f"{task} {self.faces}", self.faces)
        return CorridorAdapter(Corridor(self.rooms, dice), looks=self.looks)

    def score(self, trajectory: Trajectory) -> float:
        """Whether the walker arrived. The certificate may not show it: without cascade, a step certifies at most one
        predicate.
        """
        return arrived(trajectory)
