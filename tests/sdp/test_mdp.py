"""Table 1 as code, on walks whose states and steps can be counted by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from lab.models.backbone import Ledger
from lab.models.connect import connect
from sdp.adapters.corridor import Corridor, CorridorAdapter, Walker, in_room, rolls, streaks
from sdp.adapters.travelplanner.adapter import Policy, TravelPlannerAdapter
from sdp.loop import Settings, run_episode
from sdp.mdp import credit, markov_test, mdp, observation_map, previous_state, whole_prefix
from sdp.trajectory import Attempt, Predicate, Trajectory
from travel_episodes import LISTINGS_0, TASKS
from worlds.travelplanner.world import TravelPlanner


def walk(dice: Sequence[int], length: int = 3, **settings: object) -> Trajectory:
    return run_episode("walk", CorridorAdapter(Corridor(length, dice)), Settings(**settings))


def test_equal_states_of_different_episodes_are_one_state() -> None:
    objects = mdp([walk([1, 2]), walk([2, 1])])
    assert objects.states == ({"room": 0}, {"room": 1}, {"room": 3}, {"room": 2})
    assert [(step.state, step.k, step.next_state) for step in objects.transitions] == [
        (0, 1, 1), (1, 2, 2), (0, 2, 3), (3, 1, 2),
    ]  # fmt: skip
    assert (objects.initial, objects.terminal) == ({0}, {2})


def test_a_state_is_terminal_only_where_the_goal_was_certified() -> None:
    assert mdp([walk([1], step_cap=2)]).terminal == frozenset()


def test_a_state_that_is_text_is_not_the_number_it_spells() -> None:
    trajectory = walk([3])
    states = [Trajectory(**{**vars_of(trajectory), "states": (state, "end")}) for state in ("1", 1)]
    assert mdp(states).states == ("1", "end", 1)


def test_states_and_actions_whose_keys_are_in_another_order_are_the_same() -> None:
    def lifted(first: str, second: str) -> Trajectory:
        numbers = {"room": 0, "floor": 1}
        turned = {key: numbers[key] for key in (first, second)}
        trajectory = walk([3])
        attempts = tuple(replace(attempt, action=turned) for attempt in trajectory.attempts)
        return Trajectory(**{**vars_of(trajectory), "states": (turned, "end"), "attempts": attempts})

    objects = mdp([lifted("room", "floor"), lifted("floor", "room")])
    assert objects.states == ({"room": 0, "floor": 1}, "end")
    assert objects.kernel()["n"].tolist() == [2]


def vars_of(trajectory: Trajectory) -> dict[str, object]:
    return {name: getattr(trajectory, name) for name in Trajectory.__slots__}


def test_the_kernel_counts_what_followed_each_state_and_action() -> None:
    objects = mdp([walk([1, 1, 1]), walk([2, 1]), walk([1, 2]), walk([0, 1, 1, 1])])
    rows = [
        (objects.states[state]["room"], action, objects.states[following]["room"], n, probability)
        for state, action, following, n, probability in objects.kernel().itertuples(index=False)
    ]
    assert list(objects.kernel().index) == list(range(5))
    assert sorted(rows) == [
        (0, "go east", 1, 3, 0.75), (0, "go east", 2, 1, 0.25),
        (1, "go east", 2, 2, pytest.approx(2 / 3)), (1, "go east", 3, 1, pytest.approx(1 / 3)),
        (2, "go east", 3, 3, 1.0),
    ]  # fmt: skip


@pytest.mark.slow
@given(seeds=st.lists(st.integers(0, 1000), min_size=1, max_size=8), length=st.integers(1, 6))
def test_the_kernels_rows_sum_to_1_and_its_counts_to_the_transitions(seeds: list[int], length: int) -> None:
    trajectories = [walk(rolls(seed), length, step_cap=12) for seed in seeds]
    objects = mdp(trajectories)
    kernel = objects.kernel()
    sums = kernel.groupby(["state", "action"])["probability"].sum()
    assert list(sums) == pytest.approx([1.0] * len(sums))
    assert kernel["n"].sum() == len(objects.transitions) == sum(len(t.transitions) for t in trajectories)
    assert len(objects.states) == len({str(state) for t in trajectories for state in t.states})


def test_the_observation_map_says_what_each_observation_did_to_the_state() -> None:
    table = observation_map(walk([1, 0, 2]))
    assert list(table["observation"]) == ["You are in room 1 of 3."] * 2 + ["You are in room 3 of 3."]
    assert list(table["k"]) == [1, 0, 2]
    assert list(zip(table["state"], table["next_state"], strict=True)) == [(0, 1), (1, 1), (1, 2)]
    later = observation_map(walk([0, 0, 1, 2]))
    assert list(zip(later["state"], later["next_state"], strict=True)) == [(0, 0), (0, 0), (0, 1), (1, 2)]


def test_credit_goes_to_the_attempt_that_certified_each_predicate() -> None:
    table = credit([walk([0, 2, 0, 0, 1], length=4, step_cap=5)])
    assert list(table["position"]) == [0, 1, 2, 3]
    assert list(table["certified"]) == [True, True, True, False]
    assert list(table["k"]) == [2, 2, 1, 0] and list(table["share"]) == [0.5, 0.5, 1.0, 0.0]
    assert list(table["step"])[:3] == [1, 1, 4] and table["step"].isna()[3]
    assert list(table["rejections"]) == [1, 0, 2, 0]


def test_the_predicate_a_run_is_stuck_at_has_its_rejections() -> None:
    table = credit([walk([1, 0, 0], step_cap=3)])
    assert list(table["rejections"]) == [0, 2, 0] and list(table["certified"]) == [True, False, False]


def test_rejections_at_a_target_that_replan_gave_up_are_not_its_successors() -> None:
    class Elsewhere(CorridorAdapter):
        def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
            return [in_room(2, "One stands in room"), goal]

    table = credit([run_episode("walk", Elsewhere(Corridor(3, [0, 0, 2, 1])), Settings(budget=1))])
    assert list(table["predicate"])[0] == "One stands in room 2." and list(table["rejections"]) == [0, 0]


@given(seed=st.integers(0, 10_000), length=st.integers(1, 6), cap=st.integers(1, 12))
def test_each_predicate_of_the_plan_has_one_row_and_each_certified_step_gives_one_credit(
    seed: int, length: int, cap: int
) -> None:
    trajectory = walk(rolls(seed), length, step_cap=cap)
    table = credit([trajectory])
    assert list(table["position"]) == list(range(length))
    assert table["certified"].sum() == trajectory.certified
    assert table["share"].sum() == pytest.approx(len(trajectory.transitions))


FACES = (0, 1, 1, 2)


def walks(adapter_of: Callable[[int], CorridorAdapter], seed: int, count: int) -> list[Trajectory]:
    """Many walks; rooms are skipped or not, so the same room is reached in many ways."""
    return [run_episode("walk", adapter_of(1000 * seed + n), Settings(budget=1)) for n in range(count)]


def honest(seed: int) -> CorridorAdapter:
    return CorridorAdapter(Corridor(6, rolls(seed, FACES)))


@dataclass(frozen=True)
class Nostalgic(CorridorAdapter):
    """An agent that breaks locality: after it has been in room 2 it creeps."""

    been: list[int] = field(default_factory=list)

    def realize(self, state: Walker, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        self.been.append(state.room)
        return "creep east" if 2 in self.been[:-1] else "go east"


@pytest.mark.slow
def test_the_prefix_says_nothing_beyond_state_and_plan_tail() -> None:
    tests = [markov_test(walks(honest, seed, 80), previous_state, permutations=99, seed=seed) for seed in range(80)]
    assert kstest([test.p_value for test in tests], "uniform").pvalue > 0.01
    information = sum(test.information for test in tests) / sum(test.expected for test in tests)
    assert information == pytest.approx(1, abs=0.2)


def test_whole_prefixes_give_the_same_verdict() -> None:
    test = markov_test(walks(honest, 1, 300), whole_prefix, permutations=200)
    assert test.p_value > 0.05 and test.information < 2 * test.expected
    assert 0 < test.informative <= test.steps and 0 < test.groups <= 6


@pytest.mark.parametrize("prefix", [previous_state, whole_prefix])
def test_a_world_that_remembers_is_detected(prefix: Callable[[Trajectory, int], object]) -> None:
    trajectories = walks(lambda seed: CorridorAdapter(Corridor(6, streaks(seed))), 0, 200)
    assert markov_test(trajectories, prefix, permutations=199).p_value < 0.01


def test_an_agent_that_remembers_is_detected() -> None:
    trajectories = walks(lambda seed: Nostalgic(Corridor(6, rolls(seed, FACES))), 0, 200)
    test = markov_test(trajectories, permutations=199)
    assert test.p_value < 0.01 and test.information > test.expected


@pytest.mark.parametrize("dice", [[], [1, 1, 1]], ids=["nothing certified", "one way only"])
def test_where_no_state_was_met_in_two_ways_nothing_can_be_said(dice: list[int]) -> None:
    trajectories = [run_episode("walk", CorridorAdapter(Corridor(3, dice)), Settings(step_cap=5)) for _ in range(3)]
    with pytest.raises(ValueError, match="two different prefixes"):
        markov_test(trajectories)
    with pytest.raises(ValueError, match="two different prefixes"):
        markov_test([])


def trips(policy: Policy, seeds: int) -> list[Trajectory]:
    listings, task = LISTINGS_0, TASKS[24]
    world, runs = TravelPlanner(listings, {}), []
    for seed in range(seeds):
        ledger = Ledger(connect(f"rules@0.6?seed={seed}"))
        adapter = TravelPlannerAdapter(task, world, ledger, policy)
        runs.append(run_episode(task.id, adapter, Settings(step_cap=60), ledger))
    return runs


@pytest.mark.slow
def test_a_travel_state_names_all_that_was_decided_so_no_state_is_met_in_two_ways() -> None:
    with pytest.raises(ValueError, match="two different prefixes"):
        markov_test(trips(Policy(), 30))


@pytest.mark.slow
def test_undoing_lets_travel_states_be_met_in_two_ways_and_they_pass() -> None:
    test = markov_test(trips(Policy(undo=1), 40), permutations=200)
    assert test.groups > 20 and test.informative > 100 and test.p_value > 0.05
