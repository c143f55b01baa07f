"""The benchmark's closed world (the paper's sandbox): its tables, their searches, and the evaluator's look-ups."""

from __future__ import annotations

import csv
import gzip
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lab.machine.faults import MissingData

# Table -> column of its file -> field.
COLUMNS: dict[str, dict[str, str]] = {
    "flights": {
        "Flight Number": "number", "Price": "price", "DepTime": "departs", "ArrTime": "arrives",
        "ActualElapsedTime": "elapsed", "FlightDate": "date", "OriginCityName": "org", "DestCityName": "dest",
        "Distance": "miles",
    },
    "accommodations": {
        "NAME": "name", "room type": "room_type", "price": "price", "minimum nights": "minimum_nights",
        "review rate number": "rating", "house_rules": "house_rules", "maximum occupancy": "occupancy", "city": "city",
    },
    "restaurants": {
        "Name": "name", "City": "city", "Cuisines": "cuisines", "Average Cost": "average_cost",
        "Aggregate Rating": "rating",
    },
    "attractions": {
        "Name": "name", "Latitude": "latitude", "Longitude": "longitude", "Address": "address", "Phone": "phone",
        "Website": "website", "City": "city",
    },
    "distance": {"origin": "org", "destination": "dest", "duration": "duration", "distance": "distance"},
}  # fmt: skip
READERS: dict[Any, Callable[[str], Any]] = {  # by a field's type
    "str": str,
    "int": lambda text: int(float(text)),  # "1.0": pandas wrote a column with empty cells as floats
    "float": float,
    "float | None": lambda text: float(text) if text else None,
    "tuple[str, ...]": lambda text: tuple(re.split(r",\s*", text)),
}
SELF_DRIVING, TAXI = "self-driving", "taxi"
DOLLARS_A_KM = {SELF_DRIVING: 0.05, TAXI: 1.0}  # per vehicle; the benchmark's own rates


@dataclass(frozen=True, slots=True)
class Flight:
    """A flight on one date. price: dollars per person. miles: None if the source does not have it."""

    number: str
    price: int
    departs: str
    arrives: str
    elapsed: str
    date: str
    org: str
    dest: str
    miles: float | None


@dataclass(frozen=True, slots=True)
class Accommodation:
    """A room or home. price: dollars per night and unit; occupancy: most people per unit."""

    name: str
    room_type: str
    price: float
    minimum_nights: int
    rating: float
    house_rules: str
    occupancy: int
    city: str


@dataclass(frozen=True, slots=True)
class Restaurant:
    """A restaurant. average_cost: dollars per person and meal."""

    name: str
    city: str
    cuisines: tuple[str, ...]
    average_cost: int
    rating: float


# The evaluator uses only `name` and `city`; the official search tool shows all fields.
@dataclass(frozen=True, slots=True)
class Attraction:
    """An attraction; entry is free in this benchmark."""

    name: str
    latitude: float
    longitude: float
    address: str
    phone: str
    website: str
    city: str


@dataclass(frozen=True, slots=True)
class Distance:
    """A row of the distance matrix, as text; duration and distance are "" if the matrix has no drive."""

    org: str
    dest: str
    duration: str
    distance: str

    @property
    def km(self) -> float:
        """Kilometres, from text like "1,144 km". Raises ValueError for a row without a drive."""
        return float(self.distance.replace("km", "").replace(",", ""))

    @property
    def usable(self) -> bool:
        """Whether the benchmark computes a cost: not for missing drives, nor for drives of a day or more."""
        # The matrix writes a long drive as "1 day 3 hours"; the official tool gives no cost for it.
        return bool(self.duration and self.distance) and "day" not in self.duration


KINDS = {
    "flights": Flight, "accommodations": Accommodation, "restaurants": Restaurant, "attractions": Attraction,
    "distance": Distance,
}  # fmt: skip


def read_table(name: str, records: Iterable[Mapping[str, str]]) -> list[Any]:
    """The typed rows of a table. name: a key of COLUMNS. records: the rows of its file."""
    columns = {field: column for column, field in COLUMNS[name].items()}
    readers = [(columns[field.name], READERS[field.type]) for field in fields(KINDS[name])]
    return [KINDS[name](*[read(record.get(column, "")) for column, read in readers]) for record in records]


def read_flights(folder: Path) -> list[Flight]:
    """The flights of `flights.csv.gz`, then those with a price in `flights_recovered.csv`, if that file exists."""
    flights = read_table("flights", rows(folder / "flights.csv.gz"))
    # Flights recovered from published tool logs; without a price they cannot be charged.
    recovered = folder / "flights_recovered.csv"
    if recovered.exists():
        flights += read_table("flights", (row for row in rows(recovered) if row["Price"]))
    return flights


def read_accommodations(folder: Path) -> list[Accommodation]:
    """The accommodations without an empty cell; the benchmark never offers the others."""
    # Like `dropna` in the official loader: 4,285 of 5,047 rows remain.
    return read_table("accommodations", (row for row in rows(folder / "accommodations.csv.gz") if all(row.values())))


def read_city_states(folder: Path) -> dict[str, str]:
    """City to state, in the file's order."""
    path = folder / "city_state.tsv"
    require(path)
    pairs = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {city: state for city, state in pairs}


def read_known_route_days(folder: Path) -> frozenset[tuple[str, str, str]] | None:
    """Each (origin, destination, date) whose flights are all in the table; None (no file) means all are."""
    path = folder / "flight_route_days.csv.gz"
    if not path.exists():
        return None
    return frozenset((row["OriginCityName"], row["DestCityName"], row["FlightDate"]) for row in rows(path))


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file, gzipped if its name ends in ".gz". Quoted names may have line breaks."""
    require(path)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as text:
        yield from csv.DictReader(text)


def require(path: Path) -> None:
    """Raise MissingData, with the command that fetches the file, if it does not exist."""
    if not path.exists():
        raise MissingData(
            f"TravelPlanner's {path.name} is not in {path.parent}. "
            "Fetch it with: python -m lab data fetch travelplanner"
        )


@dataclass(frozen=True, slots=True)
class Leg:
    """A drive between two cities. cost: dollars per vehicle, truncated to whole dollars as in the benchmark."""

    org: str
    dest: str
    mode: str
    duration: str
    distance: str
    km: float
    cost: int


class Listings:
    """The tables, with an index for every query of agents, the evaluator and the expert.

    Searches keep the table's order. Look-ups by name follow the benchmark's evaluator: a case-sensitive substring of
    the name, with the exact city. known_route_days: the route-days whose flights are all present; None means all are.
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
        # Two indexes for the evaluator: prices are found by number alone, existence by number and route.
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
        """Read all tables. folder: the data folder that has `travelplanner/`. Raises MissingData."""
        files, names = Path(folder) / "travelplanner", ("restaurants", "attractions", "distance")
        restaurants, attractions, distances = (read_table(name, rows(files / f"{name}.csv.gz")) for name in names)
        return cls(
            read_flights(files),
            read_accommodations(files),
            restaurants,
            attractions,
            distances,
            read_city_states(files),
            read_known_route_days(files),
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
        """The drive by "self-driving" or "taxi"; None if the matrix has none, or one of a day or more.

        Raises ValueError for another mode.
        """
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
        """The first flight with this number, on any route and date."""
        return self._flight_by_number.get(number)

    def has_flight(self, number: str, org: str, dest: str) -> bool:
        return (number, org, dest) in self._flight_routes

    def knows_flights(self, org: str, dest: str, date: str) -> bool:
        """Whether every flight of the route on that date is in the table, so that an unlisted one does not exist."""
        return self._known_route_days is None or (org, dest, date) in self._known_route_days

    # A substring matches: "Inn" finds every name with these letters, and the evaluator uses the table's first one.
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
