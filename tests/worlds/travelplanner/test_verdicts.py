"""TravelPlanner's evaluator, rates and strict reader on hand-made listings of two states."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worlds.travelplanner.evaluator import PlanVerdict, Rate, evaluate, rates
from worlds.travelplanner.hard import nights
from worlds.travelplanner.itinerary import SLOTS, before_parenthesis, days_read, name_and_city, plan_bill, route_in
from worlds.travelplanner.listings import Accommodation, Attraction, Distance, Flight, Listings, Restaurant
from worlds.travelplanner.strict import strict_faults
from worlds.travelplanner.tasks import TripTask

TASK = TripTask(
    id="train-000", split="train", idx=0, goal="a trip", org="Homeby", dest="Farwick", days=3, visiting_city_number=1,
    dates=("2031-05-01", "2031-05-02", "2031-05-03"), people=6, house_rule=None, cuisines=(), room_type=None,
    transportation=None, budget=5000, level="easy",
)  # fmt: skip


def place(name: str, **changes: Any) -> Accommodation:
    row = Accommodation(name, "Private room", 100.0, 1, 4.0, "No pets", 4, "Farwick")
    return replace(row, **changes)


def food(name: str, *cuisines: str, city: str = "Farwick", cost: int = 10) -> Restaurant:
    return Restaurant(name, city, cuisines or ("Tea",), cost, 4.0)


def flight(number: str, org: str, dest: str, date: str) -> Flight:
    return Flight(number, 50, "08:00", "09:00", "1 hours 0 minutes", date, org, dest, 300.0)


@pytest.fixture(scope="module")
def listings() -> Listings:
    return Listings(
        flights=[flight("F1", "Homeby", "Farwick", "2031-05-01"), flight("F2", "Farwick", "Homeby", "2031-05-03")],
        accommodations=[
            place("Old Loft"), place("Long Loft", minimum_nights=3), place("Nice, quiet flat"),
            place("Twin Room", minimum_nights=9), place("Twin Room 2"),
            place("Dorm", room_type="Shared room", house_rules="No parties & No smoking"),
        ],
        restaurants=[
            food("Blue Fork", "French"), food("Red Fork", "Indian"), food("Old Oven"), food("Green Spoon"),
            food("Blue Fork Annex", cost=90), food("Home Table", "Italian", city="Homeby"),
        ],
        attractions=[Attraction(name, 0.0, 0.0, "", "", "", "Farwick") for name in ("Zoo", "Mill")],
        distances=[
            Distance("Homeby", "Farwick", "5 hours", "1,100 km"),
            Distance("Farwick", "Homeby", "5 hours", "99.9 km"),
            Distance("Homeby", "Midtown", "1 day 2 hours", "3,000 km"),
            Distance("Midtown", "Homeby", "", ""),
        ],
        city_states={"Homeby": "Westland", "Farwick": "Eastland", "Midtown": "Eastland"},
        known_route_days=frozenset({("Homeby", "Farwick", "2031-05-01")}),
    )  # fmt: skip


def good_plan() -> list[dict[str, Any]]:
    stay = "Old Loft, Farwick"
    return [
        day(1, "from Homeby to Farwick", "Flight Number: F1, from Homeby to Farwick, Departure Time: 08:00",
            accommodation=stay),
        day(2, "Farwick", breakfast="Blue Fork, Farwick", lunch="Red Fork, Farwick", dinner="Old Oven, Farwick",
            attraction="Zoo, Farwick;Mill, Farwick;", accommodation=stay),
        day(3, "from Farwick to Homeby", "Flight Number: F2, from Farwick to Homeby"),
    ]  # fmt: skip


def day(number: int, city: str, transportation: str = "-", **slots: str) -> dict[str, Any]:
    blank = {"days": number, "current_city": city} | dict.fromkeys(SLOTS, "-")
    return blank | {"transportation": transportation} | slots


def changed(number: int, **fields: Any) -> list[dict[str, Any]]:
    """The good plan with fields of one day changed."""
    plan = good_plan()
    plan[number - 1] |= fields
    return plan


def reason(plan: Any, name: str, listings: Listings, task: TripTask = TASK, **rules: Any) -> str | None:
    """Why a check failed; None if it did not."""
    return evaluate(task, plan, listings, **rules).failures.get(name)


def test_a_good_plan_passes_both_readers(listings: Listings) -> None:
    verdict = evaluate(TASK, good_plan(), listings)
    assert verdict.final and verdict.error is None and verdict.failures == {}
    assert strict_faults(TASK, good_plan(), listings) == []


def test_an_accommodation_that_no_listing_has_is_no_night(listings: Listings) -> None:
    days = days_read(changed(1, accommodation="Nowhere Inn, Farwick"), 3)
    assert [(day.number, row.name) for day, row in nights(days, listings)] == [(2, "Old Loft")]


def test_the_bill_counts_seats_meals_and_units_for_everyone(listings: Listings) -> None:
    bill = plan_bill(days_read(good_plan(), 3), TASK.people, listings)
    assert [charge.dollars for charge in bill.charges] == [300, 200, 60, 60, 60, 200, 300]
    assert "costs $1,180, $180 over the budget of $1,000" in reason(
        good_plan(), "valid_cost", listings, replace(TASK, budget=1000)
    )


def test_drives_are_charged_by_vehicle_in_whole_dollars(listings: Listings) -> None:
    plan = changed(1, transportation="Self-driving, from Homeby to Farwick")
    plan[2]["transportation"] = "Self-driving, from Farwick to Homeby"
    charges = plan_bill(days_read(plan, 3), TASK.people, listings).charges
    assert (charges[0].dollars, charges[-1].dollars) == (2 * 55, 2 * 4)
    plan[2]["transportation"] = "Taxi, from Farwick to Homeby"
    assert plan_bill(days_read(plan, 3), TASK.people, listings).charges[-1].dollars == 2 * 99


@pytest.mark.parametrize(("number", "fields", "name", "words"), [
    (3, {"current_city": "from Farwick to Midtown"}, "is_reasonable_visiting_city", "not a round trip"),
    (1, {"current_city": "from Midtown to Farwick"}, "is_reasonable_visiting_city", "not in Homeby"),
    (2, {"current_city": "Nowhere"}, "is_reasonable_visiting_city", "only once"),
    (2, {"lunch": "Blue Fork, Farwick"}, "is_valid_restaurants", "day 2 lunch"),
    (2, {"attraction": "Zoo, Farwick;Zoo, Farwick;"}, "is_valid_attractions", "already visited"),
    (2, {"accommodation": "Long Loft, Farwick"}, "is_valid_accommodation", "at least 3"),
    (1, {"transportation": "Self-driving, from Homeby to Farwick"}, "is_valid_transportation", "by flight"),
    (1, {"transportation": "-"}, "is_valid_transportation", "no transportation"),
    (1, {"dinner": "Home"}, "is_valid_information_in_current_city", "day 1 dinner"),
    (2, {"dinner": "Old Oven, Midtown"}, "is_valid_information_in_sandbox", "Old Oven"),
    (2, {"attraction": "Zoo, Farwick;Palace, Farwick;"}, "is_valid_information_in_sandbox", "Palace"),
    (1, {"transportation": "Flight Number: F9, from Homeby to Farwick"}, "is_valid_information_in_sandbox", "F9"),
    (2, {"lunch": "-"}, "is_not_absent", "no lunch"),
    (1, {"accommodation": "-"}, "is_not_absent", "no accommodation"),
    (2, {"attraction": ""}, "is_not_absent", "no attraction"),
])  # fmt: skip
def test_each_failure_names_what_is_wrong(
    listings: Listings, number: int, fields: dict[str, Any], name: str, words: str
) -> None:
    assert words in reason(changed(number, **fields), name, listings)


def test_the_number_of_cities_and_of_days_is_the_one_that_was_asked_for(listings: Listings) -> None:
    two = replace(TASK, visiting_city_number=2)
    assert reason(good_plan(), "is_not_absent", listings, two) == "the plan visits 1 cities (Farwick), not 2"
    longer = replace(TASK, days=4, dates=(*TASK.dates, "2031-05-04"))
    assert reason([*good_plan(), {}], "is_not_absent", listings, longer) == "the plan has 3 of 4 days"


def test_a_plan_with_under_half_of_its_fields_filled_is_not_complete(listings: Listings) -> None:
    plan = good_plan()
    for unnumbered in plan:
        unnumbered["days"] = None  # like a meal that is null, it is not noticed as absent
    plan[1] |= {"breakfast": None, "lunch": None}
    assert reason(plan, "is_not_absent", listings) is None  # nine of eighteen
    plan[1]["dinner"] = None
    assert reason(plan, "is_not_absent", listings) == "only 8 fields are filled, under half of 18"


@pytest.mark.parametrize(("fields", "fault"), [
    ({2: {"attraction": "Zoo, Farwick;Palace of Nothing"}}, "semicolon"),
    ({2: {"lunch": None}}, "day 2: lunch is missing or not text"),
    ({2: {"breakfast": "Fork, Farwick"}}, "exact name"),  # a part of two rows' names
    ({1: {"accommodation": "Twin Room, Farwick"}, 2: {"accommodation": "Twin Room, Farwick"}}, "asks for 9"),
], ids=["behind the last semicolon", "null", "a part of a name", "a name of two rows has no minimum"])  # fmt: skip
def test_what_passes_officially_and_not_strictly(
    listings: Listings, fields: dict[int, dict[str, Any]], fault: str
) -> None:
    plan = good_plan()
    for number, changes in fields.items():
        plan[number - 1] |= changes
    assert evaluate(TASK, plan, listings).final
    assert any(fault in told for told in strict_faults(TASK, plan, listings))


def test_a_flight_of_another_day_passes_officially_only(listings: Listings) -> None:
    later = replace(TASK, dates=("2031-06-01", "2031-06-02", "2031-06-03"))
    assert evaluate(later, good_plan(), listings).final
    assert sum("no flight of 2031-06" in fault for fault in strict_faults(later, good_plan(), listings)) == 2


def test_three_days_may_officially_go_anywhere(listings: Listings) -> None:
    elsewhere = replace(TASK, dest="Midtown")
    assert evaluate(elsewhere, good_plan(), listings).final
    assert any("is not the destination Midtown" in fault for fault in strict_faults(elsewhere, good_plan(), listings))


def test_unknown_flights_pass_only_where_they_might_exist(listings: Listings) -> None:
    unknown_back = changed(3, transportation="Flight Number: F7, from Farwick to Homeby")
    known_out = changed(1, transportation="Flight Number: F7, from Homeby to Farwick")
    check = "is_valid_information_in_sandbox"
    assert reason(unknown_back, check, listings) is not None
    assert evaluate(TASK, unknown_back, listings, unknown_flights="pass").final
    assert reason(known_out, check, listings, unknown_flights="pass") is not None


def test_the_parties_rule_once_never_failed(listings: Listings) -> None:
    plan = changed(1, accommodation="Dorm, Farwick")
    task = replace(TASK, house_rule="parties")
    assert "parties" in reason(plan, "valid_room_rule", listings, task)
    assert reason(plan, "valid_room_rule", listings, task, parties_rule="before 2024-04-26") is None
    assert "smoking" in reason(
        plan, "valid_room_rule", listings, replace(TASK, house_rule="smoking"), parties_rule="before 2024-04-26"
    )


def test_cuisines_count_away_from_the_origin_until_its_first_meal_of_a_day(listings: Listings) -> None:
    task = replace(TASK, cuisines=("French", "Italian"))
    assert "Italian" in reason(changed(3, dinner="Home Table, Homeby"), "valid_cuisine", listings, task)
    assert reason(good_plan(), "valid_cuisine", listings, replace(TASK, cuisines=("French", "Indian"))) is None


def test_room_type_and_transportation_wishes(listings: Listings) -> None:
    assert "entire room" in reason(good_plan(), "valid_room_type", listings, replace(TASK, room_type="entire room"))
    assert reason(good_plan(), "valid_room_type", listings, replace(TASK, room_type="not shared room")) is None
    grounded = replace(TASK, transportation="no flight")
    assert "no flight" in reason(good_plan(), "valid_transportation", listings, grounded)


def test_hard_constraints_wait_for_a_complete_and_real_plan(listings: Listings) -> None:
    verdict = evaluate(replace(TASK, house_rule="pets"), changed(2, lunch="-"), listings)
    assert verdict.hard["valid_cost"].passed is None and "not judged" in verdict.hard["valid_cost"].reason
    assert verdict.hard["valid_room_rule"].passed is None and verdict.hard["valid_cuisine"] is None


@pytest.mark.parametrize(("number", "fields"), [
    (2, {"current_city": None}),
    (1, {"current_city": "from Homeby"}),
    (2, {"accommodation": None}),
    (2, {"dinner": 7}),
    (3, {"transportation": "Flight Number F2, from Farwick to Homeby"}),
])  # fmt: skip
def test_where_the_official_program_stops_the_plan_fails_with_an_error(
    listings: Listings, number: int, fields: dict[str, Any]
) -> None:
    verdict = evaluate(TASK, changed(number, **fields), listings)
    assert not verdict.final and f"day {number}" in verdict.error
    assert verdict.hard["valid_cost"].passed is None


@pytest.mark.parametrize("key", ["current_city", "transportation"])
def test_a_missing_key_that_stops_the_official_program_is_an_error(listings: Listings, key: str) -> None:
    plan = good_plan()
    del plan[1][key]
    assert key in evaluate(TASK, plan, listings).error


def test_an_undelivered_plan_fails_everything_without_error(listings: Listings) -> None:
    for nothing in (None, [], {}, ""):
        verdict = evaluate(TASK, nothing, listings)
        assert not verdict.delivered and not verdict.final and verdict.error is None
        assert len(verdict.failures) == 8


def test_days_beyond_the_trip_are_not_read(listings: Listings) -> None:
    assert evaluate(TASK, [*good_plan(), {}, {"current_city": 5}], listings).final


def test_rates_count_plans_and_constraints(listings: Listings) -> None:
    tasks = [TASK, replace(TASK, house_rule="pets")]
    verdicts = [evaluate(task, good_plan(), listings) for task in tasks]
    result = rates(verdicts, tasks)
    assert result.hard_micro == Rate(2, 3) and result.final == Rate(1, 2) and result.commonsense_micro == Rate(16, 16)
    assert rates(verdicts, tasks, "official").hard_micro == Rate(2, 105)
    with pytest.raises(ValueError, match="one for each"):
        rates(verdicts, tasks[:1])
    with pytest.raises(ValueError, match="made-train"):
        rates(verdicts[:1], [replace(TASK, split="made-train")], "official")


def test_roads_of_a_day_or_without_distance_do_not_exist(listings: Listings) -> None:
    assert listings.ground("Homeby", "Midtown", "taxi") is None and listings.ground("Midtown", "Homeby", "taxi") is None
    with pytest.raises(ValueError, match="self-driving"):
        listings.ground("Homeby", "Farwick", "bicycle")


@pytest.mark.parametrize(("text", "parts"), [
    ("Nice, quiet flat, Farwick", ("Nice, quiet flat", "Farwick")),
    ("Old Loft,Farwick (Eastland)", ("Old Loft", "Farwick")),
    ("Loft, Farwick; Cost: 5", ("Loft", "Farwick; Cost: 5")),
    ("no comma", ("-", "-")),
    ("x,", ("-", "-")),
    ("first line\nsecond, Farwick", ("second", "Farwick")),
])  # fmt: skip
def test_items_are_split_at_the_last_comma(text: str, parts: tuple[str, str]) -> None:
    assert name_and_city(text) == parts


def test_routes_and_parentheses_are_read_as_the_official_program_does() -> None:
    assert route_in("Taxi, from  A b  to C (State), 5 km") == ("A b", "C (State)")
    assert route_in("from A") is None and route_in("from" + " " * 5000) is None
    assert before_parenthesis("X(State)") == "X" and before_parenthesis("X (State)") == "X "
    assert before_parenthesis("X (open") == "X (open"


texts = st.text(max_size=20) | st.sampled_from([
    "-", "", "from Homeby to Farwick", "Farwick", "from", "from  to ", "Zoo, Farwick;", ";;", ",", "Fork,",
    "Flight Number: F1", "flight number", "Taxi from Homeby to Farwick", "Self-driving", "Old Loft, Farwick", "\x00",
    "\ud800", "a\n, b\n", "from A(\nB) to C(", "(", "Flight Number: ",
])  # fmt: skip
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
keys = st.sampled_from(["days", "current_city", *SLOTS])
days = st.one_of(anything, st.dictionaries(keys, st.one_of(texts, anything)))
plans = st.one_of(anything, st.lists(days, max_size=5))


@pytest.mark.slow
@settings(max_examples=300)
@given(
    plan=plans | st.builds(good_plan),
    changes=st.lists(st.tuples(st.integers(0, 2), keys, st.one_of(texts, anything)), max_size=3),
    removed=st.lists(st.tuples(st.integers(0, 2), keys), max_size=2),
)
def test_no_plan_and_no_damage_to_a_good_one_crashes_either_reader(
    listings: Listings, plan: Any, changes: list[tuple[int, str, Any]], removed: list[tuple[int, str]]
) -> None:
    if isinstance(plan, list) and len(plan) == 3 and all(isinstance(record, dict) for record in plan):
        for index, key, value in changes:
            plan[index][key] = value
        for index, key in removed:
            plan[index].pop(key, None)
    task = replace(TASK, house_rule="pets", cuisines=("French",), room_type="private room", transportation="no flight")
    verdict = evaluate(task, plan, listings, unknown_flights="pass")
    assert isinstance(verdict, PlanVerdict) and verdict.delivered == bool(plan)
    assert not (verdict.error and verdict.final)
    assert all(isinstance(fault, str) and fault for fault in strict_faults(task, plan, listings))
