"""Proposition 1, and that the test of it tells a world or an agent that remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from scipy.stats import kstest

from lab.models.backbone import Ledger
from lab.models.connect import connect
from sdp.adapters.corridor import Corridor, CorridorAdapter, Walker, rolls, streaks
from sdp.adapters.travelplanner.adapter import Policy, TravelPlannerAdapter
from sdp.loop import Settings, run_episode
from sdp.markov import markov_test, previous_state, whole_prefix
from sdp.trajectory import Attempt, Predicate, Trajectory
from travel_episodes import LISTINGS_0, TASKS
from worlds.travelplanner.world import TravelPlanner

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


def test_the_same_runs_and_seed_give_the_same_test() -> None:
    trajectories = walks(honest, 2, 50)
    assert markov_test(trajectories, permutations=50, seed=3) == markov_test(trajectories, permutations=50, seed=3)


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


def test_a_travel_state_names_all_that_was_decided_so_no_state_is_met_in_two_ways() -> None:
    with pytest.raises(ValueError, match="two different prefixes"):
        markov_test(trips(Policy(), 30))


def test_undoing_lets_travel_states_be_met_in_two_ways_and_they_pass() -> None:
    test = markov_test(trips(Policy(undo=1), 40), permutations=200)
    assert test.groups > 20 and test.informative > 100 and test.p_value > 0.05
