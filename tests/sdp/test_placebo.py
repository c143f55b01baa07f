"""SDP's controls ask as often: of a placebo's plan nothing reaches Realize, and no verdict of either decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.results.outcomes import Score
from lab.runs import collecting
from sdp.adapters.travelplanner.options import CAP, SLOTS
from sdp.contracts import realized
from sdp.experiments import assistantbench, travelplanner
from sdp.experiments.multihop import HotpotQA, MuSiQue
from sdp.loop import Settings
from sdp.operators import ANSWER_KINDS
from sdp.placebo import STEP, rejected

SETUP = HotpotQA(data="synthetic", split="writing", limit=8, engine="rules@0.7")


TRIPS = travelplanner.Setup(data="synthetic", split="train", levels=("medium", "hard"), limit=1)


def test_the_other_control_keeps_what_a_target_is_about() -> None:
    setup = TRIPS.resolved()
    plan, given = realized(setup, setup.tasks()[0], "blanked")
    cities = {each.about["city"] for each in plan if "city" in each.about}
    assert cities and all(city in str(given) for city in cities)
    assert any("lunch of day" in one["slot"] for one in given)
    assert [one["target"][:5] for one in given] == [STEP] * len(given)


@pytest.mark.slow
def test_on_trips_the_placebo_is_asked_as_often_and_of_anything() -> None:
    setup = travelplanner.Setup(data="synthetic", limit=3)
    own, blank = (collecting.collect(each, 1, "") for each in (setup, replace(setup, placebo=0.0)))
    calls = [[one.result["calls"] for one in run.episodes.values()] for run in (own, blank)]
    assert all(a <= b <= 1.3 * a for a, b in zip(*calls, strict=True)), "optional meals may have no option to ask about"
    trips = TRIPS.resolved()
    _, given = realized(trips, trips.tasks()[0])
    labels = {option["text"].split(": ")[0].split(" ", 2)[2] for one in given for option in one["options"]}
    assert labels == {*SLOTS} and {len(one["options"]) for one in given} == {CAP}


def test_scores_of_controls_and_ablations_are_not_stored_as_those_of_sdp() -> None:
    score = Score("a question", 1.0)
    changed = (
        {}, {"placebo": 0.1}, {"blanked": 0.0}, {"settings": Settings(validate=False)},
        {"placebo": 0.1, "settings": Settings(replan=False, cascade=False)},
    )  # fmt: skip
    assert [replace(SETUP, **changes).side(score)[1] for changes in changed] == [
        "SDP", "SDP, placebo", "SDP, target's sentence blanked", "SDP without Validate",
        "SDP, placebo without Replan and Cascade",
    ]  # fmt: skip


def test_no_verdict_on_a_step_decides() -> None:
    everything = collecting.collect(replace(SETUP, placebo=0.0), 0, "").trajectories
    attempts = [attempt for trajectory in everything for attempt in trajectory.attempts if attempt.observation]
    assert all(attempt.k for attempt in attempts if attempt.kind not in ANSWER_KINDS)
    some = collecting.collect(replace(SETUP, placebo=0.5), 0, "").trajectories
    assert 0.25 < rejected(some) < 0.75


@pytest.mark.parametrize("setup", [SETUP, assistantbench.Setup(data="synthetic", limit=4)], ids=str)
def test_a_placebo_keeps_its_right_answers_as_sdp_does(setup: Any) -> None:
    """At random it would throw away most of them, and be weaker than a plan without content."""
    blank = collecting.collect(replace(setup, engine="rules", placebo=0.7), 0, "").trajectories
    attempts = [attempt for trajectory in blank for attempt in trajectory.attempts]
    answers = [attempt for attempt in attempts if attempt.kind in ANSWER_KINDS]
    assert answers and not {attempt.reason for attempt in answers} & {"certified", "not certified"}
    assert rejected(blank) > 0.5 and {attempt.k > 0 for attempt in answers} >= {True}


@pytest.mark.parametrize("experiment", [HotpotQA, MuSiQue])
def test_without_noise_rules_still_find_their_way(experiment: type[Any]) -> None:
    setup = experiment(data="synthetic", split="writing", limit=5, placebo=0.0)
    assert {one.result["em"] for one in collecting.collect(setup, 0, "").episodes.values()} == {1.0}


def test_beside_a_validate_that_certifies_nothing_it_ends_by_the_same_budgets() -> None:
    own = collecting.collect(replace(SETUP, engine="rules@0.7?certify=0&reject=1"), 0, "").trajectories
    assert rejected(own) == 1.0
    blank = collecting.collect(replace(SETUP, placebo=rejected(own)), 0, "").trajectories
    assert len(blank) == len(own) and not any(attempt.k for one in blank for attempt in one.attempts)
    assert sum(len(one.attempts) for one in blank) == sum(len(one.attempts) for one in own)


@pytest.mark.parametrize("setup", [SETUP, assistantbench.Setup(data="synthetic", limit=4)], ids=str)
@pytest.mark.parametrize("control", ["placebo", "blanked"])
def test_one_predicate_a_call_a_control_asks_propose_what_sdp_asks(setup: Any, control: str) -> None:
    setup = replace(setup, settings=Settings(propose="predicate", step_cap=1), engine="rules")
    asked = []
    for changes in ({}, {control: 0.5}):
        setups = replace(setup, **changes).resolved()
        ledgers = [Ledger(connected(setups.engine), record=True) for _ in setups.tasks()]
        for task, ledger in zip(setups.tasks(), ledgers, strict=True):
            setups.episode(task, ledger)
        asked.append([[a["request"] for a in ledger.recorded if "decompose" in a["prompt"]] for ledger in ledgers])
    assert asked[0] == asked[1] and all(len(requests) >= 2 for requests in asked[0])


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_that_there_is_not_is_refused(share: float) -> None:
    setup = SETUP.resolved()
    with pytest.raises(ValueError, match="placebo="):
        replace(setup, placebo=share).episode(setup.tasks()[0], Ledger(connected(setup.engine)))
