"""TravelPlanner's desk: what it tells of drafts, and that no text makes it raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from travel_episodes import LISTINGS_0, TASKS, by_days, delivered, play
from worlds.travelplanner.itinerary import SLOTS, days_read, plan_bill
from worlds.travelplanner.listings import SELF_DRIVING
from worlds.travelplanner.tasks import TripTask
from worlds.travelplanner.world import TravelPlanner, blank_draft


def desk(task: TripTask | None = None) -> TravelPlanner:
    world = TravelPlanner(LISTINGS_0, {"validation": TASKS})
    world.reset(task or by_days(5))
    return world


ACTIONS = ("FlightSearch", "AccommodationSearch", "RestaurantSearch", "AttractionSearch", "GoogleDistanceMatrix",
           "CitySearch", "Check", "Submit")  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        ["Flight Number: M1", "flight number", "Taxi, from A to B", "from A to B", "Self-driving", "-", ";", "a, b;"]
    )
)
keys = st.sampled_from([*SLOTS, "current_city", "days"])
days = st.lists(st.dictionaries(keys, scalars | st.lists(scalars, max_size=2), max_size=8) | scalars, max_size=7)
requests = st.fixed_dictionaries(
    {"slots": st.lists(st.lists(scalars, max_size=3), max_size=3) | scalars, "draft": days | scalars}
)


@given(text=st.text() | st.sampled_from(["", "Check", "Check[", "Submit[]x", "Check[[1]]", "Fly[A]", "[]", "\ud800"]))
def test_an_action_that_the_desk_does_not_know_is_refused_in_words(text: str) -> None:
    step = desk().step(text)
    assert step.text.startswith("That is no action here. The actions are FlightSearch, ")
    assert step.facts == {"refused": text} and not step.done


@given(action=st.sampled_from(ACTIONS), text=st.text(max_size=60))
def test_no_argument_of_any_action_raises(action: str, text: str) -> None:
    assert desk().step(f"{action}[{text}]").text


@settings(max_examples=300)
@given(request=requests | days | scalars, action=st.sampled_from(["Check", "Submit"]))
@example(request={"slots": [[float("inf"), "lunch"]], "draft": []}, action="Check")
@example(request={"slots": [[1, "transportation"]], "draft": [{"transportation": "flight number 3"}]}, action="Check")
def test_no_draft_raises_whatever_json_it_is(request: Any, action: str) -> None:
    assert desk().step(f"{action}[{json.dumps(request)}]").text


@pytest.mark.parametrize("deep", ["[" * 100_000, "Check[" + "[" * 100_000 + "]", "Submit[" + '{"a":' * 100_000 + "]"])
def test_endless_nesting_is_refused(deep: str) -> None:
    assert "refused" in desk().step(deep).facts


def test_a_desk_without_a_task_says_so() -> None:
    world = TravelPlanner(LISTINGS_0, {})
    assert world.step("CitySearch[x]").text == "No task is open at this desk." and world.step("x").done


def test_a_split_that_the_desk_does_not_have_is_named_with_those_it_has() -> None:
    with pytest.raises(ValueError, match="no split 'test' here; choose one of validation"):
        desk().tasks("test")


def test_the_searches_tell_what_the_tables_hold() -> None:
    task = by_days(5)
    world, city = desk(task), task.ref_cities[0]
    flights = world.step(f"FlightSearch[{task.org}, {city}, {task.dates[0]}]")
    assert len(flights.facts["rows"]) == len(LISTINGS_0.flights(task.org, city, task.dates[0]))
    assert world.step(f"CitySearch[{task.dest}]").facts["cities"] == list(LISTINGS_0.cities(task.dest))
    restaurants = world.step(f"RestaurantSearch[{city}]")
    assert len(restaurants.text.split("\n")) == len(restaurants.facts["rows"]) == len(LISTINGS_0.restaurants(city))
    assert "Nothing is listed" in world.step("AttractionSearch[Nowhere]").text


def test_the_desk_resolves_transport_as_the_evaluator_does() -> None:
    task = by_days(5)
    draft, city = blank_draft(task), task.ref_cities[0]
    row = next(r for r in LISTINGS_0.restaurants(city))
    draft[0] |= {"current_city": f"from {task.org} to {city}", "lunch": f"{row.name}, {row.city}"}
    draft[0]["transportation"] = f"Self-driving, from {task.org}(home) to {city}(there), by car"
    request = {"slots": [[1, "transportation"], [1, "lunch"], [9, "lunch"]], "draft": draft}
    facts = desk(task).step(f"Check[{json.dumps(request)}]").facts
    drive = LISTINGS_0.ground(task.org, city, SELF_DRIVING)
    assert drive and facts["entries"][0]["row"]["cost"] == drive.cost
    assert facts["entries"][1]["row"]["name"] == row.name and len(facts["entries"]) == 2
    assert facts["total"] == plan_bill(days_read(draft, task.days), task.people, LISTINGS_0).total


def test_of_several_attractions_each_must_be_listed_and_closed_by_a_semicolon() -> None:
    task = by_days(5)
    draft, city = blank_draft(task), task.ref_cities[0]
    zoo, mill = (f"{row.name}, {city};" for row in LISTINGS_0.attractions(city)[:2])

    def row(text: str) -> Any:
        draft[1] |= {"current_city": city, "attraction": text}
        request = {"slots": [[2, "attraction"]], "draft": draft}
        return desk(task).step(f"Check[{json.dumps(request)}]").facts["entries"][0]["row"]

    assert row(zoo + mill)["name"] == row(zoo)["name"] == LISTINGS_0.attractions(city)[0].name
    assert row(f"{zoo}Nothing, {city};") is None and row(zoo.removesuffix(";")) is None


def test_a_submission_is_scored_by_the_evaluator() -> None:
    task = by_days(3)
    plan = delivered(task, play(task))
    good, bad = desk(task).step(f"Submit[{json.dumps(plan)}]"), desk(task).step("Submit[[]]")
    assert (good.done, good.score, bad.done, bad.score) == (True, 1.0, True, 0.0)
    assert good.text == bad.text, "the verdict is not for the agent"
