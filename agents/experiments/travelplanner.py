"""TravelPlanner's queries as experiments: which of them, for any method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

from lab.runs.experiment import Experiment, spread
from worlds.travelplanner import PlanVerdict, TravelPlanner, TripTask, evaluate, load


@dataclass(frozen=True, kw_only=True)
class Queries(Experiment):
    """Some of TravelPlanner's queries.

    levels: which queries of the split; `limit` spreads evenly over the sorted ids, and so over levels and lengths.
    """

    split: str = "validation"
    levels: tuple[str, ...] = ("medium", "hard")

    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "split", "levels")
    metric: ClassVar[str] = "final pass"

    def decided(self) -> Self:
        """With `data` decided."""
        return replace(self, data=self.world().data)

    def queries(self) -> list[TripTask]:
        """The chosen queries, sorted by id. Raises ValueError for a split or level that there is not."""
        known = self.world().tasks(self.split)
        chosen = [task for task in sorted(known, key=lambda task: task.id) if task.level in self.levels]
        if not chosen:
            raise ValueError(f"No {self.split} query has a level in {self.levels}; levels are easy, medium, hard")
        return spread(chosen, self.limit)

    def tasks(self) -> list[str]:
        """Ids of the queries."""
        return [task.id for task in self.queries()]

    def world(self) -> TravelPlanner:
        """The desk with the listings, shared by all episodes; each plays at a desk of its own (`apart`)."""
        return _world(self.data, self.seed)

    def named(self, task: str) -> TripTask:
        """The query of an id. Raises KeyError for one that is not there."""
        return _queries(self.data, self.seed, self.split)[task]

    def verdict(self, task: str, plan: Any) -> PlanVerdict:
        """The official evaluator's word on a plan; None for one that was not delivered."""
        return evaluate(self.named(task), plan, self.world().listings)


def first_failure(verdict: PlanVerdict) -> str:
    """The first check that a plan fails, and why; "" where it passes all."""
    return next((f"{name}: {reason}" for name, reason in verdict.failures.items()), "")


@cache
def _world(data: str, seed: int) -> TravelPlanner:
    return load(data, seed)


@cache
def _queries(data: str, seed: int, split: str) -> Mapping[str, TripTask]:
    return {task.id: task for task in _world(data, seed).tasks(split)}
