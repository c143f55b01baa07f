"""The benchmark's cost arithmetic: per leg, per night, per meal, and for a whole plan.

Shared by the evaluator, the expert and an agent's running total, so that they cannot disagree.
Source: Xie et al. 2024 (TravelPlanner), the behaviour of the public evaluation scripts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from worlds.travelplanner.itinerary import MEALS, Day, before_parenthesis, flight_number, name_and_city, vehicle
from worlds.travelplanner.listings import SELF_DRIVING, TAXI, Leg, Listings
from worlds.travelplanner.tables import Accommodation, Flight, Restaurant

SEATS = {SELF_DRIVING: 5, TAXI: 4}  # people in one vehicle; a cost is for a vehicle, a flight's for a person


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


def day_charges(day: Day, people: int, listings: Listings) -> list[Charge]:
    """The charges of one day: transportation, meals, accommodation."""
    slots: list[tuple[str, float | None]] = [("transportation", transport_cost(day, people, listings))]
    slots += [(meal, meal_cost_of(day.text(meal), people, listings)) for meal in MEALS]
    # Each day that lists an accommodation is charged, the last one too. Attractions are free.
    slots.append(("accommodation", night_cost_of(day.text("accommodation"), people, listings)))
    return [Charge(day.number, slot, day.text(slot), dollars) for slot, dollars in slots if dollars is not None]


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


def meal_cost_of(text: str, people: int, listings: Listings) -> int | None:
    """A meal given as "Name, City", in dollars for the party; None if no restaurant matches."""
    rows = listings.restaurants_named(*name_and_city(text)) if text else []
    # A name that is part of several rows' names costs what the first of them does.
    return meal_cost(rows[0], people) if rows else None


def night_cost_of(text: str, people: int, listings: Listings) -> float | None:
    """A night given as "Name, City", in dollars for the party; None if no accommodation matches."""
    rows = listings.accommodations_named(*name_and_city(text)) if text else []
    return night_cost(rows[0], people) if rows else None
