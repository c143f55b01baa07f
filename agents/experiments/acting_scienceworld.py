"""Acting agents on ScienceWorld: the tasks and the cap of steps that SDP has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from agents import noise  # noqa: F401  (registers how answers go wrong)
from agents.experiments.acting import Acting
from agents.experiments.scienceworld import Tasks
from agents.play import Settings
from agents.worlds.scienceworld import Visiting
from lab.runs.experiment import NOT_TOLD


@dataclass(frozen=True, kw_only=True)
class Setup(Tasks, Acting):
    """An agent in at most 500 steps, as SDP (A.3). An endpoint's `context` bounds what one of them reads.

    listed: show it the valid actions before each turn. points: tell it those that an action gained, as SDP is told.
    """

    settings: Settings = Settings(steps=500)
    constant: str = field(default="look around", metadata=NOT_TOLD)
    listed: bool = False
    points: bool = True

    method: ClassVar[str] = "acting-scienceworld"
    benchmark: ClassVar[str] = "ScienceWorld"

    def environment(self, task: str) -> Visiting:
        return Visiting(self.world(), self.named(task), self.listed, self.points)

    def solution(self, task: str) -> Sequence[str]:
        return self.path(task)
