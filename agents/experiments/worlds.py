"""Worlds of text as experiments: which tasks of a split, for any method."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from threading import local
from typing import Any, ClassVar, Self, TypeVar

from lab.runs.experiment import Experiment, spread
from worlds.base import task_of

T = TypeVar("T")
_of_thread = local()


@dataclass(frozen=True, kw_only=True)
class Tasks(Experiment):
    """Some tasks of a split; `limit` spreads evenly over the sorted ids.

    split: as the world has them; "" for the one that papers report on.
    """

    split: str = ""

    name: ClassVar[str]  # of the world's package
    reported: ClassVar[str] = "test"
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "split")
    metric: ClassVar[str] = "score"

    def decided(self) -> Self:
        """With `data` and `split` decided."""
        return replace(self, data=self.world().data, split=self.split or self.reported)

    def options(self) -> Mapping[str, Any]:
        """What the world is loaded with, besides data and seed."""
        return {}

    def world(self) -> Any:
        """The world of this thread, which plays one episode at a time."""
        return of_thread(self._key("world"), self.opened)

    def opened(self) -> Any:
        """Another world of the same tasks."""
        return self._module().load(self.data, self.seed, **self.options())

    def solver(self) -> Any:
        """The world's expert, whom no agent is told."""
        return of_thread(self._key("expert"), lambda: self._module(".expert").Expert(self.world()))

    def tasks(self) -> list[str]:
        """Ids of the tasks, sorted. Raises ValueError for a split that there is not."""
        return spread(sorted(task.id for task in self._tasks()), self.limit)

    def named(self, task: str) -> Any:
        """The task of an id. Raises NoTask."""
        return task_of(self._tasks(), task)

    def _tasks(self) -> Any:
        return self.world().tasks(self.split or self.reported)

    def _module(self, part: str = "") -> Any:
        return import_module(f"worlds.{self.name}{part}")

    def _key(self, what: str) -> Hashable:
        return what, self.name, self.data, self.seed, str(self.options())


def of_thread(key: Hashable, make: Callable[[], T]) -> T:
    """What this thread made for the key, made at the first call; an episode has it to itself, and leaves it there."""
    made: dict[Hashable, T] = _of_thread.__dict__.setdefault("made", {})
    if key not in made:
        made[key] = make()
    return made[key]
