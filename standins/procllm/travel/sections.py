"""The sections that the rules keep in their notes of a trip: written, read back, and compared with a request.

A section is lines "key: value". A reader of corrupted notes gets what is left of them and never an exception.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from standins.procllm.travel.programs import stay_cost
from standins.procllm.travel.wording import ROOM_TYPES, Trip

TRIP, DEPARTING, RETURNING, ACCOMMODATION = "trip", "departing flight", "returning flight", "accommodation"
FLIGHT_NUMBER = re.compile(r"[A-Z]{1,2}\d{2,8}")
ANY, NONE_FOUND = "any", "none found"
ANSWER_KEYS = ("departing_flight", "returning_flight", "accommodation")


def values(section: str) -> dict[str, str]:
    """The section's values by key, the last of each."""
    lines = (line.split(": ", 1) for line in section.split("\n") if ": " in line)
    return {key.strip(): value.strip() for key, value in lines}


def trip_section(trip: Trip) -> str:
    """Everything that the request asks for."""
    return _lines(
        {
            "origin": trip.origin,
            "destination": trip.destination,
            "departure date": trip.departs,
            "return date": trip.returns,
            "people": trip.people,
            "budget": f"${trip.budget}",
            "room type": trip.room or ANY,
            "must allow": ", ".join(trip.allows) or ANY,
        }
    )


def trip_fault(section: str, trip: Trip) -> str:
    """Where the section differs from the request; "" if it says the same."""
    noted, asked = values(section), values(trip_section(trip))
    wrong = next((key for key, value in asked.items() if noted.get(key) != value), None)
    return f"The notes say {wrong} {noted.get(wrong)!r}, and the request {asked[wrong]!r}." if wrong else ""


def flight_section(trip: Trip, returning: bool, row: Mapping[str, Any]) -> str:
    """One flight, a row of the tool's."""
    origin, destination, date = trip.route(returning)
    price = row["Price"]
    return _lines(
        {
            "flight number": row["Flight Number"],
            "from": origin,
            "to": destination,
            "date": date,
            "price a person": f"${price}",
            "cost": f"${price * trip.people}",
        }
    )


def flight_fault(section: str, trip: Trip, returning: bool) -> str:
    """Why the section is no flight for this trip; "" if it is one, as far as can be seen without the database."""
    noted = values(section)
    number = noted.get("flight number", "")
    if not FLIGHT_NUMBER.fullmatch(number):
        return f"The notes have no flight number: {number[:40]!r}."
    for key, asked in zip(("from", "to", "date"), trip.route(returning), strict=True):
        if noted.get(key) != asked:
            return f"The flight's {key} is {noted.get(key)!r}, and it should be {asked!r}."
    price, cost = dollars(noted.get("price a person")), dollars(noted.get("cost"))
    if price is None or cost is None:
        return "The notes do not say what the flight costs."
    return "" if cost == price * trip.people else f"${price:g} for each of {trip.people} do not make ${cost:g}."


def accommodation_section(trip: Trip, row: Mapping[str, Any]) -> str:
    """One accommodation, a row of the tool's. The name is JSON: it may hold line breaks."""
    return _lines(
        {
            "name": json.dumps(row["NAME"], ensure_ascii=False),
            "city": row["city"],
            "room type": row["room type"],
            "house rules": row["house_rules"],
            "minimum nights": row["minimum nights"],
            "maximum occupancy": row["maximum occupancy"],
            "price a night": f"${row['price']:g}",
            "cost": f"${stay_cost(trip, row['price'], row['maximum occupancy']):g}",
        }
    )


def accommodation_fault(section: str, trip: Trip) -> str:
    """Why the section is no accommodation for this trip; "" if it is one, as far as can be seen."""
    noted = values(section)
    if not accommodation_name(section):
        return "The notes have no name of an accommodation."
    if noted.get("city") != trip.destination:
        return f"The accommodation is in {noted.get('city')!r}, and it should be in {trip.destination!r}."
    if noted.get("room type") not in ROOM_TYPES[trip.room]:
        return f"The accommodation is of type {noted.get('room type')!r}; asked for is {trip.room or ANY!r}."
    against = [activity for activity in trip.allows if f"No {activity}" in noted.get("house rules", "")]
    if against or "house rules" not in noted:
        return f"The accommodation's house rules do not allow {against[0] if against else 'anything known'}."
    nights, occupancy = (dollars(noted.get(key)) for key in ("minimum nights", "maximum occupancy"))
    price, cost = dollars(noted.get("price a night")), dollars(noted.get("cost"))
    if nights is None or occupancy is None or occupancy < 1 or price is None or cost is None:
        return "The notes do not say for how many nights and people the accommodation is, or what it costs."
    if nights > trip.nights:
        return f"The accommodation is let for {nights:g} nights or more, and the trip has {trip.nights}."
    right = stay_cost(trip, price, int(occupancy))
    return "" if cost == right else f"The stay costs ${right:g}, and the notes say ${cost:g}."


def budget_fault(noted: Mapping[str, str], names: tuple[str, ...], trip: Trip) -> str:
    """Whether the costs of the sections of these names, as far as they are there, exceed the budget."""
    total = sum(cost(noted.get(name, "")) for name in names)
    return f"That makes ${total:g} of a budget of ${trip.budget}." if total > trip.budget else ""


def cost(section: str) -> float:
    """What the section's choice costs the party in dollars; 0 where it does not say."""
    return dollars(values(section).get("cost")) or 0.0


def flight_number(section: str) -> str:
    """The flight's number, "" where the section does not say it."""
    return values(section).get("flight number", "")


def accommodation_name(section: str) -> str:
    """The accommodation's name, "" where the section does not say it."""
    try:
        name = json.loads(values(section).get("name", ""))
    except (ValueError, RecursionError):
        return ""
    return name if isinstance(name, str) else ""


def dollars(text: str | None) -> float | None:
    """A number, with or without a dollar sign; None if it is none."""
    found = re.fullmatch(r"\$?(\d{1,9}(?:\.\d{1,4})?)", text or "")
    return float(found[1]) if found else None


def _lines(entries: Mapping[str, object]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in entries.items())
