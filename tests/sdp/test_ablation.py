"""Appendix C's three factors on trajectories that are worked out by hand, and on walks of any kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.models.backbone import MalformedAnswer
from sdp.ablation import ABLATIONS, Ablation, action_fidelity, cascade_factor, certified_prefix_ratio, replayed
from sdp.adapters.corridor import Corridor, CorridorAdapter, Walker, in_room, rolls
from sdp.loop import Settings, run_episode
from sdp.trajectory import Predicate, Trajectory

BY_NAME = {ablation.name: ablation for ablation in ABLATIONS}


def walk(dice: list[int], length: int = 4, **settings: object) -> Trajectory:
    return run_episode("walk", CorridorAdapter(Corridor(length, dice)), Settings(**settings))


@pytest.mark.parametrize(
    ("dice", "fidelity"),
    [([1, 1, 1, 1], 1.0), ([0, 1, 1, 1, 1], 3 / 4), ([0, 0, 1, 1, 0, 2], 1 / 3), ([4], 1.0), ([0, 4], 0.0), ([], 0.0)],
)
def test_action_fidelity_is_the_share_of_certified_steps_whose_first_attempt_was_certified(
    dice: list[int], fidelity: float
) -> None:
    assert action_fidelity(walk(dice, step_cap=12)) == pytest.approx(fidelity)


def test_attempts_from_before_a_replan_still_count_against_the_first() -> None:
    trajectory = walk([0, 0, 4], budget=1)
    assert trajectory.replans == 1 and action_fidelity(trajectory) == 0.0


@pytest.mark.parametrize(
    ("dice", "ratio"),
    [([1, 1, 1, 1], 1.0), ([0, 1, 1, 1, 1], 1.0), ([1, 0, 0, 1, 1, 1], 1 / 4), ([2, 0, 0, 2], 1 / 2),
     ([0, 0, 1, 0, 0, 1, 1, 1], 0.0), ([1, 0, 0, 1, 0, 0, 2], 1 / 4)],
)  # fmt: skip
def test_the_certified_prefix_ratio_is_how_far_the_plan_was_when_a_budget_was_first_spent(
    dice: list[int], ratio: float
) -> None:
    assert certified_prefix_ratio(walk(dice, budget=1)) == pytest.approx(ratio)


class Speechless(CorridorAdapter):
    def replan(self, *_: object) -> list[object]:
        raise MalformedAnswer("no JSON object in the answer")


@pytest.mark.parametrize(
    ("adapter", "dice", "settings", "end", "ratio"),
    [
        (CorridorAdapter, [1, 1, 0, 0], Settings(budget=1, replan=False), "budget", 2 / 4),
        (CorridorAdapter, [1, 1, 0], Settings(budget=0, replan=False), "budget", 2 / 4),
        (Speechless, [1, 0, 0], Settings(budget=1), "malformed plan", 1 / 4),
    ],
    ids=["no Replan", "no Replan and no budget", "no plan by Replan"],
)
def test_a_run_has_stalled_where_its_budget_was_spent_and_no_plan_came(
    adapter: type[CorridorAdapter], dice: list[int], settings: Settings, end: str, ratio: float
) -> None:
    trajectory = run_episode("walk", adapter(Corridor(4, dice)), settings)
    assert trajectory.end == end and certified_prefix_ratio(trajectory) == pytest.approx(ratio)


def test_a_stall_is_measured_by_the_plan_of_then_however_long_the_next_one_is() -> None:
    class Longer(CorridorAdapter):
        def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: object) -> list[Predicate]:
            return [in_room(2, "One stands in room"), in_room(2), goal]

    trajectory = run_episode("walk", Longer(Corridor(3, [1, 0, 0, 1, 1])), Settings(budget=1))
    assert [len(plan.predicates) for plan in trajectory.plans[:2]] == [3, 4]
    assert certified_prefix_ratio(trajectory) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("dice", "step_cap", "factor"),
    [([1, 1, 1, 1], 4, 1.0), ([4], 4, 1.0), ([4], 2, 2 / 4), ([0, 2, 2], 4, 4 / 5), ([0, 2, 2], 5, 1.0)],
)
def test_the_cascade_factor_is_the_share_of_single_steps_that_the_cap_pays_for(
    dice: list[int], step_cap: int, factor: float
) -> None:
    assert cascade_factor(walk(dice, step_cap=step_cap)) == pytest.approx(factor)


@given(seed=st.integers(0, 10_000), length=st.integers(1, 7), budget=st.integers(0, 3), cap=st.integers(1, 20))
def test_every_factor_is_a_share_and_1_where_its_mechanism_was_never_needed(
    seed: int, length: int, budget: int, cap: int
) -> None:
    adapter = CorridorAdapter(Corridor(length, rolls(seed)))
    trajectory = run_episode("walk", adapter, Settings(budget=budget, step_cap=cap))
    factors = {ablation.name: ablation.factor(trajectory) for ablation in ABLATIONS}
    assert all(0 <= factor <= 1 for factor in factors.values())
    if all(attempt.k for attempt in trajectory.attempts):
        assert factors["-Validate"] == 1
    if not trajectory.replans:
        assert factors["-Replan"] == 1
    if all(attempt.k <= 1 for attempt in trajectory.attempts):
        assert factors["-Cascade"] == 1


def test_the_replayed_score_is_the_recorded_one_times_the_factor() -> None:
    trajectory = walk([0, 1, 1, 1, 1])
    assert replayed(BY_NAME["-Validate"], trajectory, 0.8) == pytest.approx(0.6)


@pytest.mark.parametrize("ablation", ABLATIONS, ids=lambda ablation: ablation.name)
def test_each_switch_turns_its_own_mechanism_off_and_nothing_else(ablation: Ablation) -> None:
    settings = Settings(budget=1, step_cap=9)
    name = ablation.name[1:].lower()
    assert ablation.without(settings) == replace(settings, **{name: False})


def test_running_again_without_a_mechanism_does_what_it_says() -> None:
    dice = [0, 0, 2, 0, 2]
    without = {name: ablation.without(Settings(budget=1)) for name, ablation in BY_NAME.items()}
    runs = {name: run_episode("walk", CorridorAdapter(Corridor(4, dice)), s) for name, s in without.items()}
    assert [attempt.k for attempt in runs["-Validate"].attempts] == [1, 1, 1, 1]
    assert runs["-Replan"].end == "budget" and len(runs["-Replan"].attempts) == 2
    assert max(attempt.k for attempt in runs["-Cascade"].attempts) == 1 and runs["-Cascade"].reached_goal
