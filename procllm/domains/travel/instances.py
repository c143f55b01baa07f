"""The requests of Travel Planner: single-destination trips of TravelPlanner's validation split (paper §5).

The paper has 43 and its text does not determine them. Taken here: 3 days in one city; the flights of both days are
all known; the request allows flying; a flight each way and an accommodation that suits it exist within the budget.
Official data: 60 requests go to one city; 49 have known flights both ways, 44 of these allow flying, 42 have a flight
each way, and 39 can be solved. Synthetic listings have 15 requests to one city, and 1 to 8 of them can be solved, by
seed; more are drawn from the same listings in the same way until there are as many as of the official ones, or as asked
for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count as numbers
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

from lab.machine.paths import official_data
from procllm.domains.base import Instance
from procllm.domains.travel.toolbox import tools_folder
from worlds import travelplanner
from worlds.travelplanner.costs import flight_cost, night_cost
from worlds.travelplanner.hard import forbids, has_room_type
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.tables import Accommodation, Flight
from worlds.travelplanner.tasks import TripTask

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

    data: "auto" (official where present, else synthetic), "official" or "synthetic"; seed: of the synthetic listings
    only, which have as many as are asked for. Raises MissingData if official data is asked for and absent.
    """
    if count < 0:
        raise ValueError(f"count={count}; give 0 for all, or how many")
    world = travelplanner.load(data, seed)
    if world.data == "official":
        problems = [problem_of(task, world.listings) for task in world.tasks("validation")]
        chosen = [problem for problem in problems if problem and solvable(problem)]
        prefix, tools = "travel-validation", _official_tools(official_data())
        return [_instance(f"{prefix}-{p.task.idx:03d}", p, tools) for p in (chosen[:count] if count else chosen)]
    made = islice(_synthetic(seed, world), count or OFFICIAL)
    tools = _made_tools(seed)
    return [_instance(f"travel-made-s{seed:03d}-{place:03d}", problem, tools) for place, problem in enumerate(made)]


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


def _instance(identity: str, problem: TripProblem, tools: Path) -> Instance:
    return Instance(identity, problem.task.goal.strip() + "\n", problem, {"tools": tools})


def _synthetic(seed: int, world: travelplanner.TravelPlanner) -> Iterator[TripProblem]:
    """The made split's problems, then ever more of the same listings."""
    from worlds.travelplanner.synthetic import LEVELS, synthetic_task

    for task in world.tasks("validation"):
        if (problem := problem_of(task, world.listings)) and solvable(problem):
            yield problem
    for number in numbers():
        # The first place of each level is a trip to one city.
        level = number % len(LEVELS)
        task = synthetic_task(
            world.listings, Random(f"procllm travel {seed} {number}"), "validation", level, len(LEVELS)
        )
        problem = problem_of(replace(task, idx=number), world.listings)
        if problem and solvable(problem):
            yield problem


@lru_cache(maxsize=4)
def _official_tools(folder: Path) -> Path:
    from worlds.travelplanner.tables import read_accommodations, read_flights

    place = folder / "travelplanner"
    return tools_folder(read_flights(place), read_accommodations(place))


@lru_cache(maxsize=16)
def _made_tools(seed: int) -> Path:
    """Every row of the synthetic listings, found by its searches."""
    from datetime import timedelta
    from itertools import permutations

    from worlds.travelplanner.synthetic import DAYS as SYNTHETIC_DAYS
    from worlds.travelplanner.synthetic import FIRST_DAY, synthetic_listings

    listings = synthetic_listings(seed)
    cities = [city for state in listings.states for city in listings.cities(state)]
    dates = [str(FIRST_DAY + timedelta(day)) for day in range(SYNTHETIC_DAYS)]
    flights = [row for pair in permutations(cities, 2) for date in dates for row in listings.flights(*pair, date)]
    return tools_folder(flights, [row for city in cities for row in listings.accommodations(city)])
