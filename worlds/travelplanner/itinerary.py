"""The parser of plans and the benchmark's cost arithmetic: days, fields, the meaning of their text, and its cost.

A plan is a list of day objects with the keys `current_city` and those of `SLOTS`. The official program crashes on some
malformed plans; reading such a field here raises `Unreadable`, which the evaluator records. The evaluator, the expert
and an agent's running total share this arithmetic, so that they cannot disagree.
Source: Xie et al. 2024 (TravelPlanner), the behaviour of the public evaluation scripts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from worlds.travelplanner.listings import SELF_DRIVING, TAXI, Accommodation, Flight, Leg, Listings, Restaurant

MEALS = ("breakfast", "lunch", "dinner")
SLOTS = ("transportation", "breakfast", "attraction", "lunch", "dinner", "accommodation")
UNUSED_DAY = "You don't need to fill in the information for this or later days."
# The official pattern. B extends to a comma or the end, so without a comma all words after the city belong to B.
ROUTE = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)(?=[,\s]|$)")
ROUTE_MIDDLE = re.compile(r"\sto\s")
FLIGHT_LABEL = "Flight Number: "  # "flight number" in any case is a flight, but its number needs this spelling
SEATS = {SELF_DRIVING: 5, TAXI: 4}  # people per vehicle; drives cost per vehicle, flights per person


class Unreadable(ValueError):
    """A part of a plan on which the official evaluator crashes; the message names day and field."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a plan. Fields are read lazily, because the official checks differ in which fields they read."""

    number: int
    record: Any

    @property
    def fields(self) -> dict[str, Any]:
        if not isinstance(self.record, dict):
            raise Unreadable(f"day {self.number} is {kind(self.record)}, not an object with fields")
        return self.record

    def has(self, key: str) -> bool:
        return key in self.fields

    def text(self, key: str) -> str:
        """The field's text, "" if it is missing or empty ("", "-", null). Raises Unreadable for other types."""
        value = self.fields.get(key)
        # "-" is an empty slot in the benchmark's own plans.
        if not value or value == "-":
            return ""
        if not isinstance(value, str):
            raise Unreadable(f"day {self.number}: {key} is {kind(value)}, not text")
        return value

    def required(self, key: str) -> str:
        """Like `text`, but raises Unreadable also for a missing key."""
        if key not in self.fields:
            raise Unreadable(f"day {self.number} has no {key} field")
        return self.text(key)

    def blank(self, key: str) -> bool:
        """Whether the field is "" or "-". Null is not blank: the official check accepts it."""
        return self.fields[key] in ("", "-")

    @property
    def city_text(self) -> str:
        """The text of `current_city`. Raises Unreadable for anything but text."""
        value = self.fields.get("current_city")
        if not isinstance(value, str):
            value_kind = kind(value) if self.has("current_city") else "missing"
            raise Unreadable(f"day {self.number}: current_city is {value_kind}, not text")
        return value

    @property
    def travels(self) -> bool:
        return "from" in self.city_text  # anywhere, also within a longer word

    @property
    def cities(self) -> tuple[str, ...]:
        """(from, to) on a travel day, else the single city; each is cut at its parenthesis."""
        if not self.travels:
            return (before_parenthesis(self.city_text),)
        route = route_in(self.city_text)
        if route is None:
            raise Unreadable(f"day {self.number}: current_city {self.city_text!r} does not read 'from A to B'")
        return before_parenthesis(route[0]), before_parenthesis(route[1])

    @property
    def attractions(self) -> list[str]:
        """The items of `attraction`. Each has to end with a semicolon; text after the last one is ignored."""
        return self.text("attraction").split(";")[:-1]

    @property
    def route(self) -> tuple[str, str] | None:
        """The route of the transportation: its own "from A to B", else that of `current_city`; parentheses stay."""
        return route_in(self.text("transportation")) or route_in(self.city_text)


def days_read(plan: Any, count: int) -> Sequence[Day]:
    """The first `count` days of a delivered plan, or all if it has fewer. Raises Unreadable if it is no list."""
    if not isinstance(plan, list):
        raise Unreadable(f"the plan is {kind(plan)}, not a list of days")
    # Days beyond the requested ones are ignored; `strict` counts them as a fault.
    return [Day(number, record) for number, record in enumerate(plan[:count], start=1)]


def before_parenthesis(text: str) -> str:
    """The text before its first closed parenthesis, with spaces; the whole text if its first line has none."""
    # Nothing is trimmed: "Tampa(Florida)" gives "Tampa", but "Tampa (Florida)" gives "Tampa ", which no table has.
    head, opening, tail = text.partition("(")
    return head if opening and ")" in tail and "\n" not in head else text


def route_in(text: str) -> tuple[str, str] | None:
    """The A and B of the first "from A to B" (B ends at a comma); None if there is none."""
    # The search is cubic in runs of spaces, so texts without " to " are rejected first.
    match = ROUTE.search(text) if ROUTE_MIDDLE.search(text) else None
    return (match[1], match[2]) if match else None


def name_and_city(text: str) -> tuple[str, str]:
    """The two parts of "Name, City", split at the last comma; ("-", "-"), which matches nothing, if there is none.

    Only the last line of a name with line breaks is used, and a parenthesis after the city is dropped.
    """
    # The last comma, since names of rooms can have commas. So "A, Tampa, Cost: 5" is a place in "Cost: 5".
    name, comma, city = text.rpartition(",")
    if not comma or not city:
        return "-", "-"
    return name.rsplit("\n", 1)[-1].strip(), before_parenthesis(city.strip()).strip()


def flight_number(day: Day) -> str:
    """The number after "Flight Number: " in the day's transportation. Raises Unreadable without this exact label."""
    _, label, tail = day.text("transportation").partition(FLIGHT_LABEL)
    if not label:
        raise Unreadable(
            f"day {day.number}: transportation {day.text('transportation')!r} speaks of a flight number "
            f"without the exact label {FLIGHT_LABEL!r}"
        )
    return tail.partition(FLIGHT_LABEL)[0].partition(",")[0]


def vehicle(text: str) -> str | None:
    """The means by which transportation is priced: "flight", "self-driving", "taxi", or None for other text."""
    # In this order: a text that names two means is priced as the first of them.
    lowered = text.lower()
    for marker, name in (("flight number", "flight"), ("self-driving", "self-driving"), ("taxi", "taxi")):
        if marker in lowered:
            return name
    return None


def kind(value: Any) -> str:
    """The name of a value's JSON type, for messages."""
    names = {
        type(None): "null", bool: "a truth value", int: "a number", float: "a number", str: "text", list: "a list",
        dict: "an object",
    }  # fmt: skip
    return names.get(type(value), type(value).__name__)


class Charge(NamedTuple):
    """One line of a bill: what the party pays for a slot of a day, in dollars."""

    day: int
    slot: str
    item: str
    dollars: float


@dataclass(frozen=True, slots=True)
class Bill:
    """All charges of a plan in the order of its days. Items that match no row are free and not listed."""

    charges: tuple[Charge, ...]

    @property
    def total(self) -> float:
        return sum(charge.dollars for charge in self.charges)

    def dearest(self, count: int) -> list[Charge]:
        return sorted(self.charges, key=lambda charge: -charge.dollars)[:count]


def flight_cost(flight: Flight, people: int) -> int:
    """Dollars for everyone's seat."""
    return flight.price * people


def ground_cost(leg: Leg, people: int) -> int:
    """Dollars for enough vehicles: five people per car, four per taxi."""
    return leg.cost * math.ceil(people / SEATS[leg.mode])


def night_cost(accommodation: Accommodation, people: int) -> float:
    """Dollars for enough units, for one night."""
    return accommodation.price * math.ceil(people / accommodation.occupancy)


def meal_cost(restaurant: Restaurant, people: int) -> int:
    return restaurant.average_cost * people


def plan_bill(days: Sequence[Day], people: int, listings: Listings) -> Bill:
    """The benchmark's charges for the days of a plan; costs written in the plan are ignored.

    An accommodation costs its price on every day that lists it. A missing field is free, so that an unfinished plan can
    be billed. Raises Unreadable for a field that is not text.
    """
    return Bill(tuple(charge for day in days for charge in day_charges(day, people, listings)))


def day_charges(day: Day, people: int, listings: Listings) -> Iterator[Charge]:
    """The charges of one day. A name that matches several rows is charged as the first of them."""
    dollars: float | None = transport_cost(day, people, listings)
    if dollars is not None:
        yield Charge(day.number, "transportation", day.text("transportation"), dollars)
    for meal in filter(day.text, MEALS):
        for restaurant in listings.restaurants_named(*name_and_city(day.text(meal)))[:1]:
            yield Charge(day.number, meal, day.text(meal), meal_cost(restaurant, people))
    # Each day that lists an accommodation is charged, the last one too. Attractions are free.
    if text := day.text("accommodation"):
        for room in listings.accommodations_named(*name_and_city(text))[:1]:
            yield Charge(day.number, "accommodation", text, night_cost(room, people))


def transport_cost(day: Day, people: int, listings: Listings) -> int | None:
    """The day's transportation in dollars; None if nothing can be charged.

    A flight is found by its number alone, a drive by the cities of its text, else by those of `current_city`.
    """
    text = day.text("transportation")
    if not text or day.route is None:
        return None
    means = vehicle(text)
    if means == "flight":
        # As in the official program: the first row with that number, even on another route or date.
        flight = listings.flight(flight_number(day))
        return None if flight is None else flight_cost(flight, people)
    leg = ground_leg(day, listings)
    return None if leg is None else ground_cost(leg, people)


def ground_leg(day: Day, listings: Listings) -> Leg | None:
    """The drive that the day's transportation names, if the distance matrix has it."""
    means, route = vehicle(day.text("transportation")), day.route
    if means not in SEATS or route is None:
        return None
    return listings.ground(before_parenthesis(route[0]), before_parenthesis(route[1]), means)
