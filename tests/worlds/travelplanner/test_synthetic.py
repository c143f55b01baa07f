"""TravelPlanner's generated data, and the exact search on it and against brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from travel_episodes import LISTINGS_0, TASKS, WORLD
from worlds.travelplanner.evaluator import evaluate, rates
from worlds.travelplanner.expert import cheapest_menus, mask_of, solve, splits
from worlds.travelplanner.itinerary import days_read, plan_bill
from worlds.travelplanner.listings import Restaurant
from worlds.travelplanner.strict import strict_faults


def test_every_made_query_has_an_honest_plan_within_its_budget() -> None:
    verdicts = []
    for task in TASKS:
        solution = solve(task, LISTINGS_0, task.ref_cities)
        assert solution.feasible and strict_faults(task, solution.plan, LISTINGS_0) == [], task.id
        assert plan_bill(days_read(solution.plan, task.days), task.people, LISTINGS_0).total == solution.cost
        verdicts.append(evaluate(task, solution.plan, LISTINGS_0))
    assert rates(verdicts, TASKS).final.percent == 100


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
