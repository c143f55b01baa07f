"""The requests of Travel Planner: single-destination trips of TravelPlanner's validation split (paper §5).

The paper has 43 and its text does not determine them. Taken here: 3 days in one city; the flights of both days are
all known; the request allows flying; a flight each way and an accommodation that suits it exist within the budget.
Official data: 60 requests go to one city; 49 have known flights both ways, 44 of these allow flying, 42 have a flight
each way, and 39 can be solved. The synthetic ones, over the synthetic listings, are stored: 100 that can be solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from lab.machine.paths import official_data
from procllm.domains.base import Instance
from procllm.domains.travel.toolbox import tools_folder
from worlds import travelplanner
from worlds.frozen import FOLDER, read_rows
from worlds.travelplanner.hard import forbids, has_room_type
from worlds.travelplanner.itinerary import flight_cost, night_cost
from worlds.travelplanner.listings import Accommodation, Flight, Listings
from worlds.travelplanner.tasks import TripTask, task_from_record

DAYS, OFFICIAL = 3, 39


@dataclass(frozen=True)
class TripProblem:
    """A request with the rows that can answer it.

    departing, returning: the flights of the route on the first and on the last day; accommodations: all of the
    destination, whatever the request asks for.
    """

    task: TripTask
    departing: Sequence[Flight]
    returning: Sequence[Flight]
    accommodations: Sequence[Accommodation]

    @property
    def nights(self) -> int:
        return self.task.days - 1


class Funnel(NamedTuple):
    """How many requests go to one city, have all flights known, allow flying, have a flight each way, are solvable."""

    single: int
    known: int
    flying: int
    existing: int
    solvable: int


def instances(count: int = 0, seed: int = 0, data: str = "auto") -> list[Instance]:
    """The first `count` instances, at most all of them; 0 for as many as official data has. A larger count adds some
    at the end.

    data: "auto" (official where present, else synthetic), "official" or "synthetic", of which 100 are stored. seed: as
    other domains have it; nothing is drawn here. Raises MissingData if official data is asked for and absent.
    """
    if count < 0:
        raise ValueError(f"count={count}; give 0 for all, or how many")
    world = travelplanner.load(data)
    official = world.data == "official"
    tasks = world.tasks("validation") if official else _synthetic_tasks()
    problems = [problem_of(task, world.listings) for task in tasks]
    solved = [problem for problem in problems if problem and solvable(problem)]
    chosen = solved[: count or (len(solved) if official else OFFICIAL)]
    tools = _tools((official_data() if official else FOLDER) / "travelplanner")
    if official:
        return [_instance(f"travel-validation-{problem.task.idx:03d}", problem, tools) for problem in chosen]
    return [_instance(f"travel-made-s000-{number:03d}", problem, tools) for number, problem in enumerate(chosen)]


def funnel(tasks: Sequence[TripTask], listings: Listings) -> Funnel:
    """How the requests of a split are narrowed down to those that are used."""
    single = [task for task in tasks if is_single(task)]
    known = [task for task in single if flights_known(task, listings)]
    flying = [problem for task in known if (problem := problem_of(task, listings))]
    existing = [problem for problem in flying if problem.departing and problem.returning]
    return Funnel(len(single), len(known), len(flying), len(existing), sum(map(solvable, existing)))


def is_single(task: TripTask) -> bool:
    """Whether the trip goes to one city."""
    return task.days == DAYS and task.visiting_city_number == 1


def flights_known(task: TripTask, listings: Listings) -> bool:
    """Whether every flight there is, out on the first day and back on the last, is in the table."""
    out, back = task.dates[0], task.dates[-1]
    return listings.knows_flights(task.org, task.dest, out) and listings.knows_flights(task.dest, task.org, back)


def problem_of(task: TripTask, listings: Listings) -> TripProblem | None:
    """The problem that a request poses; None if it has several cities or unknown flights, or rules flying out."""
    if not is_single(task) or not flights_known(task, listings) or task.transportation == "no flight":
        return None
    departing = listings.flights(task.org, task.dest, task.dates[0])
    returning = listings.flights(task.dest, task.org, task.dates[-1])
    return TripProblem(task, departing, returning, listings.accommodations(task.dest))


def solvable(problem: TripProblem) -> bool:
    """Whether the cheapest flights and the cheapest suitable accommodation are within the budget."""
    task = problem.task
    nightly = [
        night_cost(place, task.people)
        for place in problem.accommodations
        if place.minimum_nights <= problem.nights
        and not (task.house_rule and forbids(place, task.house_rule))
        and not (task.room_type and not has_room_type(place, task.room_type))
    ]
    fares = [[flight_cost(f, task.people) for f in flights] for flights in (problem.departing, problem.returning)]
    if not nightly or not all(fares):
        return False
    return sum(map(min, fares)) + min(nightly) * problem.nights <= task.budget


def _synthetic_tasks() -> list[TripTask]:
    return [task_from_record(row, "made-validation") for row in read_rows("travelplanner/single_city.jsonl")]


def _instance(identity: str, problem: TripProblem, tools: Path) -> Instance:
    return Instance(identity, problem.task.goal.strip() + "\n", problem, {"tools": tools})


@lru_cache(maxsize=4)
def _tools(folder: Path) -> Path:
    """Every row of the listings in the folder, found by its searches."""
    from worlds.travelplanner.listings import read_accommodations, read_flights

    return tools_folder(read_flights(folder), read_accommodations(folder))
