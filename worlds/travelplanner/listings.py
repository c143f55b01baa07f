"""The benchmark's closed world (its paper calls it the sandbox): what can be searched, and its evaluator's look-ups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worlds.travelplanner import tables
from worlds.travelplanner.tables import Accommodation, Attraction, Distance, Flight, Restaurant

SELF_DRIVING, TAXI = "self-driving", "taxi"
DOLLARS_A_KM = {SELF_DRIVING: 0.05, TAXI: 1.0}  # a vehicle; the benchmark's own rates


@dataclass(frozen=True, slots=True)
class Leg:
    """A drive between two cities. cost: dollars a vehicle, cut to whole dollars as the benchmark does."""

    org: str
    dest: str
    mode: str
    duration: str
    distance: str
    km: float
    cost: int


class Listings:
    """Tables with an index for every question that an agent, the evaluator or the expert asks.

    Searches keep the table's order. Look-ups by name follow the benchmark's evaluator: a case-sensitive part of the
    name, with the exact city. `known_route_days`: the route-days whose flights are all present; None means all are.
    """

    def __init__(
        self,
        flights: Iterable[Flight],
        accommodations: Iterable[Accommodation],
        restaurants: Iterable[Restaurant],
        attractions: Iterable[Attraction],
        distances: Iterable[Distance],
        city_states: Mapping[str, str],
        known_route_days: frozenset[tuple[str, str, str]] | None = None,
    ) -> None:
        flights = tuple(flights)
        self._flights = grouped(flights, lambda row: (row.org, row.dest, row.date))
        # Two indexes, since the evaluator asks two questions: a price by number alone, existence by number and route.
        self._flight_by_number = first_of(flights, lambda row: row.number)
        self._flight_routes = {(row.number, row.org, row.dest) for row in flights}
        self._accommodations = grouped(accommodations, lambda row: row.city)
        self._restaurants = grouped(restaurants, lambda row: row.city)
        self._attractions = grouped(attractions, lambda row: row.city)
        self._distances = first_of(distances, lambda row: (row.org, row.dest))
        self._states = dict(city_states)
        self._cities = grouped(self._states, self._states.__getitem__)
        self._known_route_days = known_route_days

    @classmethod
    def load(cls, folder: Path) -> Listings:
        """The official tables. folder: the data folder that holds `travelplanner/`. Raises MissingData."""
        files = Path(folder) / "travelplanner"
        return cls(
            tables.read_flights(files),
            tables.read_accommodations(files),
            map(tables.restaurant_from, tables.rows(files / "restaurants.csv.gz")),
            map(tables.attraction_from, tables.rows(files / "attractions.csv.gz")),
            map(tables.distance_from, tables.rows(files / "distance.csv.gz")),
            tables.read_city_states(files),
            tables.read_known_route_days(files),
        )

    def flights(self, org: str, dest: str, date: str) -> Sequence[Flight]:
        """The flights of a route on an ISO date."""
        return self._flights.get((org, dest, date), ())

    def accommodations(self, city: str) -> Sequence[Accommodation]:
        return self._accommodations.get(city, ())

    def restaurants(self, city: str) -> Sequence[Restaurant]:
        return self._restaurants.get(city, ())

    def attractions(self, city: str) -> Sequence[Attraction]:
        return self._attractions.get(city, ())

    def ground(self, org: str, dest: str, mode: str) -> Leg | None:
        """The drive by "self-driving" or "taxi"; None where the matrix has no way or one of a day or more."""
        if mode not in DOLLARS_A_KM:
            raise ValueError(f"mode={mode!r}; choose one of {', '.join(map(repr, DOLLARS_A_KM))}")
        row = self._distances.get((org, dest))
        if row is None or not row.usable:
            return None
        return Leg(org, dest, mode, row.duration, row.distance, row.km, int(row.km * DOLLARS_A_KM[mode]))

    def cities(self, state: str) -> Sequence[str]:
        """The cities of a state, in the order of the benchmark's list; empty for an unknown state."""
        return self._cities.get(state, ())

    @property
    def states(self) -> Sequence[str]:
        return tuple(self._cities)

    def state_of(self, city: str) -> str | None:
        return self._states.get(city)

    def flight(self, number: str) -> Flight | None:
        """The first flight of that number, whatever its route and date."""
        return self._flight_by_number.get(number)

    def has_flight(self, number: str, org: str, dest: str) -> bool:
        return (number, org, dest) in self._flight_routes

    def knows_flights(self, org: str, dest: str, date: str) -> bool:
        """Whether every flight of the route on that date is in the table, so that an unlisted one does not exist."""
        return self._known_route_days is None or (org, dest, date) in self._known_route_days

    # A part of a name fits: "Inn" finds every name with these letters, and the evaluator takes the table's first one.
    def accommodations_named(self, name: str, city: str) -> list[Accommodation]:
        return [row for row in self.accommodations(city) if name in row.name]

    def restaurants_named(self, name: str, city: str) -> list[Restaurant]:
        return [row for row in self.restaurants(city) if name in row.name]

    def attractions_named(self, name: str, city: str) -> list[Attraction]:
        return [row for row in self.attractions(city) if name in row.name]


def grouped(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, tuple[Any, ...]]:
    """Items by key, each group in the original order."""
    groups: defaultdict[Any, list[Any]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return {name: tuple(group) for name, group in groups.items()}


def first_of(items: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, Any]:
    """The first item of each key: the benchmark reads only the first of duplicate rows."""
    firsts: dict[Any, Any] = {}
    for item in items:
        firsts.setdefault(key(item), item)
    return firsts
