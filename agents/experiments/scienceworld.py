"""ScienceWorld as experiments: which tasks, for any method, by SwiftSage's protocol of 30 task types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import ClassVar, Self

from agents.experiments.worlds import of_thread
from lab.models.engines import ORACLE
from lab.runs.experiment import BadSetting, Experiment, spread
from worlds.scienceworld import ScienceTask, ScienceWorld, load
from worlds.scienceworld.expert import Expert
from worlds.scienceworld.synthetic import synthetic_paths
from worlds.scienceworld.tasks import LENGTHS, name_and_variation


@dataclass(frozen=True, kw_only=True)
class Tasks(Experiment):
    """The first ten test variations of each type, ordered by id; `limit` spreads evenly over them.

    data: "synthetic" takes, of these, the tasks whose gold paths come with the suite, where there are such. lengths:
    groups of LENGTHS. simplification: as for `worlds.scienceworld.load`; the protocol's is "easy".
    The engine `oracle` knows the gold path of each task; no honest rule makes a plan here, so `rules` answers nothing.
    """

    engine: str = ORACLE
    lengths: tuple[str, ...] = tuple(LENGTHS)
    simplification: str = "easy"

    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "lengths", "simplification")
    metric: ClassVar[str] = "score"

    def decided(self) -> Self:
        """With `data` decided. Raises BadSetting for a group of lengths that there is not."""
        if unknown := [name for name in self.lengths if name not in LENGTHS] or ([""] if not self.lengths else []):
            raise BadSetting(f"No length {unknown[0]!r}; choose from {', '.join(map(repr, LENGTHS))}")
        return replace(self, data=self.world().data)

    def tasks(self) -> list[str]:
        # Without the catalogue of the protocol where it is not needed: making that takes the simulator some seconds.
        made = synthetic_paths(self.simplification) if self.data == "synthetic" else {}
        known = made or [task.id for task in self.world().tasks("protocol")]
        fit = (id for id in known if length_of(name_and_variation(id)[0]) in self.lengths)
        return spread(sorted(fit), self.limit)

    def world(self) -> ScienceWorld:
        """The world of this thread: an episode has a Java process to itself, and leaves it to the next one."""
        return _world(self.data, self.simplification)

    def opened(self) -> ScienceWorld:
        """Another world of the same tasks, with a Java process of its own."""
        return load(self.data, simplification=self.simplification, list_actions=False)

    def named(self, task: str) -> ScienceTask:
        """The task of an id. Raises ValueError for one that there is not."""
        return _named(self.data, self.simplification, task)

    def path(self, task: str) -> tuple[str, ...]:
        """The gold path, which no agent is told."""
        return _path(self.data, self.simplification, task)


def length_of(type: str) -> str:
    """The group of a task type."""
    return next(name for name, types in LENGTHS.items() if type in types)


@cache
def _path(data: str, simplification: str, task: str) -> tuple[str, ...]:
    return Expert(_world(data, simplification)).actions(_named(data, simplification, task))


@cache
def _named(data: str, simplification: str, task: str) -> ScienceTask:
    return _world(data, simplification).task(task)


def _world(data: str, simplification: str) -> ScienceWorld:
    load_it = partial(load, data, simplification=simplification, list_actions=False)
    return of_thread(("scienceworld", data, simplification), load_it)
