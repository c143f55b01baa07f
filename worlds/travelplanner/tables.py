"""The benchmark's tables as typed rows, and the readers of the compact files that hold them."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from lab.machine.faults import MissingData

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Flight:
    """A flight of one date. price: dollars a person. miles is None where the source does not say."""

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
    """A room or home. price: dollars a night and unit; occupancy: the most people a unit holds."""

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
    """A restaurant. average_cost: dollars a person and meal."""

    name: str
    city: str
    cuisines: tuple[str, ...]
    average_cost: int
    rating: float


# Only `name` and `city` are looked up by the evaluator; the rest is what the official search tool shows.
@dataclass(frozen=True, slots=True)
class Attraction:
    """A sight; entry is free in this benchmark."""

    name: str
    latitude: float
    longitude: float
    address: str
    phone: str
    website: str
    city: str


@dataclass(frozen=True, slots=True)
class Distance:
    """A row of the distance matrix, as printed; both texts are empty where the matrix has no way."""

    org: str
    dest: str
    duration: str
    distance: str

    @property
    def km(self) -> float:
        """Kilometres, from text like "1,144 km"; raises ValueError for a row without a way."""
        return float(self.distance.replace("km", "").replace(",", ""))

    @property
    def usable(self) -> bool:
        """Whether the benchmark computes a cost: not for missing ways, nor for those of a day or more."""
        # "1 day 3 hours" is how the matrix writes a long drive; the official tool answers it with no cost.
        return bool(self.duration and self.distance) and "day" not in self.duration


def flight_from(row: dict[str, str]) -> Flight:
    return Flight(
        row["Flight Number"],
        int(float(row["Price"])),
        row["DepTime"],
        row["ArrTime"],
        row.get("ActualElapsedTime", ""),
        row["FlightDate"],
        row["OriginCityName"],
        row["DestCityName"],
        float(row["Distance"]) if row.get("Distance") else None,
    )


def accommodation_from(row: dict[str, str]) -> Accommodation:
    return Accommodation(
        row["NAME"],
        row["room type"],
        float(row["price"]),
        int(float(row["minimum nights"])),  # "1.0": pandas wrote the column as floats, since it has empty cells
        float(row["review rate number"]),
        row["house_rules"],
        int(float(row["maximum occupancy"])),
        row["city"],
    )


def restaurant_from(row: dict[str, str]) -> Restaurant:
    return Restaurant(
        row["Name"],
        row["City"],
        tuple(re.split(r",\s*", row["Cuisines"])),
        int(row["Average Cost"]),
        float(row["Aggregate Rating"]),
    )


def attraction_from(row: dict[str, str]) -> Attraction:
    return Attraction(
        row["Name"],
        float(row["Latitude"]),
        float(row["Longitude"]),
        row["Address"],
        row["Phone"],
        row["Website"],
        row["City"],
    )


def distance_from(row: dict[str, str]) -> Distance:
    return Distance(row["origin"], row["destination"], row["duration"], row["distance"])


def read_flights(folder: Path) -> list[Flight]:
    """The flights of `flights.csv.gz`, then the priced ones of `flights_recovered.csv` where that file exists."""
    flights = [flight_from(row) for row in rows(folder / "flights.csv.gz")]
    # Flights known second-hand, from published tool logs. One that came without a price cannot be charged.
    recovered = folder / "flights_recovered.csv"
    if recovered.exists():
        flights += [flight_from(row) for row in rows(recovered) if row["Price"]]
    return flights


def read_accommodations(folder: Path) -> list[Accommodation]:
    """The accommodations without an empty cell; the benchmark never offers the others."""
    # As `dropna` does in the official loader: 4,285 of 5,047 rows are left.
    return [accommodation_from(row) for row in rows(folder / "accommodations.csv.gz") if all(row.values())]


def read_city_states(folder: Path) -> dict[str, str]:
    """City to state, in the file's order."""
    path = folder / "city_state.tsv"
    require(path)
    pairs = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {city: state for city, state in pairs}


def read_known_route_days(folder: Path) -> frozenset[tuple[str, str, str]] | None:
    """The (origin, destination, date) whose flights are all in the table; None, without the file, means all are."""
    path = folder / "flight_route_days.csv.gz"
    if not path.exists():
        return None
    return frozenset((row["OriginCityName"], row["DestCityName"], row["FlightDate"]) for row in rows(path))


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file, gzipped if its name says so. Names may hold line breaks inside quotes."""
    require(path)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as text:
        yield from csv.DictReader(text)


def require(path: Path) -> None:
    """Raise MissingData, with the line that gets the file, if it is not there."""
    if not path.exists():
        raise MissingData(
            f"TravelPlanner's {path.name} is not in {path.parent}. "
            "Fetch it with: python -m lab data fetch travelplanner"
        )
