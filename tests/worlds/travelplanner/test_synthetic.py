"""TravelPlanner's generated data, and the exact search on it and against brute force."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from travel_episodes import LISTINGS_0, TASKS, WORLD
from worlds.travelplanner.evaluator import evaluate, rates
from worlds.travelplanner.expert import cheapest_menus, mask_of, solve, splits
from worlds.travelplanner.itinerary import days_read, plan_bill
from worlds.travelplanner.listings import Listings, Restaurant
from worlds.travelplanner.strict import strict_faults

DATA = Path(os.environ.get("LAB_DATA") or "nowhere")


def test_every_made_query_has_an_honest_plan_within_its_budget() -> None:
    verdicts = []
    for task in TASKS:
        solution = solve(task, LISTINGS_0, task.ref_cities)
        assert solution.feasible and strict_faults(task, solution.plan, LISTINGS_0) == [], task.id
        assert plan_bill(days_read(solution.plan, task.days), task.people, LISTINGS_0).total == solution.cost
        verdicts.append(evaluate(task, solution.plan, LISTINGS_0))
    assert rates(verdicts, TASKS).final.percent == 100


def test_made_queries_cover_levels_and_lengths() -> None:
    tasks = WORLD.tasks("validation")
    assert [task.id for task in tasks] == [f"made-validation-{idx:03d}" for idx in range(45)]
    assert {(task.level, task.days) for task in tasks} == set(product(("easy", "medium", "hard"), (3, 5, 7)))
    assert {task.hard_constraints for task in tasks if task.level == "hard"} == {4}
    with pytest.raises(ValueError, match="test"):
        WORLD.tasks("test")


def test_the_made_world_has_the_difficulties_of_the_official_one() -> None:
    listings = LISTINGS_0
    cities = [city for state in listings.states for city in listings.cities(state)]
    legs = [(org, dest) for org in cities for dest in cities if org != dest]
    rooms = [room for city in cities for room in listings.accommodations(city)]
    assert any(not listings.flights(*leg, "2031-05-10") for leg in legs)
    assert any(listings.ground(*leg, "taxi") is None for leg in legs)
    assert any(room.minimum_nights > 2 for room in rooms) and any("," in room.name for room in rooms)
    assert {room.room_type for room in rooms} == {"Entire home/apt", "Private room", "Shared room"}


@pytest.mark.skipif(not (DATA / "travelplanner").exists(), reason="LAB_DATA names no TravelPlanner data")
def test_made_cities_are_not_those_of_the_official_data() -> None:
    official = Listings.load(DATA)
    names = {*LISTINGS_0.states, *(city for state in LISTINGS_0.states for city in LISTINGS_0.cities(state))}
    assert not any(official.state_of(name) or official.cities(name) for name in names)


def test_days_are_spread_in_every_way() -> None:
    assert len(list(splits(7, ("a", "b", "c")))) == 10
    assert [[stay.nights for stay in stays] for stays in splits(5, ("a", "b"))] == [[1, 3], [2, 2], [3, 1]]
    task = WORLD.tasks("train")[0]
    with pytest.raises(ValueError, match="do not fit"):
        solve(task, LISTINGS_0, ["a", "b", "c"])


def test_a_query_over_its_budget_says_what_the_cheapest_plan_costs() -> None:
    task = WORLD.tasks("train")[0]
    cost = solve(task, LISTINGS_0, task.ref_cities).cost
    tight, short = replace(task, budget=cost), replace(task, budget=cost - 1)
    assert solve(tight, LISTINGS_0, task.ref_cities).feasible
    poor = solve(short, LISTINGS_0, task.ref_cities)
    assert not poor.feasible and poor.plan is None and poor.cost == cost


cuisine_sets = st.sets(st.sampled_from(["A", "B", "C", "D"]), min_size=1)
menu_cards = st.lists(st.tuples(cuisine_sets, st.integers(1, 20)), min_size=1, max_size=7)


@settings(max_examples=80)
@given(cards=menu_cards, most=st.integers(1, 4))
def test_menus_are_as_cheap_as_trying_every_combination(cards: list[tuple[set[str], int]], most: int) -> None:
    wanted = ("A", "B", "C")
    rows = [
        Restaurant(str(position), "x", tuple(sorted(cuisines)), cost, 0.0)
        for position, (cuisines, cost) in enumerate(cards)
    ]
    expected: dict[tuple[int, int], int] = {}
    for count in range(most + 1):
        for chosen in combinations(rows, count):
            mask = 0
            for row in chosen:
                mask |= mask_of(row, wanted)
            cost = sum(row.average_cost for row in chosen)
            expected[count, mask] = min(cost, expected.get((count, mask), cost))
    found = cheapest_menus(rows, wanted, most)
    assert {(count, mask): menu.cost for count, menus in found.items() for mask, menu in menus.items()} == expected
