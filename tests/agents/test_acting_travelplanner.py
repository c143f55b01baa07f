"""Acting agents on TravelPlanner: the desk's tools, a plan that is handed in, and what the evaluator says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agents.experiments.acting import ASKING
from agents.experiments.acting_worlds import TravelPlanner
from agents.worlds.travelplanner import delivered
from lab.runs.collecting import collect
from lab.runs.experiment import Results
from standins.agents.travelplanner import next_step, trip_of

MADE = TravelPlanner(data="synthetic", limit=4)


def played(setup: TravelPlanner) -> Results[TravelPlanner]:
    return collect(setup, workers=1, show_progress=False)


def test_noise_costs_searches_and_plans_and_the_evaluator_says_why() -> None:
    run = played(replace(MADE, engine="oracle@0.5", limit=12))
    failed = [run.setup.judged(one) for one in run.episodes.values() if one.result["score"] == 0]
    assert failed and all(one.reason.startswith("finished") and ": " in one.reason for one in failed)


PLANNERS = [name for name, one in ASKING.items() if one.blanks]


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ReAct", *PLANNERS])
def test_rules_read_the_query_and_the_searches_and_plan_what_sdps_rules_would(agent: str) -> None:
    """Ten of twelve queries; the other two are over the budget, which no rule weighs."""
    run = played(replace(MADE, limit=12, engine="rules", agent=agent))
    verdicts = [run.setup.verdict(task, delivered(one.result)) for task, one in run.episodes.items()]
    assert sum(verdict.final for verdict in verdicts) == 10
    for verdict in (one for one in verdicts if not one.final):
        assert verdict.delivered and {name for name, check in verdict.hard.items() if check and not check.passed} == {
            "valid_cost"
        }


def test_a_query_in_other_words_gets_a_blank_plan() -> None:
    assert trip_of("Please plan something nice for us in May.\nCities to visit, in this order: Reno") is None
    assert next_step("Please plan something nice for us in May.", []) == "Submit[[]]"


@pytest.mark.parametrize("told", ["reference", "propose"])
def test_the_cities_are_told_only_where_they_are_given(told: Any) -> None:
    setup = replace(MADE, cities=told).resolved()
    query = setup.queries()[-1]
    assert (f"Cities to visit, in this order: {query.ref_cities[0]}" in setup.environment(query.id).begin()) == (
        told == "reference"
    )


@pytest.mark.parametrize("plan", ["5", "[]", "{}", "null", '[{"days": 1}]', '["\\ud83d", NaN, 1e999]'])
def test_any_json_and_nothing_else_can_be_handed_in_and_is_kept_as_it_was(plan: str) -> None:
    setup = MADE.resolved()
    desk = setup.environment(setup.tasks()[0])
    desk.begin()
    assert "The plan is no JSON" in desk.act("Submit[no plan]").text
    assert desk.act(f" Submit[{plan}]\n").done
    assert desk.result() == {"score": 0.0, "plan": plan}
    assert repr(delivered(json.loads(json.dumps(desk.result())))) == repr(json.loads(plan))
