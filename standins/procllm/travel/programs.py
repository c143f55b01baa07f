"""The programs that the rules write into solver.py, and what is read from their output.

Words of the request get into a program as Python literals, so that they cannot be anything but text there.
"""

from __future__ import annotations

import json
from math import ceil
from typing import Any

from standins.procllm.travel.wording import ROOM_TYPES, Trip

SHOWN = 5  # rows that a program prints, the cheapest first
NO_ACCOMMODATION = "There is no accommodation that suits the request."

FLIGHTS = """\
import json

from tools.Flights import Flights

found = Flights().run({origin!r}, {destination!r}, {date!r})
if isinstance(found, str):
    print(found)
else:
    for flight in sorted(found, key=lambda flight: flight["Price"])[:{shown}]:
        print(json.dumps(flight))
"""

ACCOMMODATIONS = """\
import json
from math import ceil

from tools.Accommodations import Accommodations

NIGHTS, PEOPLE = {nights!r}, {people!r}
ROOM_TYPES, FORBIDDEN = {room_types!r}, {forbidden!r}


def suits(place):
    if place["minimum nights"] > NIGHTS or place["room type"] not in ROOM_TYPES:
        return False
    return not any(rule in place["house_rules"] for rule in FORBIDDEN)


def cost(place):
    return place["price"] * ceil(PEOPLE / place["maximum occupancy"]) * NIGHTS


found = Accommodations().run({city!r})
suitable = [] if isinstance(found, str) else sorted(filter(suits, found), key=cost)
for place in suitable[:{shown}]:
    print(json.dumps(place))
if not suitable:
    print({nothing!r})
"""


def flights_program(trip: Trip, returning: bool) -> str:
    """A program that prints the cheapest flights one way."""
    origin, destination, date = trip.route(returning)
    return FLIGHTS.format(origin=origin, destination=destination, date=date, shown=SHOWN)


def accommodations_program(trip: Trip) -> str:
    """A program that prints the cheapest accommodations that suit the request."""
    return ACCOMMODATIONS.format(
        nights=trip.nights,
        people=trip.people,
        room_types=ROOM_TYPES[trip.room],
        forbidden=tuple(f"No {activity}" for activity in trip.allows),
        city=trip.destination,
        shown=SHOWN,
        nothing=NO_ACCOMMODATION,
    )


def flights(printed: str, origin: str, destination: str, date: str) -> list[dict[str, Any]]:
    """The flights of a route and day among the lines that a program printed."""
    route = {"OriginCityName": origin, "DestCityName": destination, "FlightDate": date}
    return [row for row in _rows(printed, {"Flight Number": str, "Price": int}) if route.items() <= row.items()]


def accommodations(printed: str) -> list[dict[str, Any]]:
    """The accommodations among the lines that a program printed."""
    types = {"NAME": str, "city": str, "room type": str, "house_rules": str, "price": float, "minimum nights": int}
    rows = _rows(printed, types | {"maximum occupancy": int})
    return [row for row in rows if row["maximum occupancy"] > 0]


def _rows(printed: str, types: dict[str, type]) -> list[dict[str, Any]]:
    """The JSON objects among the lines that have these keys with values of these types."""
    found = []
    for line in printed.split("\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and all(type(row.get(key)) is kind for key, kind in types.items()):
            found.append(row)
    return found


def no_flight(origin: str, destination: str, date: str) -> str:
    """What the tool says where a route has no flight on a day."""
    return f"There is no flight from {origin} to {destination} on {date}."


def stay_cost(trip: Trip, price: float, occupancy: int) -> float:
    """Dollars for all nights, with enough units for everyone."""
    return price * ceil(trip.people / occupancy) * trip.nights
