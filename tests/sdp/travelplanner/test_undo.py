"""An undoing Replan on TravelPlanner: when it undoes, what it shows, and that one undoing is enough."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.models.backbone import Answer
from lab.models.prompts import Prompt
from sdp.adapters.travelplanner.adapter import Policy
from sdp.adapters.travelplanner.trip import Stop, TripState, even_route
from sdp.adapters.travelplanner.undo import _cheapest_route, _route_cost
from sdp.adapters.travelplanner.validators import REOPEN
from travel_episodes import CATALOGUE, LISTINGS_0, TASKS, Picking, by_days, delivered, play, played, reopened
from worlds.travelplanner.evaluator import evaluate
from worlds.travelplanner.expert import solve
from worlds.travelplanner.strict import strict_faults


def test_without_undoing_replan_gives_the_same_tail_again() -> None:
    trajectory = next(t for t in map(played, range(60)) if t.replans)
    assert {plan.predicates for plan in map(hashable, trajectory.plans)} == {hashable(trajectory.plans[0]).predicates}
    assert reopened(trajectory) == []


def hashable(plan: Any) -> Any:
    return replace(plan, predicates=tuple(predicate.text for predicate in plan.predicates))


def test_a_start_that_spent_too_much_is_repaired_by_undoing() -> None:
    task = TASKS[36]
    assert not play(task, Picking(dearest=True)).reached_goal
    trajectory = play(task, Picking(dearest=True), Policy(undo=1))
    assert trajectory.reached_goal and len(reopened(trajectory)) == 1
    assert evaluate(task, delivered(task, trajectory), LISTINGS_0).final


@pytest.mark.slow
def test_the_state_shrinks_at_the_undoing_step_and_nowhere_else() -> None:
    met = 0
    for number in range(60):
        trajectory = played(number, "rules@0.5", 3)
        for transition in trajectory.transitions:
            before, after = (len(trajectory.states[n]["decisions"]) for n in (transition.before, transition.after))
            undoing = trajectory.attempts[transition.attempt].kind == REOPEN
            assert undoing == (after < before)
            met += undoing
    assert met > 20


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_undoing_happens_at_most_as_often_as_the_policy_allows(limit: int) -> None:
    tasks = [replace(task, budget=task.budget * 2 // 3) for task in TASKS[::6]]
    trajectories = [play(task, "rules@0.5", Policy(undo=limit)) for task in tasks]
    assert max(len(reopened(trajectory)) for trajectory in trajectories) == limit
    assert all(len(reopened(trajectory)) <= limit for trajectory in trajectories)


def test_a_slip_of_the_model_alone_undoes_nothing() -> None:
    class Slipping(Picking):
        def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
            off = self.off
            self.off = 1.0 if fields["slot"] == "lunch of day 2" and len(fields["failures"]) < 6 else 0.0
            answer = super().ask(prompt, sample, **fields)
            self.off = off
            return answer

    trajectory = play(replace(by_days(3), budget=10**6), Slipping(), Policy(undo=3))
    assert trajectory.replans == 1 and reopened(trajectory) == [] and trajectory.reached_goal


@pytest.mark.slow
def test_one_undoing_solves_every_made_query_however_badly_it_began() -> None:
    for task in TASKS:
        for engine in ("rules", Picking(0, dearest=True)):
            trajectory = play(task, engine, Policy(undo=1))
            assert trajectory.reached_goal, (task.id, engine, trajectory.attempts[-1].reason)
            plan = delivered(task, trajectory)
            assert evaluate(task, plan, LISTINGS_0).final and strict_faults(task, plan, LISTINGS_0) == []


@settings(max_examples=30)
@given(number=st.integers(0, 59))
def test_the_undoing_lookahead_finds_the_experts_cost(number: int) -> None:
    task = TASKS[number]
    state = TripState(task, even_route(task, task.ref_cities))
    route = _cheapest_route(CATALOGUE, state, every_meal=False)
    assert _route_cost(CATALOGUE, state, route, every_meal=False) == solve(task, LISTINGS_0, task.ref_cities).cost


@pytest.mark.slow
@settings(max_examples=30)
@given(number=st.integers(0, 59), over=st.sampled_from([0, 1]), every_meal=st.booleans())
def test_undoing_solves_a_query_exactly_when_its_budget_is_no_less_than_the_least_cost(
    number: int, over: int, every_meal: bool
) -> None:
    task = TASKS[number]
    state = TripState(task, even_route(task, task.ref_cities))
    route = _cheapest_route(CATALOGUE, state, every_meal)
    least = _route_cost(CATALOGUE, state, route, every_meal)
    trajectory = play(replace(task, budget=int(least) - over), policy=Policy(every_meal=every_meal, undo=1))
    assert trajectory.reached_goal == (over == 0)


def test_a_place_that_takes_no_guests_for_so_few_nights_has_the_nights_spread_anew() -> None:
    task = replace(by_days(7), house_rule=None, room_type=None, transportation=None, cuisines=(), budget=10**6)
    city = task.ref_cities[0]
    rows = [row for c in task.ref_cities for row in LISTINGS_0.accommodations(c)]
    rows = [replace(row, minimum_nights=3 if row.city == city else 1) for row in rows]
    longer = copy.copy(LISTINGS_0)
    longer._accommodations = {c: tuple(row for row in rows if row.city == c) for c in task.ref_cities}
    trajectory = play(task, policy=Policy(undo=1), listings=longer)
    assert trajectory.reached_goal and Stop(*trajectory.states[-1]["route"][0]) == Stop(city, 3)
