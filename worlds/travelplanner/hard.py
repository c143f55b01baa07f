"""The five hard constraints of the official evaluator: the budget, and what the query asks for.

They are judged only when everything in the plan is complete and exists. Each returns None where the query does not ask.
Source: Xie et al. 2024 (TravelPlanner), the behaviour of the public evaluation scripts.
"""

from __future__ import annotations

from collections.abc import Sequence

from worlds.travelplanner.commonsense import PASSED, Check, failed
from worlds.travelplanner.itinerary import MEALS, Day, name_and_city, plan_bill
from worlds.travelplanner.listings import SELF_DRIVING, Accommodation, Listings
from worlds.travelplanner.tasks import TripTask

HARD = ("valid_cost", "valid_room_rule", "valid_cuisine", "valid_room_type", "valid_transportation")
ROOM_TYPES = {"shared room": "Shared room", "private room": "Private room", "entire room": "Entire home/apt"}
# The spelling of the annotated plans. The check respects case, so that "self-driving" in lower case escapes it.
FORBIDDEN_WORDS = {"no flight": "Flight", "no self-driving": "Self-driving"}
RULED_OUT = {"no flight": "flight", "no self-driving": SELF_DRIVING}  # the same, as `itinerary.vehicle` names them


def cost(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """The whole bill is within the budget."""
    bill = plan_bill(days, task.people, listings)
    if bill.total <= task.budget:
        return PASSED
    dearest = "; ".join(f"day {c.day} {c.slot} {c.item!r} ${c.dollars:,.0f}" for c in bill.dearest(2))
    return failed(
        f"the plan costs ${bill.total:,.0f}, ${bill.total - task.budget:,.0f} over the budget of "
        f"${task.budget:,}; its dearest items: {dearest}"
    )


def room_rule(task: TripTask, days: Sequence[Day], listings: Listings, parties_rule: str) -> Check | None:
    """No accommodation forbids what the party brings. parties_rule: see `evaluator.evaluate`."""
    if task.house_rule is None:
        return None
    # Upstream's test for parties had a typo until 2024-04-26 and never failed. Verdicts published before that need it.
    never_judged = task.house_rule == "parties" and parties_rule != "current"
    for day, place in nights(days, listings):
        if forbids(place, task.house_rule) and not never_judged:
            return failed(
                f"day {day.number} accommodation {place.name!r} has the rule {place.house_rules!r}, "
                f"but the query needs {task.house_rule} allowed"
            )
    return PASSED


def forbids(room: Accommodation, activity: str) -> bool:
    """Whether the house rules say no to "smoking", "parties", "children under 10", "visitors" or "pets"."""
    return f"No {activity}" in room.house_rules


def room_type(task: TripTask, days: Sequence[Day], listings: Listings) -> Check | None:
    """Every accommodation is of the room type that the query asks for."""
    if task.room_type is None:
        return None
    for day, place in nights(days, listings):
        if not has_room_type(place, task.room_type):
            return failed(
                f"day {day.number} accommodation {place.name!r} is of type {place.room_type!r}, "
                f"but the query asks for {task.room_type!r}"
            )
    return PASSED


def has_room_type(room: Accommodation, asked: str) -> bool:
    """Whether a place is of a query's room type; words that no query uses exclude nothing."""
    if asked == "not shared room":
        return room.room_type != "Shared room"
    return room.room_type == ROOM_TYPES.get(asked, room.room_type)


def nights(days: Sequence[Day], listings: Listings) -> list[tuple[Day, Accommodation]]:
    """Each day that lists an accommodation, with the first row that its name fits."""
    found = (
        (day, listings.accommodations_named(*name_and_city(text)))
        for day in days
        if (text := day.text("accommodation"))
    )
    return [(day, rows[0]) for day, rows in found if rows]


def cuisine(task: TripTask, days: Sequence[Day], listings: Listings) -> Check | None:
    """Every cuisine asked for is had at least once, away from the origin."""
    if not task.cuisines:
        return None
    had = {wanted for day in days for wanted in cuisines_had(task, day, listings)}
    missing = [wanted for wanted in task.cuisines if wanted not in had]
    return failed(f"no meal away from {task.org} offers {' or '.join(missing)}") if missing else PASSED


def cuisines_had(task: TripTask, day: Day, listings: Listings) -> set[str]:
    """The wanted cuisines of a day's meals. A meal in the origin ends the reading of that day."""
    had: set[str] = set()
    for text in filter(None, map(day.text, MEALS)):
        name, city = name_and_city(text)
        if city == task.org:
            break  # not `continue`: upstream skips the rest of the day, a later meal elsewhere included
        for restaurant in listings.restaurants_named(name, city)[:1]:
            # As a part of the row's text, as upstream looks it up.
            had.update(wanted for wanted in task.cuisines if any(wanted in kind for kind in restaurant.cuisines))
    return had


def transportation(task: TripTask, days: Sequence[Day], listings: Listings) -> Check | None:
    """The way of travel that the query rules out is not written, in the benchmark's own spelling."""
    if task.transportation is None:
        return None
    word = FORBIDDEN_WORDS.get(task.transportation)
    for day in days:
        text = day.text("transportation")
        if word and word in text:
            return failed(f"day {day.number} transportation {text!r}, but the query asks for {task.transportation}")
    return PASSED


def judge(task: TripTask, days: Sequence[Day], listings: Listings, parties_rule: str) -> dict[str, Check | None]:
    """All five constraints; None where the query does not set one. Raises Unreadable where the official one stops."""
    return {
        "valid_cost": cost(task, days, listings),
        "valid_room_rule": room_rule(task, days, listings, parties_rule),
        "valid_cuisine": cuisine(task, days, listings),
        "valid_room_type": room_type(task, days, listings),
        "valid_transportation": transportation(task, days, listings),
    }


def unjudged(task: TripTask, reason: str) -> dict[str, Check | None]:
    """The same five, each that the query sets left open for the reason given."""
    asked = {
        "valid_cost": True,
        "valid_room_rule": task.house_rule,
        "valid_cuisine": task.cuisines,
        "valid_room_type": task.room_type,
        "valid_transportation": task.transportation,
    }
    return {name: Check(None, reason) if asked[name] else None for name in HARD}
