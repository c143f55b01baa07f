"""SDP without content: it asks as often, and neither a predicate nor a verdict means anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.runs import collecting
from sdp.experiments.benchmark import Results, scored
from sdp.experiments.multihop import HotpotQA, MuSiQue
from sdp.placebo import STEP, placebo, rejected

SETUP = HotpotQA(data="made", split="writing", limit=8, engine="rules@0.7")


def test_its_predicates_are_numbers_and_only_the_goal_is_said() -> None:
    run = collecting.collect(replace(SETUP, placebo=0.3), Results, 0, "")
    for trajectory in run.trajectories:
        for plan in trajectory.plans:
            *steps, goal = plan.predicates
            assert [one.text for one in steps] == [f"{STEP}{number}" for number in range(1, len(steps) + 1)]
            assert {one.about.get("question", one.text) for one in steps} == {one.text for one in steps}
            assert goal.text == trajectory.goal.text


def test_no_verdict_decides() -> None:
    everything = collecting.collect(replace(SETUP, placebo=0.0), Results, 0, "").trajectories
    assert all(attempt.k for trajectory in everything for attempt in trajectory.attempts if attempt.observation)
    some = collecting.collect(replace(SETUP, placebo=0.5), Results, 0, "").trajectories
    assert 0.25 < rejected(some) < 0.75


@pytest.mark.parametrize("experiment", [HotpotQA, MuSiQue])
def test_without_noise_rules_still_find_their_way(experiment: type[Any]) -> None:
    setup = experiment(data="made", split="writing", limit=5, placebo=0.0)
    assert {one.result["em"] for one in collecting.collect(setup, Results, 0, "").episodes.values()} == {1.0}


def test_beside_a_validate_that_certifies_nothing_it_ends_by_the_same_budgets() -> None:
    own = collecting.collect(replace(SETUP, engine="rules@0.7?certify=0&reject=1"), Results, 0, "").trajectories
    assert rejected(own) == 1.0
    blank = collecting.collect(replace(SETUP, placebo=rejected(own)), Results, 0, "").trajectories
    assert len(blank) == len(own) and not any(attempt.k for one in blank for attempt in one.attempts)
    assert sum(len(one.attempts) for one in blank) == sum(len(one.attempts) for one in own)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_that_there_is_not_is_refused(share: float) -> None:
    setup = SETUP.resolved()
    with pytest.raises(ValueError, match="placebo="):
        replace(setup, placebo=share).episode(setup.tasks()[0], Ledger(connected(setup.engine)))


def test_without_a_share_the_adapter_is_itself() -> None:
    adapter: Any = object()
    assert placebo(adapter, None, None) is adapter  # type: ignore[arg-type]


def test_runs_stand_in_one_table_with_their_settings() -> None:
    setups = [replace(SETUP, limit=3, settings=replace(SETUP.settings, budget=b)) for b in (0, 2)]
    runs = [collecting.collect(each, Results, 0, "") for each in setups]
    table = scored(runs, "exact match")
    assert list(table["budget"]) == [0, 2] and set(table["evidence"]) == {"simulated"}
    assert list(table["value"]) == [sum(run.scores.values()) / 3 for run in runs]
