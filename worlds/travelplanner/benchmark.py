"""TravelPlanner as a benchmark: its queries, by the official evaluator's final pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from lab.runs.experiment import spread
from worlds.benchmark import Benchmark
from worlds.travelplanner import PlanVerdict, TravelPlanner, TripTask, evaluate, load
from worlds.travelplanner.expert import solve
from worlds.travelplanner.itinerary import days_read
from worlds.travelplanner.listings import SELF_DRIVING
from worlds.travelplanner.world import blank_draft


@dataclass(frozen=True, kw_only=True)
class TravelPlannerQueries(Benchmark):
    """levels: which queries of the split. `limit` spreads evenly over the sorted ids, so over levels and lengths."""

    split: str = "validation"
    levels: tuple[str, ...] = ("medium", "hard")

    benchmark: ClassVar[str] = "TravelPlanner"
    reported: ClassVar[str] = "validation"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "levels")
    metric: ClassVar[str] = "final pass"

    def queries(self) -> list[TripTask]:
        """The chosen queries, sorted by id. Raises ValueError for a split or level that there is not."""
        chosen = [task for task in sorted(self.known(), key=lambda task: task.id) if task.level in self.levels]
        if not chosen:
            raise ValueError(f"No {self.split} query has a level in {self.levels}; levels are easy, medium, hard")
        return spread(chosen, self.limit)

    def tasks(self) -> list[str]:
        return [task.id for task in self.queries()]

    def world(self) -> TravelPlanner:
        """The desk with the listings, shared by all episodes; each plays at a desk of its own (`opened`)."""
        return _world(self.data)

    def opened(self) -> TravelPlanner:
        return self.world().apart()

    def named(self, task: str) -> TripTask:
        """The query of an id. Raises KeyError for one that is not there."""
        return _queries(self.data, self.split)[task]

    def solution(self, task: str) -> list[str]:
        """The searches that a plan takes, and the cheapest honest plan; a blank one where there is none."""
        query = self.named(task)
        found = solve(query, self.world().listings, query.ref_cities).plan if query.ref_cities else None
        plan = found or blank_draft(query)
        return [*searches(query, plan), f"Submit[{json.dumps(plan)}]"]

    def verdict(self, task: str, plan: Any) -> PlanVerdict:
        """The official evaluator's word on a plan; None for one that was not delivered."""
        return evaluate(self.named(task), plan, self.world().listings)


def first_failure(verdict: PlanVerdict) -> str:
    """The first check that a plan fails, and why; "" where it passes all."""
    return next((f"{name}: {reason}" for name, reason in verdict.failures.items()), "")


def searches(query: TripTask, plan: Sequence[Any]) -> Iterator[str]:
    """What is to be looked up for a plan: its ways on their days, and what there is in each city."""
    for day in days_read(plan, query.days):
        if day.travels:
            org, dest = day.cities
            yield f"GoogleDistanceMatrix[{org}, {dest}, {SELF_DRIVING}]"
            yield f"FlightSearch[{org}, {dest}, {query.dates[day.number - 1]}]"
    for city in query.ref_cities:
        yield from (f"{kind}Search[{city}]" for kind in ("Accommodation", "Restaurant", "Attraction"))


@cache
def _world(data: str) -> TravelPlanner:
    return load(data)


@cache
def _queries(data: str, split: str) -> Mapping[str, TripTask]:
    return {task.id: task for task in _world(data).tasks(split)}
