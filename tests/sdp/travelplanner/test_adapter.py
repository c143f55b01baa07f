"""SDP on TravelPlanner: plans, states, meals, odd choices; on synthetic data, and on the official where it is there."""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.models.backbone import Answer, Call
from lab.models.connect import connect
from lab.models.prompts import Prompt
from sdp.adapters.travelplanner import prompts, trip
from sdp.adapters.travelplanner.adapter import Policy, TravelPlannerAdapter
from sdp.adapters.travelplanner.trip import TripState, itinerary, state_from_json
from sdp.loop import Settings, run_episode
from sdp.trajectory import Trajectory
from standins.sdp.travelplanner import cheapest, nearest
from travel_episodes import LISTINGS_0, TASKS, Picking, by_days, delivered, plan_for, play, played
from worlds.travelplanner.evaluator import evaluate, rates
from worlds.travelplanner.itinerary import MEALS, days_read, plan_bill
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.strict import strict_faults
from worlds.travelplanner.tasks import TripTask, load_tasks
from worlds.travelplanner.world import TravelPlanner

DATA = Path(os.environ.get("LAB_DATA") or "nowhere")
official = pytest.mark.skipif(
    not (DATA / "travelplanner" / "queries_train.jsonl.gz").exists(), reason="LAB_DATA names no TravelPlanner data"
)


@pytest.mark.parametrize(("days", "cities", "size"), [(3, 1, 11), (5, 2, 17), (7, 3, 23)])
@pytest.mark.parametrize("every_meal", [False, True])
def test_a_plan_has_the_papers_predicates_global_decisions_first(
    days: int, cities: int, size: int, every_meal: bool
) -> None:
    plan = plan_for(by_days(days), every_meal)
    kinds = [trip.OUTBOUND, *[trip.STAY] * cities, *[trip.BETWEEN] * (cities - 1), trip.RETURN]
    kinds += [*[trip.MEALS_OF_DAY] * days, *[trip.SIGHTS_OF_DAY] * days, trip.BUDGET, trip.RENDER]
    assert [predicate.kind for predicate in plan] == kinds and len(plan) == size


def test_every_predicate_of_a_plan_says_something_else_in_words() -> None:
    for task in TASKS:
        plan = plan_for(task)
        assert len({predicate.text for predicate in plan}) == len(plan)


def test_meals_that_must_be_had_come_before_those_of_travel_days() -> None:
    task = by_days(5)
    meals = [p.about for p in plan_for(task) if p.kind == trip.MEALS_OF_DAY]
    assert [(m["day"], m["required"]) for m in meals] == [(2, True), (4, True), (1, False), (3, False), (5, False)]
    asked = [p.about for p in plan_for(task, every_meal=True) if p.kind == trip.MEALS_OF_DAY]
    assert [(m["day"], m["required"]) for m in asked] == [(day, True) for day in (1, 2, 3, 4, 5)]


def test_the_plan_is_a_function_of_task_and_cities_alone() -> None:
    assert {played(number).plans[0].predicates == plan_for(TASKS[number]) for number in range(0, 60, 5)} == {True}


def certified_states(task: TripTask, trajectory: Trajectory) -> Iterator[TripState]:
    return (state_from_json(task, value) for value in trajectory.states)


@pytest.mark.slow
@settings(max_examples=40)
@given(number=st.integers(0, 59), keep=st.sampled_from([1.0, 0.8, 0.5, 0.2]), undo=st.sampled_from([0, 3]))
def test_the_running_cost_is_the_evaluators_bill_at_every_certified_step(number: int, keep: float, undo: int) -> None:
    task, trajectory = TASKS[number], played(number, f"rules@{keep}", undo)
    for value, state in zip(trajectory.states, certified_states(task, trajectory), strict=True):
        bill = plan_bill(days_read(itinerary(state), task.days), task.people, LISTINGS_0).total
        assert state.cost == value["cost"] == bill <= task.budget


@pytest.mark.slow
@settings(max_examples=40)
@given(number=st.integers(0, 59), seed=st.integers(0, 10_000), every_meal=st.booleans(), undo=st.sampled_from([0, 2]))
def test_whatever_option_is_chosen_passes_its_validator(number: int, seed: int, every_meal: bool, undo: int) -> None:
    policy = Policy(every_meal=every_meal, undo=undo)
    trajectory = play(TASKS[number], Picking(seed), policy, Settings(step_cap=40))
    for attempt in trajectory.attempts:
        unsolved = attempt.kind == trip.BUDGET and attempt.reason.startswith("no meal offers")
        assert attempt.k == 1 or attempt.action["note"] or unsolved, attempt


@pytest.mark.slow
def test_a_certified_goal_is_a_final_pass_and_an_honest_plan() -> None:
    for number, task in enumerate(TASKS):
        trajectory = played(number, "rules@0.7", 1)
        plan = delivered(task, trajectory)
        assert evaluate(task, plan, LISTINGS_0).final == trajectory.reached_goal
        assert not trajectory.reached_goal or strict_faults(task, plan, LISTINGS_0) == []


def test_certified_decisions_only_ever_grow_without_undoing() -> None:
    for number in range(0, 60, 4):
        states = [{tuple(d) for d in state["decisions"]} for state in played(number).states]
        assert all(before <= after for before, after in pairwise(states))


def test_nothing_ever_cascades_here() -> None:
    assert {attempt.k for number in range(0, 60, 4) for attempt in played(number).attempts} <= {0, 1}


def test_the_submitted_itinerary_is_the_delivered_plan() -> None:
    submitted: list[str] = []

    class Desk(TravelPlanner):
        def step(self, action: str) -> Any:
            submitted.append(action)
            return super().step(action)

    task = by_days(3)
    adapter = TravelPlannerAdapter(task, Desk(LISTINGS_0, {}), connect("rules"))
    trajectory = run_episode(task.id, adapter)
    assert trajectory.reached_goal
    assert json.loads(submitted[-1].removeprefix("Submit[").removesuffix("]")) == delivered(task, trajectory)


def meals_on(plan: Sequence[dict[str, Any]], day: int) -> list[str]:
    return [plan[day - 1][meal] for meal in MEALS if plan[day - 1][meal] != trip.EMPTY]


def test_where_money_runs_out_travel_days_give_up_meals_and_the_last_day_first() -> None:
    task = next(task for task in TASKS if task.days == 5 and not task.cuisines)
    rich = delivered(task, play(replace(task, budget=10**6)))
    cost = plan_bill(days_read(rich, 5), task.people, LISTINGS_0).total
    assert [len(meals_on(rich, day)) for day in range(1, 6)] == [3] * 5
    last_dinner = sum(plan_bill(days_read([rich[4]], 5), task.people, LISTINGS_0).charges[-1][3:])
    poorer = play(replace(task, budget=int(cost - last_dinner)))
    assert poorer.reached_goal
    counts = [len(meals_on(delivered(task, poorer), day)) for day in range(1, 6)]
    assert counts[:4] == [3] * 4 and counts[4] == 2


def test_a_citys_only_attraction_is_kept_for_the_day_that_needs_one() -> None:
    task = replace(by_days(3), budget=10**6)
    listings = copy.copy(LISTINGS_0)
    listings._attractions = {task.dest: LISTINGS_0.attractions(task.dest)[:1]}
    trajectory = play(task, listings=listings)
    assert trajectory.reached_goal
    assert [day["attraction"] == trip.EMPTY for day in delivered(task, trajectory)] == [True, False, True]


def test_every_meal_asks_for_the_meals_of_travel_days_too() -> None:
    task = replace(by_days(5), budget=10**6)
    plan = delivered(task, play(task, policy=Policy(every_meal=True)))
    assert all(len(meals_on(plan, day)) == 3 for day in range(1, 6))
    broke = plan_bill(days_read(plan, 5), task.people, LISTINGS_0).total - 1
    tight = play(replace(task, budget=int(broke)), policy=Policy(every_meal=True))
    assert not tight.reached_goal or len(meals_on(delivered(task, tight), 5)) == 3


def test_a_choice_off_the_list_is_rejected_by_validate_and_threaded_as_a_failure() -> None:
    picking = Picking(off=1.0)
    trajectory = play(by_days(3), picking, loop=Settings(budget=5, step_cap=3))
    assert [attempt.k for attempt in trajectory.attempts] == [0, 0, 0]
    assert all("is not in the listings" in attempt.reason for attempt in trajectory.attempts)
    shown = [{(r.choice, r.reason): r.times for r in fields["failures"]} for fields in picking.asked]
    tried = [(attempt.action["decisions"][0][2], attempt.reason) for attempt in trajectory.attempts]
    assert shown == [Counter(tried[:0]), Counter(tried[:1]), Counter(tried[:2])], "each once, with how often"


@pytest.mark.parametrize("choice", [0, -3, 10**30])
def test_a_number_that_is_no_option_never_raises(choice: int) -> None:
    class Stubborn(Picking):
        def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
            return Answer(prompts.Selection(choice=choice), Call("realize", prompt.name, "strict"))

    trajectory = play(by_days(3), Stubborn(), loop=Settings(step_cap=3))
    assert trajectory.end == "step cap" and trajectory.certified == 0


def test_without_validate_bad_choices_are_certified_and_the_evaluator_finds_them() -> None:
    task = by_days(3)
    trajectory = play(task, Picking(off=0.5), loop=Settings(validate=False))
    assert trajectory.reached_goal and not evaluate(task, delivered(task, trajectory), LISTINGS_0).final


def searches_of(trajectory: Trajectory) -> list[list[str]]:
    return [search for attempt in trajectory.attempts for search in attempt.observation["searches"]]


@pytest.mark.parametrize("policy", [Policy(), Policy(cities="propose"), Policy(undo=1)], ids=str)
def test_every_option_comes_from_a_search_that_the_trajectory_holds_once(policy: Policy) -> None:
    task = by_days(5)
    trajectory = play(task, "rules@0.5", policy)
    searches = dict(searches_of(trajectory))
    assert len(searches) == len(searches_of(trajectory)), "once a city and leg"
    desk = TravelPlanner(LISTINGS_0, {})
    desk.reset(task)
    assert all(desk.step(action).text == text for action, text in searches.items())
    seen = "\n".join(searches.values())
    chosen = [text for a in trajectory.attempts for _, slot, text in a.action["decisions"] if text != trip.EMPTY]
    names = [text.split(", from ")[0].rpartition(": ")[2].rpartition(",")[0] or text for text in chosen]
    assert names and all(name.split(",")[0].removeprefix("Self-driving").lower() in seen.lower() for name in names)


def test_the_numbered_order_puts_return_transport_sixth() -> None:
    kinds = [p.kind for p in play(by_days(3), policy=Policy(order="numbered")).plans[0].predicates]
    content = [*[trip.MEALS_OF_DAY] * 3, *[trip.SIGHTS_OF_DAY] * 3]
    assert kinds == [trip.OUTBOUND, trip.STAY, *content, trip.RETURN, trip.BUDGET, trip.RENDER]
    with pytest.raises(ValueError, match="undo=1 with order='numbered'"):
        Policy(order="numbered", undo=1)


@pytest.mark.slow
def test_where_money_is_kept_back_no_meal_is_ever_too_dear() -> None:
    tasks, loop = [task for task in TASKS if task.level != "easy"][::3], Settings(step_cap=30)

    def too_dear(policy: Policy) -> Counter[str]:
        played = (play(task, f"rules@0.7?seed={seed}", policy, loop) for seed, task in enumerate(tasks))
        return Counter(a.kind for t in played for a in t.attempts if a.action["note"].startswith("affordability"))

    assert too_dear(Policy(every_meal=True))[trip.MEALS_OF_DAY] > 0
    kept = too_dear(Policy(every_meal=True, keep_back=True))
    assert kept[trip.MEALS_OF_DAY] == 0 < kept[trip.STAY], "what is too dear is found before the money is spent"


@pytest.mark.slow
def test_propose_may_choose_the_cities() -> None:
    trajectories = [play(task, policy=Policy(cities="propose")) for task in TASKS]
    for task, trajectory in zip(TASKS, trajectories, strict=True):
        assert trajectory.plans[0].cost.calls == 1 and trajectory.states[0]["route"] == []
        assert evaluate(task, delivered(task, trajectory), LISTINGS_0).final == trajectory.reached_goal
    assert sum(trajectory.reached_goal for trajectory in trajectories) >= 45


def test_a_trip_to_a_city_that_is_named_like_a_state_goes_to_the_city() -> None:
    task = by_days(3)
    states = {task.dest: task.dest, "Othertown": task.dest, task.org: "Elsewhere"}
    named = Listings((), (), (), (), (), states)
    picking = Picking()
    adapter = TravelPlannerAdapter(task, TravelPlanner(named, {}), picking, Policy(cities="propose"))
    adapter.propose(adapter.start()[0], adapter.start()[1], ())
    assert [candidate.city for candidate in picking.asked[0]["candidates"]] == [task.dest]


def test_being_stuck_before_the_first_certified_step_can_be_undone_with_chosen_cities() -> None:
    trajectory = play(replace(by_days(5), budget=1), policy=Policy(cities="propose", undo=3), loop=Settings(step_cap=9))
    assert trajectory.end == "step cap" and trajectory.certified == 0


def test_cities_that_are_not_on_the_list_end_the_episode() -> None:
    class Dreaming(Picking):
        def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
            return Answer(prompts.Cities(cities=["Atlantis"]), Call("propose", prompt.name, "strict"))

    trajectory = play(by_days(3), Dreaming(), Policy(cities="propose"))
    assert trajectory.end == "malformed plan" and trajectory.plans[0].cost.calls == 1


def test_the_rules_answer_where_too_few_cities_have_what_is_needed() -> None:
    full = [prompts.Candidate(city=city, there=1, back=1, stay=1, restaurants=9, attractions=9) for city in "AB"]
    bare = [prompts.Candidate(city="C", there=None, back=None, stay=None, restaurants=0, attractions=0)]
    assert set(nearest(prompts.CitiesFields(trip="", count=3, candidates=full + bare)).cities) == {"A", "B", "C"}
    assert nearest(prompts.CitiesFields(trip="", count=3, candidates=full)).cities == []


def test_a_policy_for_cities_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="cities='best'; choose 'reference' or 'propose'"):
        Policy(cities="best")


def test_the_rule_takes_the_cheapest_option_wherever_it_stands() -> None:
    def chosen(wanted: list[str], *options: tuple[float, list[str]]) -> int:
        listed = [
            prompts.ListedOption(number=number, text="", cost=cost, cuisines=of)
            for number, (cost, of) in enumerate(options, start=1)
        ]
        about: dict[str, Any] = {"trip": "", "decided": [], "target": "", "slot": "", "left": 99, "failures": []}
        return cheapest(prompts.SelectFields(wanted=wanted, options=listed, **about)).choice

    assert chosen([], (9, []), (2, []), (2, []), (5, [])) == 2
    # Beyond the cheapest meal, two cuisines for 6 dollars cost less than one for 4.
    both = (8, ["French", "Thai"])
    assert chosen(["French", "Thai"], (6, ["French"]), both, (2, [])) == 2
    assert chosen(["French", "Thai"], (2, []), (6, ["French"]), both) == 3


def test_realize_reads_only_what_its_prompt_names() -> None:
    assert set(prompts.SELECT.fields.model_fields) == {
        "trip", "decided", "target", "slot", "left", "wanted", "options", "failures",
    }  # fmt: skip
    assert trip.TRANSPORT == (trip.OUTBOUND, trip.BETWEEN, trip.RETURN)


@pytest.mark.slow
@official
def test_the_rules_engine_passes_on_official_queries_and_an_undoing_replan_on_all() -> None:
    listings = Listings.load(DATA)
    validation = [task for task in load_tasks("validation", DATA) if task.level != "easy"]
    tasks = [*validation, *load_tasks("train", DATA)]
    assert len(validation) == 120 and len(tasks) == 165
    trajectories = [play(task, listings=listings) for task in tasks]
    plans = [delivered(task, trajectory) for task, trajectory in zip(tasks, trajectories, strict=True)]
    verdicts = [evaluate(task, plan, listings) for task, plan in zip(tasks, plans, strict=True)]
    assert [verdict.final for verdict in verdicts] == [trajectory.reached_goal for trajectory in trajectories]
    for task, plan, verdict in zip(tasks, plans, verdicts, strict=True):
        assert not verdict.final or strict_faults(task, plan, listings) == []
    found = rates(verdicts, tasks)
    assert found.delivery.percent == 100 and found.final.percent >= 96
    assert found.hard_micro.percent >= 98 and found.hard_macro.percent >= 96
    stuck = [task for task, trajectory in zip(tasks, trajectories, strict=True) if not trajectory.reached_goal]
    assert all(play(t, policy=Policy(undo=1), listings=listings).reached_goal for t in stuck)
