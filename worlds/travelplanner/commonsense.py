"""The eight commonsense checks of the official evaluator, with all its quirks, and with self-explanatory reasons.

Each check reads only the first `task.days` days. It raises `Unreadable` exactly where the official program crashes.
Source: Xie et al. 2024 (TravelPlanner), the behaviour of the public evaluation scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from worlds.travelplanner.itinerary import (
    MEALS,
    SLOTS,
    UNUSED_DAY,
    Day,
    Unreadable,
    before_parenthesis,
    flight_number,
    ground_leg,
    kind,
    name_and_city,
    vehicle,
)
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.tasks import TripTask


class Check(NamedTuple):
    """A verdict on one constraint. passed: None if it was not judged. reason: empty for a pass."""

    passed: bool | None
    reason: str = ""


PASSED = Check(True)
RowsNamed = Callable[[str, str], Sequence[object]]  # a look-up method of `Listings`: name, city -> rows


def failed(reason: str) -> Check:
    return Check(False, reason)


def reasonable_visiting_city(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """A round trip through valid cities, with one stay in each; for over 3 days inside the state `task.dest`."""
    entries: list[str] = []
    for day in days:
        # Day 1 is compared with the origin only if it has "from"; a plan that starts within a city is not.
        if day.number == 1 and starts_elsewhere(task, day):
            return failed(f"day 1 starts in {day.cities[0]!r}, not in {task.org}")
        entries += day.cities
    if entries[0] != entries[-1]:
        return failed(f"the trip starts in {entries[0]!r} and ends in {entries[-1]!r}, so it is not a round trip")
    return broken_stay(entries) or foreign_city(task, entries, listings) or PASSED


def starts_elsewhere(task: TripTask, day: Day) -> bool:
    return day.travels and day.cities[0] != task.org


def broken_stay(entries: Sequence[str]) -> Check | None:
    """Fails for the first stay without a night, or city that is visited again; None if there is none."""
    if len(entries) < 3:
        return failed(f"the route has {len(entries)} entries; a trip needs at least a way out, a stay and a way back")
    visited: set[str] = set()
    start = 0
    for city, group in groupby(entries):
        length, last = len(list(group)), len(entries) - 1
        # A city may occur again only as the last entry, which is the way home.
        if city in visited and 0 < start < last:
            return failed(f"the route returns to {city!r} after leaving it")
        # Arrival and departure each add the city to the entries, so a real stay has at least two.
        if length == 1 and 0 < start < last:
            return failed(f"the route touches {city!r} only once: a stay is entered and left on different entries")
        visited.add(city)
        start += length
    return None


def foreign_city(task: TripTask, entries: Sequence[str], listings: Listings) -> Check | None:
    """Fails for the first city that is unknown or, on a longer trip, outside the destination state; else None."""
    for position, city in enumerate(entries):
        state = listings.state_of(city)
        if state is None:
            return failed(f"{city!r} is not a city of the benchmark")
        # The destination of a 3-day query is never checked: a round trip to any other city passes.
        if task.days > 3 and 0 < position < len(entries) - 1 and state != task.dest:
            return failed(f"{city} is in {state}, not in {task.dest}")
    return None


def valid_restaurants(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """No two meals have the same text."""
    seen: set[str] = set()
    for day in days:
        for meal in MEALS:
            text = day.text(meal)
            # Exact strings: a restaurant written in two ways counts as two.
            if text and text in seen:
                return failed(f"day {day.number} {meal}: {text!r} was already visited")
            seen.add(text)
    return PASSED


def valid_attractions(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """No two attractions have the same text."""
    seen: set[str] = set()
    for day in days:
        for item in day.attractions:
            # Exact strings: "A;A;" repeats an attraction, "A; A;" does not, because of the space.
            if item in seen:
                return failed(f"day {day.number} attraction: {item!r} was already visited")
            seen.add(item)
    return PASSED


def valid_accommodation(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """Every stay reaches the minimum number of nights. A name that matches several rows is not checked."""
    for day in days:
        if not day.has("accommodation"):
            return failed(f"day {day.number} has no accommodation field")
    # Consecutive equal strings are one stay. A place written in two ways is two stays, and the shorter ones may fail.
    for _, stay_days in groupby(days, lambda day: day.fields["accommodation"]):
        failure = too_short_stay(list(stay_days), listings)
        if failure:
            return failure
    return PASSED


def too_short_stay(run: Sequence[Day], listings: Listings) -> Check | None:
    """Fails if consecutive days with the same accommodation are fewer than its minimum nights; else None."""
    if not isinstance(run[0].fields["accommodation"], str):
        # The official program also tries to read a name from null, and crashes.
        raise Unreadable(f"day {run[0].number}: accommodation is {kind(run[0].fields['accommodation'])}, not text")
    text = run[0].text("accommodation")
    rows = listings.accommodations_named(*name_and_city(text)) if text else []
    # With no matching row, or several, the official check ignores the minimum.
    if len(rows) != 1 or len(run) >= rows[0].minimum_nights:
        return None
    return failed(
        f"{text!r} is booked for {len(run)} night(s) from day {run[0].number}, but asks for at least "
        f"{rows[0].minimum_nights}"
    )


def valid_transportation(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """Day 1 has transportation, and self-driving is not mixed with flights or taxis."""
    if not days[0].required("transportation"):
        return failed("day 1 has no transportation")
    first_days = {means: day.number for day in reversed(days) if (means := means_of(day.text("transportation")))}
    # Taxis and flights can be mixed; only one's own car conflicts with either.
    for other in ("flight", "taxi"):
        if "self-driving" in first_days and other in first_days:
            return failed(
                f"day {first_days['self-driving']} is self-driving but day {first_days[other]} is by {other}: "
                "a car driven out must be driven back"
            )
    return PASSED


def means_of(text: str) -> str | None:
    """This check's class of a transportation text: the first of these words that occurs in it, ignoring case."""
    # The order differs from `itinerary.vehicle`, which is for prices and look-ups, so a text with two of the words can
    # get another class there. Here "flight" needs no number.
    lowered = text.lower()
    return next((means for means in ("taxi", "self-driving", "flight") if means in lowered), None)


def information_in_current_city(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """A day's items are in its cities.

    Quirk: on a day without travel, the official program compares with each letter of the city's name. Transportation
    then needs all the letters, a meal or attraction any of them, an accommodation the last one.
    """
    for day in days:
        city_parts = day.cities if day.travels else tuple(day.cities[0])
        failure = misplaced_item(day, city_parts)
        if failure:
            return failure
    return PASSED


def misplaced_item(day: Day, parts: Sequence[str]) -> Check | None:
    """Fails for the day's first item that lacks the required `parts` (cities, or letters of one city); else None."""
    city_names = " or ".join(day.cities)
    missing = [part for part in parts if part not in day.text("transportation")]
    if day.text("transportation") and missing:
        return failed(
            f"day {day.number} transportation does not name {' and '.join(day.cities)}: {day.text('transportation')!r}"
        )
    items = [(meal, day.text(meal)) for meal in MEALS] + [("attraction", item) for item in day.attractions]
    # On a travel day transportation must name both cities, a meal or attraction either one, a bed the second.
    for slot, text in items:
        # An empty attraction, such as between two semicolons, is checked like any other; an empty meal is not.
        if (text or slot == "attraction") and not any(part in text for part in parts):
            return failed(f"day {day.number} {slot} {text!r} is not in {city_names}")
    stay = day.text("accommodation")
    if stay and not parts:
        raise Unreadable(f"day {day.number}: current_city is empty")
    if stay and parts[-1] not in stay:
        return failed(f"day {day.number} accommodation {stay!r} is not in {day.cities[-1]}")
    return None


def information_in_sandbox(
    task: TripTask, days: Sequence[Day], listings: Listings, unknown_flights: str = "fail"
) -> Check:
    """All items of the plan exist in the tables. unknown_flights: see `evaluator.evaluate`."""
    for day in days:
        failure = unreal_transport(task, day, listings, unknown_flights) or unreal_item(day, listings)
        if failure:
            return failure
    return PASSED


def unreal_transport(task: TripTask, day: Day, listings: Listings, unknown_flights: str) -> Check | None:
    """Fails if the day's flight or drive does not exist; None if it does, or for any other text."""
    means = vehicle(day.required("transportation"))
    if means is None:  # on foot, by train, or any other text: the official check does not look it up
        return None
    if means == "flight":
        return unreal_flight(task, day, listings, unknown_flights)
    if ground_leg(day, listings) is None:
        route = " to ".join(day.route) if day.route else "a route that cannot be read"
        return failed(f"day {day.number}: the distance matrix has no {means} way for {route}")
    return None


def unreal_flight(task: TripTask, day: Day, listings: Listings, unknown_flights: str) -> Check | None:
    if day.route is None:
        raise Unreadable(f"day {day.number}: no 'from A to B' for the flight {day.text('transportation')!r}")
    org, dest = (before_parenthesis(city) for city in day.route)
    number = flight_number(day)
    # Date and times are not compared: for this check a flight exists on every day.
    if listings.has_flight(number, org, dest):
        return None
    unlisted = listings.flight(number) is None
    if unknown_flights == "pass" and unlisted and not listings.knows_flights(org, dest, task.dates[day.number - 1]):
        return None
    return failed(f"day {day.number}: there is no flight {number!r} from {org} to {dest}")


def unreal_item(day: Day, listings: Listings) -> Check | None:
    """Fails for the day's first meal, attraction or accommodation that matches no row; None if all match."""
    items: list[tuple[str, str, RowsNamed]]
    items = [(meal, day.text(meal), listings.restaurants_named) for meal in MEALS]
    items += [("attraction", item, listings.attractions_named) for item in day.attractions]
    items.append(("accommodation", day.text("accommodation"), listings.accommodations_named))
    # The reason names what was searched, since a stray comma or parenthesis in the text changes it.
    for slot, text, rows_named in items:
        if (text or slot == "attraction") and not rows_named(*name_and_city(text)):
            name, city = name_and_city(text)
            return failed(f"day {day.number} {slot} {text!r}: none in {city!r} has a name containing {name!r}")
    return None


def not_absent(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """All requested days and cities are planned, with each day's required fields; half of all fields are filled."""
    return (
        wrong_days(task, days)
        or wrong_city_number(task, days)
        or absent_item(task, days)
        or sparse(task, days)
        or PASSED
    )


def wrong_days(task: TripTask, days: Sequence[Day]) -> Check | None:
    # A plan may be padded with empty objects, or with days marked UNUSED_DAY; neither counts.
    planned = sum(bool(day.fields) and day.city_text != UNUSED_DAY for day in days)
    return None if planned == task.days else failed(f"the plan has {planned} of {task.days} days")


def wrong_city_number(task: TripTask, days: Sequence[Day]) -> Check | None:
    cities: set[str] = set()
    for day in days:
        if day.number == 1 and starts_elsewhere(task, day):
            return failed(f"day 1 starts in {day.cities[0]!r}, not in {task.org}")
        cities.update(day.cities)
    cities.discard(task.org)
    if len(cities) == task.visiting_city_number:
        return None
    return failed(
        f"the plan visits {len(cities)} cities ({', '.join(sorted(cities))}), not {task.visiting_city_number}"
    )


def absent_item(task: TripTask, days: Sequence[Day]) -> Check | None:
    """Fails for the first field that is missing, or blank where it is required. Null passes."""
    for day in days:
        absent = next((slot for slot in SLOTS if not day.has(slot)), None) or blank_slot(task, day)
        if absent:
            return failed(f"day {day.number} ({day.city_text!r}) has no {absent}")
    return None


def blank_slot(task: TripTask, day: Day) -> str | None:
    city = day.city_text
    # The official conditions differ in spaces: "Sacramento (California)" contains "to ", so it needs transportation.
    if ("from " in city or "to " in city) and day.blank("transportation"):
        return "transportation"
    if "from " not in city and " to " not in city and day.blank("attraction"):
        return "attraction"
    if day.number != task.days and day.blank("accommodation"):
        return "accommodation"
    return next((meal for meal in MEALS if "from " not in city and day.blank(meal)), None)


def sparse(task: TripTask, days: Sequence[Day]) -> Check | None:
    # All keys count, including the day's number and city, against six fields per day.
    filled = sum(bool(value) and value != "-" for day in days for value in day.fields.values())
    needed = 6 * task.days
    return failed(f"only {filled} fields are filled, under half of {needed}") if filled < needed / 2 else None


CommonsenseCheck = Callable[[TripTask, Sequence[Day], Listings], Check]

COMMONSENSE: dict[str, CommonsenseCheck] = {
    "is_reasonable_visiting_city": reasonable_visiting_city,
    "is_valid_restaurants": valid_restaurants,
    "is_valid_attractions": valid_attractions,
    "is_valid_accommodation": valid_accommodation,
    "is_valid_transportation": valid_transportation,
    "is_valid_information_in_current_city": information_in_current_city,
    "is_valid_information_in_sandbox": information_in_sandbox,
    "is_not_absent": not_absent,
}
