"""The eight commonsense checks of the official evaluator, quirk by quirk, with reasons that a stranger understands.

Each check reads only the first `task.days` days. It raises `Unreadable` exactly where the official program stops.
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
    """A verdict on one constraint; `passed` is None where it was not judged. The reason is empty for a pass."""

    passed: bool | None
    reason: str = ""


PASSED = Check(True)
RowsNamed = Callable[[str, str], Sequence[object]]  # a look-up of `Listings` by name and city


def failed(reason: str) -> Check:
    return Check(False, reason)


def reasonable_visiting_city(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """A closed round through valid cities, each stayed in once; for over 3 days inside the state `task.dest`."""
    entries: list[str] = []
    for day in days:
        # Only a day 1 with "from" is compared with the origin; a plan that is in a city from the start is not.
        if day.number == 1 and starts_elsewhere(task, day):
            return failed(f"day 1 starts in {day.cities[0]!r}, not in {task.org}")
        entries += day.cities
    if entries[0] != entries[-1]:
        return failed(f"the trip starts in {entries[0]!r} and ends in {entries[-1]!r}, so it is not a round trip")
    return broken_stay(entries) or foreign_city(task, entries, listings) or PASSED


def starts_elsewhere(task: TripTask, day: Day) -> bool:
    return day.travels and day.cities[0] != task.org


def broken_stay(entries: Sequence[str]) -> Check | None:
    """The first stay that is left on the day of arrival or taken up again later; None if there is none."""
    if len(entries) < 3:
        return failed(f"the route has {len(entries)} entries; a trip needs at least a way out, a stay and a way back")
    seen: set[str] = set()
    start = 0
    for city, group in groupby(entries):
        length, last = len(list(group)), len(entries) - 1
        # A city may come again in one place alone: as the last entry, which is the way home.
        if city in seen and 0 < start < last:
            return failed(f"the route returns to {city!r} after leaving it")
        # Arriving and leaving each write the city down, so that a real stay has two entries at least.
        if length == 1 and 0 < start < last:
            return failed(f"the route touches {city!r} only once: a stay is entered and left on different entries")
        seen.add(city)
        start += length
    return None


def foreign_city(task: TripTask, entries: Sequence[str], listings: Listings) -> Check | None:
    """The first city that does not exist, or lies outside the destination state of a longer trip."""
    for position, city in enumerate(entries):
        state = listings.state_of(city)
        if state is None:
            return failed(f"{city!r} is not a city of the benchmark")
        # The destination of a 3-day query is never compared: a round trip to any other city passes.
        if task.days > 3 and 0 < position < len(entries) - 1 and state != task.dest:
            return failed(f"{city} is in {state}, not in {task.dest}")
    return None


def valid_restaurants(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """No meal's text is written twice."""
    seen: set[str] = set()
    for day in days:
        for meal in MEALS:
            text = day.text(meal)
            # Whole strings: one restaurant that is written in two ways counts as two.
            if text and text in seen:
                return failed(f"day {day.number} {meal}: {text!r} was already visited")
            seen.add(text)
    return PASSED


def valid_attractions(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """No attraction's text is written twice."""
    seen: set[str] = set()
    for day in days:
        for item in day.attractions:
            # Exact strings: "A;A;" repeats an attraction, "A; A;" does not, for the space.
            if item in seen:
                return failed(f"day {day.number} attraction: {item!r} was already visited")
            seen.add(item)
    return PASSED


def valid_accommodation(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """Every run of nights reaches the minimum; a name that fits several rows is never held to one."""
    for day in days:
        if not day.has("accommodation"):
            return failed(f"day {day.number} has no accommodation field")
    # Equal strings in a row are one stay. A place written in two ways is two stays, and a shorter stay may fail.
    for _, run in groupby(days, lambda day: day.fields["accommodation"]):
        failure = too_short_stay(list(run), listings)
        if failure:
            return failure
    return PASSED


def too_short_stay(run: Sequence[Day], listings: Listings) -> Check | None:
    """What is wrong with consecutive days that list the same accommodation."""
    if not isinstance(run[0].fields["accommodation"], str):
        # The official program tries to read a name out of null, too, and stops.
        raise Unreadable(f"day {run[0].number}: accommodation is {kind(run[0].fields['accommodation'])}, not text")
    text = run[0].text("accommodation")
    rows = listings.accommodations_named(*name_and_city(text)) if text else []
    # With two matching rows or none the official check looks at no minimum at all.
    if len(rows) != 1 or len(run) >= rows[0].minimum_nights:
        return None
    return failed(
        f"{text!r} is booked for {len(run)} night(s) from day {run[0].number}, but asks for at least "
        f"{rows[0].minimum_nights}"
    )


def valid_transportation(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """Day 1 has transportation, and driving oneself is mixed neither with flights nor with taxis."""
    if not days[0].required("transportation"):
        return failed("day 1 has no transportation")
    used = {means: day.number for day in reversed(days) if (means := means_of(day.text("transportation")))}
    # Taxis and flights go together; only one's own car conflicts with either.
    for other in ("flight", "taxi"):
        if "self-driving" in used and other in used:
            return failed(
                f"day {used['self-driving']} is self-driving but day {used[other]} is by {other}: "
                "a car driven out must be driven back"
            )
    return PASSED


def means_of(text: str) -> str | None:
    """How this check classifies a text: the first of these words that occurs in it, in any case."""
    # Not the order of `itinerary.vehicle`, which prices and looks up: a text with two of the words differs there, and
    # "flight" needs no number here.
    lowered = text.lower()
    return next((means for means in ("taxi", "self-driving", "flight") if means in lowered), None)


def information_in_current_city(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """What a day lists lies in its cities.

    The official program compares with each letter of the city's name on a day without travel, so that such a day
    passes unless its last letter, or for transportation any letter, does not occur in the item.
    """
    for day in days:
        parts = day.cities if day.travels else tuple(day.cities[0])
        failure = misplaced_item(day, parts)
        if failure:
            return failure
    return PASSED


def misplaced_item(day: Day, parts: Sequence[str]) -> Check | None:
    """The day's first item in which `parts` (cities, or letters of one city) do not occur as they should."""
    where = " or ".join(day.cities)
    missing = [part for part in parts if part not in day.text("transportation")]
    if day.text("transportation") and missing:
        return failed(
            f"day {day.number} transportation does not name {' and '.join(day.cities)}: {day.text('transportation')!r}"
        )
    items = [(meal, day.text(meal)) for meal in MEALS] + [("attraction", item) for item in day.attractions]
    # On a travel day transportation must name both cities, a meal or attraction either one, a bed the second.
    for slot, text in items:
        # An empty attraction, as between two semicolons, is judged like any other; an empty meal is not.
        if (text or slot == "attraction") and not any(part in text for part in parts):
            return failed(f"day {day.number} {slot} {text!r} is not in {where}")
    stay = day.text("accommodation")
    if stay and not parts:
        raise Unreadable(f"day {day.number}: current_city is empty")
    if stay and parts[-1] not in stay:
        return failed(f"day {day.number} accommodation {stay!r} is not in {day.cities[-1]}")
    return None


def information_in_sandbox(
    task: TripTask, days: Sequence[Day], listings: Listings, unknown_flights: str = "fail"
) -> Check:
    """Everything listed exists in the tables. unknown_flights: see `evaluator.evaluate`."""
    for day in days:
        failure = unreal_transport(task, day, listings, unknown_flights) or unreal_item(day, listings)
        if failure:
            return failure
    return PASSED


def unreal_transport(task: TripTask, day: Day, listings: Listings, unknown_flights: str) -> Check | None:
    """Why the day's flight or drive does not exist; None if it does, or if the text is of another kind."""
    means = vehicle(day.required("transportation"))
    if means is None:  # on foot, by train, in any words: the official check looks nothing up
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
    # Date and times are not compared: a flight of any other day exists for this check.
    if listings.has_flight(number, org, dest):
        return None
    unlisted = listings.flight(number) is None
    if unknown_flights == "pass" and unlisted and not listings.knows_flights(org, dest, task.dates[day.number - 1]):
        return None
    return failed(f"day {day.number}: there is no flight {number!r} from {org} to {dest}")


def unreal_item(day: Day, listings: Listings) -> Check | None:
    """The day's first meal, attraction or accommodation that matches no row; None if all do."""
    items: list[tuple[str, str, RowsNamed]]
    items = [(meal, day.text(meal), listings.restaurants_named) for meal in MEALS]
    items += [("attraction", item, listings.attractions_named) for item in day.attractions]
    items.append(("accommodation", day.text("accommodation"), listings.accommodations_named))
    # The reason names what was looked up, since a stray comma or parenthesis in the text changes it.
    for slot, text, rows_named in items:
        if (text or slot == "attraction") and not rows_named(*name_and_city(text)):
            name, city = name_and_city(text)
            return failed(f"day {day.number} {slot} {text!r}: none in {city!r} has a name containing {name!r}")
    return None


def not_absent(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """The asked number of days and cities, with what each day needs; at least half of all fields say something."""
    return (
        wrong_days(task, days)
        or wrong_city_number(task, days)
        or absent_item(task, days)
        or sparse(task, days)
        or PASSED
    )


def wrong_days(task: TripTask, days: Sequence[Day]) -> Check | None:
    # A plan may be padded with empty objects, or with days that say so in this sentence; neither counts.
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
    """The first field that is missing or left blank where it is needed. Null is not noticed."""
    for day in days:
        absent = next((slot for slot in SLOTS if not day.has(slot)), None) or blank_slot(task, day)
        if absent:
            return failed(f"day {day.number} ({day.city_text!r}) has no {absent}")
    return None


def blank_slot(task: TripTask, day: Day) -> str | None:
    city = day.city_text
    # Each condition spells the words with other spaces: for its "to ", "Sacramento (California)" needs transportation.
    if ("from " in city or "to " in city) and day.blank("transportation"):
        return "transportation"
    if "from " not in city and " to " not in city and day.blank("attraction"):
        return "attraction"
    if day.number != task.days and day.blank("accommodation"):
        return "accommodation"
    return next((meal for meal in MEALS if "from " not in city and day.blank(meal)), None)


def sparse(task: TripTask, days: Sequence[Day]) -> Check | None:
    # Every key counts, the day's number and city too, against six fields a day.
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
