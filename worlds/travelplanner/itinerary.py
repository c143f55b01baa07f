"""The parser of plans and the benchmark's cost arithmetic: days, fields, what their text means, and what it costs.

A plan is a list of day objects with the keys `current_city` and those of `SLOTS`. The official program stops with an
error on some malformed plans; reading such a field here raises `Unreadable`, which the evaluator records. The
evaluator, the expert and an agent's running total share the arithmetic, so that they cannot disagree.
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
# The official pattern. B runs to a comma or the end, so that all words after a city without a comma are part of B.
ROUTE = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)(?=[,\s]|$)")
ROUTE_MIDDLE = re.compile(r"\sto\s")
FLIGHT_LABEL = "Flight Number: "  # "flight number" in any case makes a flight, but only this spelling is read
SEATS = {SELF_DRIVING: 5, TAXI: 4}  # people in one vehicle; a cost is for a vehicle, a flight's for a person


class Unreadable(ValueError):
    """A part of a plan at which the official evaluator stops with an error; the message names day and field."""


@dataclass(frozen=True, slots=True)
class Day:
    """One day of a plan, read no earlier than asked for, because the official checks differ in what they look at."""

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
        """The field's text, or "" if it is missing or holds nothing ("", "-", null). Raises for other types."""
        value = self.fields.get(key)
        # "-" is how the benchmark's own plans leave a slot empty.
        if not value or value == "-":
            return ""
        if not isinstance(value, str):
            raise Unreadable(f"day {self.number}: {key} is {kind(value)}, not text")
        return value

    def required(self, key: str) -> str:
        """Like `text`, but a missing key raises too."""
        if key not in self.fields:
            raise Unreadable(f"day {self.number} has no {key} field")
        return self.text(key)

    def blank(self, key: str) -> bool:
        """Whether the field says nothing in writing. Null is not blank: the official check lets it pass."""
        return self.fields[key] in ("", "-")

    @property
    def city_text(self) -> str:
        """What `current_city` says; anything but text raises."""
        value = self.fields.get("current_city")
        if not isinstance(value, str):
            value_kind = kind(value) if self.has("current_city") else "missing"
            raise Unreadable(f"day {self.number}: current_city is {value_kind}, not text")
        return value

    @property
    def travels(self) -> bool:
        return "from" in self.city_text  # anywhere, within a longer word too

    @property
    def cities(self) -> tuple[str, ...]:
        """(from, to) on a travel day, else the one city, each cut at its parenthesis."""
        if not self.travels:
            return (before_parenthesis(self.city_text),)
        route = route_in(self.city_text)
        if route is None:
            raise Unreadable(f"day {self.number}: current_city {self.city_text!r} does not read 'from A to B'")
        return before_parenthesis(route[0]), before_parenthesis(route[1])

    @property
    def attractions(self) -> list[str]:
        """The items of `attraction`. Only what a semicolon closes counts; the rest of the text is never read."""
        return self.text("attraction").split(";")[:-1]

    @property
    def route(self) -> tuple[str, str] | None:
        """Where the transportation goes: its own "from A to B", else the one of `current_city`; parentheses kept."""
        return route_in(self.text("transportation")) or route_in(self.city_text)


def days_read(plan: Any, count: int) -> Sequence[Day]:
    """The first `count` days of a delivered plan, fewer if it has fewer. Raises Unreadable unless it is a list."""
    if not isinstance(plan, list):
        raise Unreadable(f"the plan is {kind(plan)}, not a list of days")
    # What a plan has beyond the asked days is never read; `strict` counts it as a fault.
    return [Day(number, record) for number, record in enumerate(plan[:count], start=1)]


def before_parenthesis(text: str) -> str:
    """The text before its first closed parenthesis, spaces kept; the whole text if there is none on its first line."""
    # Nothing is trimmed: "Tampa(Florida)" reads as Tampa, "Tampa (Florida)" as "Tampa ", which no table has.
    head, opening, rest = text.partition("(")
    return head if opening and ")" in rest and "\n" not in head else text


def route_in(text: str) -> tuple[str, str] | None:
    """The A and B of the first "from A to B" (B ends at a comma), or None."""
    # The search is cubic in runs of spaces; a text without " to " is refused first.
    match = ROUTE.search(text) if ROUTE_MIDDLE.search(text) else None
    return (match[1], match[2]) if match else None


def name_and_city(text: str) -> tuple[str, str]:
    """The two parts of "Name, City", split at the last comma; ("-", "-"), which matches nothing, if there is none.

    Of a name with line breaks only the last line is read, and a parenthesis after the city is dropped.
    """
    # The last comma: names of rooms have commas of their own. So "A, Tampa, Cost: 5" is a place in "Cost: 5".
    name, comma, city = text.rpartition(",")
    if not comma or not city:
        return "-", "-"
    return name.rsplit("\n", 1)[-1].strip(), before_parenthesis(city.strip()).strip()


def flight_number(day: Day) -> str:
    """The number after "Flight Number: " in the day's transportation. Raises if the label is not spelt so."""
    _, label, rest = day.text("transportation").partition(FLIGHT_LABEL)
    if not label:
        raise Unreadable(
            f"day {day.number}: transportation {day.text('transportation')!r} speaks of a flight number "
            f"without the exact label {FLIGHT_LABEL!r}"
        )
    return rest.partition(FLIGHT_LABEL)[0].partition(",")[0]


def vehicle(text: str) -> str | None:
    """What the transportation is priced as: "flight", "self-driving", "taxi", or None for other text."""
    # In this order: a text that names two ways of travel is priced as the first of them.
    lowered = text.lower()
    for words, name in (("flight number", "flight"), ("self-driving", "self-driving"), ("taxi", "taxi")):
        if words in lowered:
            return name
    return None


def kind(value: Any) -> str:
    """The JSON type of a value in words, for messages."""
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
    """All charges of a plan in the order of its days. Items that match no row cost nothing and are not listed."""

    charges: tuple[Charge, ...]

    @property
    def total(self) -> float:
        return sum(charge.dollars for charge in self.charges)

    def dearest(self, count: int) -> list[Charge]:
        return sorted(self.charges, key=lambda charge: -charge.dollars)[:count]


def flight_cost(flight: Flight, people: int) -> int:
    """A seat for everyone."""
    return flight.price * people


def ground_cost(leg: Leg, people: int) -> int:
    """Enough vehicles for everyone: five people a car, four a taxi."""
    return leg.cost * math.ceil(people / SEATS[leg.mode])


def night_cost(accommodation: Accommodation, people: int) -> float:
    """Enough units for everyone, for one night."""
    return accommodation.price * math.ceil(people / accommodation.occupancy)


def meal_cost(restaurant: Restaurant, people: int) -> int:
    return restaurant.average_cost * people


def plan_bill(days: Sequence[Day], people: int, listings: Listings) -> Bill:
    """What the benchmark charges for the days of a plan; costs written in the plan are ignored.

    An accommodation costs its price on every day that lists it. A missing field costs nothing, so that a plan in the
    making can be billed. Raises Unreadable for a field that is not text.
    """
    return Bill(tuple(charge for day in days for charge in day_charges(day, people, listings)))


def day_charges(day: Day, people: int, listings: Listings) -> Iterator[Charge]:
    """The charges of one day. A name that is part of several rows' names costs what the first of them does."""
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
    """The day's transportation in dollars, or None if nothing can be charged.

    A flight is looked up by its number alone, a drive by the cities of the text, else those of `current_city`.
    """
    text = day.text("transportation")
    if not text or day.route is None:
        return None
    means = vehicle(text)
    if means == "flight":
        # The first row of that number, be it on another route or date: what the official program charges.
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
