"""TravelPlanner: plan a trip within a closed world of flights, rooms, restaurants and sights (Xie et al., ICML 2024).

`load` opens the world with the listings that its tools search. `evaluate` judges a plan as the official program does,
`strict_faults` as an honest reader would; `rates` aggregates verdicts. The annotated plans and the exact search are in
`worlds.travelplanner.expert`; nothing that an agent is given imports it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from lab.runs.experiment import spread
from worlds.benchmark import Benchmark
from worlds.frozen import FOLDER
from worlds.travelplanner.evaluator import PlanVerdict, Rates, evaluate, rates
from worlds.travelplanner.itinerary import days_read
from worlds.travelplanner.listings import SELF_DRIVING, Listings
from worlds.travelplanner.strict import strict_faults
from worlds.travelplanner.tasks import MADE, SPLITS, TripTask, load_tasks
from worlds.travelplanner.world import TravelPlanner, blank_draft

__all__ = [
    "Listings", "PlanVerdict", "Rates", "TravelPlanner", "TravelPlannerQueries", "TripTask", "evaluate",
    "first_failure", "load", "rates", "strict_faults",
]  # fmt: skip


def load(data: str = "auto") -> TravelPlanner:
    """Open the world with the listings and the tasks of both splits, "train" and "validation".

    data: "auto" (official where present, else synthetic), "official" or "synthetic": invented listings of twenty cities
    in the official files' format, with 15 and 45 queries. Raises MissingData if official data is asked for and absent.
    """
    folder = official_data()
    present = (folder / "travelplanner" / "queries_validation.jsonl.gz").exists()
    chosen = choose_data(data, present, "travelplanner")
    folder, prefix = (folder, "") if chosen == "official" else (FOLDER, MADE)
    tasks = {split: load_tasks(split, folder, prefix) for split in SPLITS}
    return TravelPlanner(Listings.load(folder), tasks, chosen)


@dataclass(frozen=True, kw_only=True)
class TravelPlannerQueries(Benchmark):
    """TravelPlanner's queries. levels: difficulty levels to include.

    `limit` spreads evenly over the sorted ids, and so over levels and lengths.
    """

    split: str = "validation"
    levels: tuple[str, ...] = ("medium", "hard")

    benchmark: ClassVar[str] = "TravelPlanner"
    package: ClassVar[str] = "travelplanner"
    shared: ClassVar[bool] = True
    reported: ClassVar[str] = "validation"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "levels")
    metric: ClassVar[str] = "final pass"

    def queries(self) -> list[TripTask]:
        """The chosen queries, sorted by id. Raises ValueError for an unknown split or level."""
        chosen = [task for task in sorted(self.known(), key=lambda task: task.id) if task.level in self.levels]
        if not chosen:
            raise ValueError(f"No {self.split} query has a level in {self.levels}; levels are easy, medium, hard")
        return spread(chosen, self.limit)

    def tasks(self) -> list[str]:
        return [task.id for task in self.queries()]

    def solution(self, task: str) -> list[str]:
        """The searches that a plan needs, then its submission: the cheapest honest plan, or a blank one without any."""
        from worlds.travelplanner.expert import solve

        query = self.named(task)
        cheapest = solve(query, self.world().listings, query.ref_cities).plan if query.ref_cities else None
        plan = cheapest or blank_draft(query)
        return [*searches(query, plan), f"Submit[{json.dumps(plan)}]"]

    def verdict(self, task: str, plan: Any) -> PlanVerdict:
        """The official evaluator's verdict. plan: None if no plan was delivered."""
        return evaluate(self.named(task), plan, self.world().listings)


def first_failure(verdict: PlanVerdict) -> str:
    """The first check that a plan fails, with the reason; "" if it passes all."""
    return next((f"{name}: {reason}" for name, reason in verdict.failures.items()), "")


def searches(query: TripTask, plan: Sequence[Any]) -> Iterator[str]:
    """The searches that a plan needs: transportation for each travel day, and the listings of each city."""
    for day in days_read(plan, query.days):
        if day.travels:
            org, dest = day.cities
            yield f"GoogleDistanceMatrix[{org}, {dest}, {SELF_DRIVING}]"
            yield f"FlightSearch[{org}, {dest}, {query.dates[day.number - 1]}]"
    for city in query.ref_cities:
        yield from (f"{kind}Search[{city}]" for kind in ("Accommodation", "Restaurant", "Attraction"))
