"""ScienceWorld as a benchmark, by SwiftSage's protocol of 30 task types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

from lab.runs.experiment import BadSetting, spread
from worlds.benchmark import Benchmark
from worlds.scienceworld.expert import Expert
from worlds.scienceworld.synthetic import synthetic_paths
from worlds.scienceworld.tasks import LENGTHS, ScienceTask, name_and_variation
from worlds.scienceworld.world import ScienceWorld


@dataclass(frozen=True, kw_only=True)
class ScienceWorldTasks(Benchmark):
    """The first ten test variations of each type.

    data: "synthetic" takes, of these, the tasks whose gold paths come with the suite, where there are such. lengths:
    groups of LENGTHS. simplification: as for `worlds.scienceworld.load`; the protocol's is "easy".
    """

    lengths: tuple[str, ...] = tuple(LENGTHS)
    simplification: str = "easy"

    benchmark: ClassVar[str] = "ScienceWorld"
    package: ClassVar[str] = "scienceworld"
    reported: ClassVar[str] = "protocol"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "lengths", "simplification")

    def options(self) -> dict[str, Any]:
        return {"simplification": self.simplification, "list_actions": False}

    def decided(self) -> Self:
        """With `data` decided. Raises BadSetting for a group of lengths that there is not."""
        if unknown := [name for name in self.lengths if name not in LENGTHS] or ([""] if not self.lengths else []):
            raise BadSetting(f"No length {unknown[0]!r}; choose from {', '.join(map(repr, LENGTHS))}")
        return super().decided()

    def tasks(self) -> list[str]:
        # Without the catalogue of the protocol where it is not needed: making that takes the simulator some seconds.
        made = synthetic_paths(self.simplification) if self.data == "synthetic" else {}
        known = made or [task.id for task in self.known()]
        fit = (id for id in known if length_of(name_and_variation(id)[0]) in self.lengths)
        return spread(sorted(fit), self.limit)

    def named(self, task: str) -> ScienceTask:
        """The task of an id. Raises ValueError for one that there is not."""
        return _named(self.data, self.simplification, task)

    def solution(self, task: str) -> tuple[str, ...]:
        """The gold path."""
        return _path(self.data, self.simplification, task)


def length_of(type: str) -> str:
    """The group of a task type."""
    return next(name for name, types in LENGTHS.items() if type in types)


@cache
def _named(data: str, simplification: str, task: str) -> ScienceTask:
    return _world(data, simplification).task(task)


@cache
def _path(data: str, simplification: str, task: str) -> tuple[str, ...]:
    return Expert(_world(data, simplification)).actions(_named(data, simplification, task))


def _world(data: str, simplification: str) -> ScienceWorld:
    world: ScienceWorld = ScienceWorldTasks(data=data, simplification=simplification).world()
    return world
