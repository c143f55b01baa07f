"""TravelPlanner's validators reject what the filters would never have offered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lab.models.connect import connect
from sdp.adapters.travelplanner import trip
from sdp.adapters.travelplanner.adapter import Choice, TravelPlannerAdapter
from sdp.adapters.travelplanner.options import place_text, ways
from sdp.adapters.travelplanner.trip import Decision, TripState, even_route, itinerary, legs
from sdp.operators import Verdict
from sdp.trajectory import Predicate
from travel_episodes import CATALOGUE, LISTINGS_0, TASKS, plan_for
from worlds.travelplanner.itinerary import MEALS
from worlds.travelplanner.tasks import TripTask
from worlds.travelplanner.world import TravelPlanner

WISHES = {"house_rule": None, "room_type": None, "transportation": None, "cuisines": ()}


def modes_of_legs(task: TripTask) -> list[set[str]]:
    state = TripState(task, even_route(task, task.ref_cities))
    return [{way.mode for way in ways(CATALOGUE, leg, state)} for leg in legs(task, state.route)]


TASK = next(
    replace(task, budget=10**6, **WISHES)
    for task in TASKS
    if task.days == 5 and all({"taxi", "self-driving"} <= modes for modes in modes_of_legs(task))
    and "flight" in modes_of_legs(task)[0]
)  # fmt: skip
CITY, OTHER = TASK.ref_cities
START = TripState(TASK, even_route(TASK, TASK.ref_cities))


def target(kind: str, task: TripTask = TASK, **about: Any) -> Predicate:
    named = (p for p in plan_for(task) if p.kind == kind)
    return next(p for p in named if all(p.about[name] == value for name, value in about.items()))


def validated(predicate: Predicate, *decisions: Decision, task: TripTask = TASK, before: TripState = START) -> Verdict:
    """Put decisions to the desk as Realize would, and validate its report."""
    world = TravelPlanner(LISTINGS_0, {})
    world.reset(task)
    adapter = TravelPlannerAdapter(task, world, connect("rules"))
    draft = itinerary(replace(before, task=task).decide(decisions))
    report = adapter.act(Choice(decisions, draft, submit=predicate.kind == trip.RENDER))
    return adapter.validate([predicate], report, [])


def way(day: int, mode: str) -> Decision:
    leg = next(leg for leg in legs(TASK, START.route) if leg.day == day)
    return next(option for option in ways(CATALOGUE, leg, START) if option.mode == mode).decisions[0]


def meals(day: int, city: str = CITY, first: int = 0) -> list[Decision]:
    rows = CATALOGUE.restaurants(city)[first:]
    return [Decision(day, meal, place_text(row)) for meal, row in zip(MEALS, rows, strict=False)]


def test_good_choices_are_certified() -> None:
    assert validated(target(trip.OUTBOUND), way(1, "taxi")) == Verdict(1, "certified")
    assert validated(target(trip.MEALS_OF_DAY, day=2), *meals(2)).k == 1


def test_transport_of_another_route_or_date_is_rejected() -> None:
    back = replace(way(5, "taxi"), day=1)
    assert "does not go from" in validated(target(trip.OUTBOUND), back).reason
    flight = LISTINGS_0.flights(TASK.org, CITY, TASK.dates[0])[0]
    every_day = [d for n in range(1, 32) for d in LISTINGS_0.flights(TASK.org, CITY, f"2031-05-{n:02d}")]
    late = next(row for row in every_day if row.date != flight.date)
    text = f"Flight Number: {late.number}, from {TASK.org} to {CITY}, Departure Time: 08:00, Arrival Time: 09:00"
    assert f"on {TASK.dates[0]}" in validated(target(trip.OUTBOUND), Decision(1, "transportation", text)).reason


def test_transport_that_the_travellers_do_not_want_is_rejected() -> None:
    task = replace(TASK, transportation="no self-driving")
    assert "want no self-driving" in validated(target(trip.OUTBOUND, task), way(1, "self-driving"), task=task).reason


def test_a_car_and_a_taxi_do_not_go_together() -> None:
    out = START.decide([way(1, "self-driving")])
    assert "cannot be combined with taxi" in validated(target(trip.RETURN), way(5, "taxi"), before=out).reason
    assert validated(target(trip.RETURN), way(5, "self-driving"), before=out).k == 1


def test_what_is_over_the_budget_is_rejected_with_the_sum() -> None:
    task = replace(TASK, budget=1)
    for kind, decisions in ((trip.OUTBOUND, [way(1, "taxi")]), (trip.MEALS_OF_DAY, meals(2))):
        assert "over the budget" in validated(target(kind, task), *decisions, task=task).reason


def stay_of(row: Any) -> list[Decision]:
    return [Decision(day, "accommodation", place_text(row)) for day in (1, 2)]


def test_places_that_do_not_suit_are_rejected() -> None:
    rows = CATALOGUE.stays(CITY)
    rule = next(row for row in rows if "No pets" in row.house_rules)
    task = replace(TASK, house_rule="pets")
    assert "does not allow pets" in validated(target(trip.STAY, task), *stay_of(rule), task=task).reason
    dorm = next(row for row in rows if row.room_type != "Private room")
    task = replace(TASK, room_type="private room")
    assert f"is of type {dorm.room_type}" in validated(target(trip.STAY, task), *stay_of(dorm), task=task).reason
    long = next(row for row in rows if row.minimum_nights > 2)
    assert f"at least {long.minimum_nights} nights" in validated(target(trip.STAY), *stay_of(long)).reason


def test_places_of_another_city_are_rejected() -> None:
    for kind, decisions in (
        (trip.STAY, stay_of(CATALOGUE.stays(OTHER)[0])),
        (trip.MEALS_OF_DAY, meals(2, OTHER)),
        (trip.SIGHTS_OF_DAY, [Decision(2, "attraction", f"{place_text(CATALOGUE.attractions(OTHER)[0])};")]),
    ):
        predicate = target(kind) if kind == trip.STAY else target(kind, day=2)
        assert "is not in the listings" in validated(predicate, *decisions).reason


def test_what_was_visited_before_is_rejected() -> None:
    once = meals(2)
    twice = validated(target(trip.MEALS_OF_DAY, day=2), *once[:2], replace(once[0], slot="dinner"))
    assert "is in the itinerary already" in twice.reason
    before = START.decide(once)
    again = [replace(once[0], day=1), *meals(1, first=3)[1:]]
    assert "is in the itinerary already" in validated(target(trip.MEALS_OF_DAY, day=1), *again, before=before).reason
    zoo = Decision(1, "attraction", f"{place_text(CATALOGUE.attractions(CITY)[0])};")
    seen = validated(target(trip.SIGHTS_OF_DAY, day=2), replace(zoo, day=2), before=START.decide([zoo]))
    assert "is in the itinerary already" in seen.reason


def test_a_meal_may_be_missing_on_travel_days_only() -> None:
    short = meals(2)[:2]
    hungry = validated(target(trip.MEALS_OF_DAY, day=2), *short, Decision(2, "dinner", trip.EMPTY))
    assert hungry.reason == "dinner of day 2 is missing"
    rest = [replace(decision, day=1) for decision in short]
    assert validated(target(trip.MEALS_OF_DAY, day=1), *rest, Decision(1, "dinner", trip.EMPTY)).k == 1


def test_a_day_without_travel_needs_an_attraction() -> None:
    empty = validated(target(trip.SIGHTS_OF_DAY, day=2), Decision(2, "attraction", trip.EMPTY))
    assert empty.reason == "day 2 has no attraction"
    assert validated(target(trip.SIGHTS_OF_DAY, day=1), Decision(1, "attraction", trip.EMPTY)).k == 1


def test_the_budget_check_names_an_undecided_slot_then_a_missing_cuisine_then_the_sum() -> None:
    assert validated(target(trip.BUDGET)).reason == "transportation of day 1 is not decided"
    check = target(trip.BUDGET)
    hungry = replace(check, about={**check.about, "needed": [], "cuisines": ["Martian"]})
    assert validated(hungry).reason == "no meal offers Martian"
    poor = replace(TASK, budget=0)
    free = replace(target(trip.BUDGET, poor), about={**target(trip.BUDGET, poor).about, "needed": []})
    assert "over the budget" in validated(free, *meals(2), task=poor).reason


def test_an_itinerary_that_was_handed_in_is_rendered() -> None:
    assert validated(target(trip.RENDER)).k == 1
