"""The five hard constraints of the official evaluator: the budget, and what the query asks for.

They are judged only if the plan is complete and everything in it exists. Each is None if the query does not set it.
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
# In the spelling of the annotated plans. The check is case-sensitive, so it misses a lower-case "self-driving".
FORBIDDEN_WORDS = {"no flight": "Flight", "no self-driving": "Self-driving"}
RULED_OUT = {"no flight": "flight", "no self-driving": SELF_DRIVING}  # the same by the names of `itinerary.vehicle`


def cost(task: TripTask, days: Sequence[Day], listings: Listings) -> Check:
    """The plan's total cost is within the budget."""
    bill = plan_bill(days, task.people, listings)
    if bill.total <= task.budget:
        return PASSED
    dearest = "; ".join(f"day {c.day} {c.slot} {c.item!r} ${c.dollars:,.0f}" for c in bill.dearest(2))
    return failed(
        f"the plan costs ${bill.total:,.0f}, ${bill.total - task.budget:,.0f} over the budget of "
        f"${task.budget:,}; its dearest items: {dearest}"
    )


def room_rule(task: TripTask, days: Sequence[Day], listings: Listings, parties_rule: str) -> Check | None:
    """No accommodation forbids the activity that the query needs. parties_rule: see `evaluator.evaluate`."""
    if task.house_rule is None:
        return None
    # Until 2024-04-26 the official test for parties had a typo and never failed; older published verdicts depend on it.
    never_judged = task.house_rule == "parties" and parties_rule != "current"
    for day, place in nights(days, listings):
        if forbids(place, task.house_rule) and not never_judged:
            return failed(
                f"day {day.number} accommodation {place.name!r} has the rule {place.house_rules!r}, "
                f"but the query needs {task.house_rule} allowed"
            )
    return PASSED


def forbids(room: Accommodation, activity: str) -> bool:
    """Whether the house rules forbid an activity: "smoking", "parties", "children under 10", "visitors" or "pets"."""
    return f"No {activity}" in room.house_rules


def room_type(task: TripTask, days: Sequence[Day], listings: Listings) -> Check | None:
    """Every accommodation has the room type that the query asks for."""
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
    """Whether an accommodation has the requested room type; types that no query uses exclude nothing."""
    if asked == "not shared room":
        return room.room_type != "Shared room"
    return room.room_type == ROOM_TYPES.get(asked, room.room_type)


def nights(days: Sequence[Day], listings: Listings) -> list[tuple[Day, Accommodation]]:
    """Each day that lists an accommodation, with the first row that matches its name."""
    matches = (
        (day, listings.accommodations_named(*name_and_city(text)))
        for day in days
        if (text := day.text("accommodation"))
    )
    return [(day, rows[0]) for day, rows in matches if rows]


def cuisine(task: TripTask, days: Sequence[Day], listings: Listings) -> Check | None:
    """Every requested cuisine is offered by at least one meal away from the origin."""
    if not task.cuisines:
        return None
    offered = {name for day in days for name in cuisines_had(task, day, listings)}
    missing = [name for name in task.cuisines if name not in offered]
    return failed(f"no meal away from {task.org} offers {' or '.join(missing)}") if missing else PASSED


def cuisines_had(task: TripTask, day: Day, listings: Listings) -> set[str]:
    """The requested cuisines of a day's meals. Quirk: a meal in the origin city ends the reading of that day."""
    offered: set[str] = set()
    for text in filter(None, map(day.text, MEALS)):
        name, city = name_and_city(text)
        if city == task.org:
            break  # not `continue`: upstream skips the rest of the day, also a later meal elsewhere
        for restaurant in listings.restaurants_named(name, city)[:1]:
            # A substring of the row's text is enough, as upstream.
            offered.update(cuisine for cuisine in task.cuisines if any(cuisine in kind for kind in restaurant.cuisines))
    return offered


def transportation(task: TripTask, days: Sequence[Day], listings: Listings) -> Check | None:
    """No day's transportation has the means that the query forbids, in the benchmark's spelling."""
    if task.transportation is None:
        return None
    word = FORBIDDEN_WORDS.get(task.transportation)
    for day in days:
        text = day.text("transportation")
        if word and word in text:
            return failed(f"day {day.number} transportation {text!r}, but the query asks for {task.transportation}")
    return PASSED


def judge(task: TripTask, days: Sequence[Day], listings: Listings, parties_rule: str) -> dict[str, Check | None]:
    """All five constraints; None for those that the query does not set. Raises Unreadable where upstream crashes."""
    return {
        "valid_cost": cost(task, days, listings),
        "valid_room_rule": room_rule(task, days, listings, parties_rule),
        "valid_cuisine": cuisine(task, days, listings),
        "valid_room_type": room_type(task, days, listings),
        "valid_transportation": transportation(task, days, listings),
    }


def unjudged(task: TripTask, reason: str) -> dict[str, Check | None]:
    """The five constraints without a verdict: `Check(None, reason)` for each that the query sets, else None."""
    is_set = {
        "valid_cost": True,
        "valid_room_rule": task.house_rule,
        "valid_cuisine": task.cuisines,
        "valid_room_type": task.room_type,
        "valid_transportation": task.transportation,
    }
    return {name: Check(None, reason) if is_set[name] else None for name in HARD}
