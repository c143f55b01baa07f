"""Table 1 as code, on walks whose states and steps can be counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdp.adapters.corridor import Corridor, CorridorAdapter, Walker, in_room, rolls
from sdp.loop import Settings, run_episode
from sdp.mdp import credit, mdp, observation_map
from sdp.trajectory import Predicate, Trajectory


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
