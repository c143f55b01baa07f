"""TravelPlanner's five filters, their diagnostics, and the cap on what is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sdp.adapters.travelplanner import trip
from sdp.adapters.travelplanner.options import (
    AFFORDABLE,
    CAP,
    LISTINGS,
    LOCAL,
    MODE,
    UNIQUE,
    Option,
    Options,
    attraction_options,
    cap,
    meal_options,
    sift,
    stay_options,
    transport_options,
)
from sdp.adapters.travelplanner.trip import Decision, TripState, even_route
from sdp.loop import Settings
from sdp.trajectory import Predicate
from travel_episodes import CATALOGUE, LISTINGS_0, TASKS, Picking, by_days, catalogue_of, plan_for, play
from worlds.travelplanner.listings import SELF_DRIVING, Distance, Flight, Listings, Restaurant
from worlds.travelplanner.tasks import TripTask


def option(label: str, cost: float, *cuisines: str) -> Option:
    return Option(label, (Decision(1, "lunch", label, cost, "", cuisines),), cost, cuisines=cuisines)


@given(
    offers=st.lists(st.sets(st.sampled_from("abcdef"), max_size=3), max_size=60),
    wanted=st.lists(st.sampled_from("abcdef"), unique=True, max_size=4), size=st.integers(4, 12),
)  # fmt: skip
@example(offers=[{"a"}] * 31 + [{"b"}], wanted=["a", "b"], size=30)
def test_the_cap_never_hides_the_cheapest_offer_of_a_wanted_cuisine(
    offers: list[set[str]], wanted: list[str], size: int
) -> None:
    options = sift([option(f"{n:02d}", float(n), *kinds) for n, kinds in enumerate(offers)], (), "lunch").options
    shown = cap(Options(options), wanted, size).options
    assert len(shown) == min(size, len(options)) and list(shown) == [o for o in options if o in shown]
    for cuisine in wanted:
        cheapest = next((o for o in options if cuisine in o.cuisines), None)
        assert cheapest is None or cheapest in shown
    spare = [o for o in options if o not in shown]
    kept = {next((o for o in options if cuisine in o.cuisines), None) for cuisine in wanted}
    assert all(o.cost < s.cost for o in shown if o not in kept for s in spare)


def test_at_most_30_options_are_shown_cheapest_first() -> None:
    asked = [fields for number in (0, 20, 44) for fields in _asked(number)]
    costs = [[listed.cost for listed in fields["options"]] for fields in asked]
    assert max(map(len, costs)) == CAP and all(row == sorted(row) for row in costs)


def _asked(number: int) -> list[dict[str, Any]]:
    picking = Picking()
    play(replace(TASKS[number], budget=10**6), picking, loop=Settings(step_cap=30))
    return picking.asked


HARD = next(t for t in TASKS if t.level == "hard" and t.days == 5 and t.room_type and t.house_rule)
FREE = replace(HARD, house_rule=None, room_type=None, transportation=None, cuisines=(), budget=10**6)


def state_of(task: TripTask, *decisions: Decision) -> TripState:
    return TripState(task, even_route(task, task.ref_cities), decisions)


def target_of(task: TripTask, kind: str) -> Predicate:
    return next(predicate for predicate in plan_for(task) if predicate.kind == kind)


def test_a_place_that_is_listed_nowhere_is_left_out_by_sandbox_membership() -> None:
    nowhere = replace(target_of(FREE, trip.STAY), about={**target_of(FREE, trip.STAY).about, "city": "Nowhere"})
    assert stay_options(CATALOGUE, state_of(FREE), nowhere).diagnostic.startswith(LISTINGS)


def test_wishes_that_no_place_meets_are_named_as_local_constraints() -> None:
    task = replace(FREE, room_type="shared room")
    dorms = [row for row in LISTINGS_0.accommodations(task.ref_cities[0]) if row.room_type == "Shared room"]
    crowded = Listings((), [replace(row, minimum_nights=9) for row in dorms], (), (), (), {})
    options = stay_options(catalogue_of(crowded), state_of(task), target_of(task, trip.STAY))
    assert dorms and options.diagnostic.startswith(LOCAL)


def test_a_car_left_at_home_is_named_as_mode_consistency() -> None:
    task = next(t for t in TASKS if t.days == 3 and _drives(replace(t, transportation=None)))
    driving = Decision(1, "transportation", "Self-driving, from A to B", 0.0, SELF_DRIVING)
    without_cars = replace(task, transportation="no self-driving", budget=10**6)
    options = transport_options(CATALOGUE, state_of(without_cars, driving), target_of(without_cars, trip.RETURN))
    assert options.options == () and options.diagnostic.startswith(MODE)


def _drives(task: TripTask) -> bool:
    options = transport_options(CATALOGUE, state_of(replace(task, budget=10**6)), target_of(task, trip.RETURN)).options
    return len({o.mode for o in options}) > 1


def test_a_car_is_not_taken_out_where_it_cannot_be_driven_back() -> None:
    task = replace(by_days(3), transportation=None, budget=10**6)
    org, city = task.org, task.ref_cities[0]
    home = Flight("F2", 90, "08:00", "09:00", "1 hours 0 minutes", task.dates[-1], city, org, 1.0)
    one_way = [Distance(org, city, "5 hours", "500 km"), Distance(city, org, "", "")]
    catalogue = catalogue_of(Listings([home], (), (), (), one_way, {}))
    offered = transport_options(catalogue, state_of(task), target_of(task, trip.OUTBOUND)).options
    assert [option.mode for option in offered] == ["taxi"]


def test_restaurants_that_were_all_visited_are_named_as_uniqueness() -> None:
    target = target_of(FREE, trip.MEALS_OF_DAY)
    rows = CATALOGUE.restaurants(target.about["cities"][0])
    visited = [Decision(9, f"meal {n}", f"{row.name}, {row.city}") for n, row in enumerate(rows)]
    state = state_of(FREE, *(replace(decision, slot="lunch") for decision in visited))
    assert meal_options(CATALOGUE, state, target, "dinner").diagnostic.startswith(UNIQUE)


def test_attractions_that_were_all_visited_are_named_as_uniqueness() -> None:
    target = target_of(FREE, trip.SIGHTS_OF_DAY)
    rows = CATALOGUE.attractions(target.about["cities"][0])
    seen = state_of(FREE, *(Decision(9, "attraction", f"{row.name}, {row.city};") for row in rows))
    assert attraction_options(CATALOGUE, seen, target).diagnostic.startswith(UNIQUE)


def test_an_empty_purse_is_named_as_affordability_with_the_cheapest_price() -> None:
    poor = replace(FREE, budget=0)
    options = meal_options(CATALOGUE, state_of(poor), target_of(poor, trip.MEALS_OF_DAY), "lunch")
    cheapest = min(row.average_cost for row in CATALOGUE.restaurants(poor.ref_cities[0])) * poor.people
    assert options.diagnostic.startswith(AFFORDABLE) and f"the cheapest costs ${cheapest:,}" in options.diagnostic


def test_the_diagnostic_is_the_reason_of_the_failed_attempt_and_reaches_replan() -> None:
    trajectory = play(replace(by_days(3), budget=1), loop=Settings(step_cap=5))
    assert [attempt.k for attempt in trajectory.attempts] == [0] * 5 and trajectory.replans == 1
    assert all(attempt.reason.startswith(AFFORDABLE) for attempt in trajectory.attempts)
    assert trajectory.cost.calls == 0, "the model is not asked to choose from nothing"


def test_a_restaurant_whose_name_another_one_contains_is_offered_once_and_only_if_it_is_found_first() -> None:
    names = (("Oven Bar", 9), ("Oven", 5), ("Oven Bar", 9))
    rows = [Restaurant(name, "Farwick", ("Tea",), cost, 4.0) for name, cost in names]
    catalogue = catalogue_of(Listings((), (), rows, (), (), {}))
    assert [row.name for row in catalogue.restaurants("Farwick")] == ["Oven Bar"]
