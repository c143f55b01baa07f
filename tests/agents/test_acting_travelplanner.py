"""Acting agents on TravelPlanner: the desk's tools, a plan that is handed in, and what the evaluator says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import chat_server as chat
from agents.experiments.acting import ASKING
from agents.experiments.acting_worlds import TravelPlanner
from agents.play import Settings
from agents.worlds.travelplanner import Planning, delivered
from chat_server import ChatServer
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting, Results
from standins.agents.travelplanner import next_step, trip_of

MADE = TravelPlanner(data="synthetic", limit=4)


def played(setup: TravelPlanner) -> Results[TravelPlanner]:
    return collect(setup, workers=1, show_progress=False)


def test_the_stand_in_hands_in_a_plan_that_passes() -> None:
    run = played(MADE)
    assert run.evidence == "simulated"
    assert {one.result["score"] for one in run.episodes.values()} == {1.0}
    for task, one in run.episodes.items():
        assert run.setup.verdict(task, delivered(one.result)).final
        assert one.result["invalid"] == 0 and one.result["steps"] > 5


def test_noise_costs_searches_and_plans_and_the_evaluator_says_why() -> None:
    run = played(replace(MADE, engine="oracle@0.5", limit=12))
    failed = [run.setup.judged(one) for one in run.episodes.values() if one.result["score"] == 0]
    assert failed and all(one.reason.startswith("finished") and ": " in one.reason for one in failed)


PLANNERS = [name for name, one in ASKING.items() if one.blanks]


@pytest.mark.parametrize("agent", PLANNERS)
def test_the_stand_in_plays_every_planning_agent_and_noise_reaches_it(agent: str) -> None:
    plain, noisy = (
        [one.result for one in played(replace(MADE, limit=3, engine=engine, agent=agent)).episodes.values()]
        for engine in ("oracle", "oracle@0.4")
    )
    assert [one["score"] for one in plain] == [1.0] * 3 and all(one["calls"] > one["steps"] for one in plain)
    assert [one["calls"] for one in noisy] != [one["calls"] for one in plain]


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


def test_search_agents_do_not_fit() -> None:
    with pytest.raises(BadSetting, match="choose one of ReAct"):
        replace(MADE, agent="interleave")


@pytest.mark.parametrize("told", ["reference", "propose"])
def test_the_cities_are_told_only_where_they_are_given(told: Any) -> None:
    setup = replace(MADE, cities=told).resolved()
    query = setup.queries()[-1]
    assert (f"Cities to visit, in this order: {query.ref_cities[0]}" in setup.environment(query.id).begin()) == (
        told == "reference"
    )


def planning() -> Planning:
    setup = MADE.resolved()
    opened = setup.environment(setup.tasks()[0])
    opened.begin()
    return opened


@pytest.mark.parametrize("action", ["Submit[no plan]", "Submit[]", "Dance[now]", "FlightSearch[Rome]", "", "Submit[["])
def test_what_the_desk_cannot_use_is_refused_and_ends_nothing(action: str) -> None:
    desk = planning()
    seen = desk.act(action)
    assert (seen.valid, seen.done, desk.result()) == (False, False, {"score": 0.0, "plan": ""})
    assert ("The plan is no JSON" in seen.text) == action.startswith("Submit")


@pytest.mark.parametrize("plan", ["5", "[]", "{}", "null", '[{"days": 1}]', '["\\ud83d", NaN, 1e999]'])
def test_any_json_can_be_handed_in_and_is_kept_as_it_was(plan: str) -> None:
    desk = planning()
    assert desk.act(f" Submit[{plan}]\n").done
    assert desk.result() == {"score": 0.0, "plan": plan}
    assert repr(delivered(json.loads(json.dumps(desk.result())))) == repr(json.loads(plan))


def test_a_model_that_talks_nonsense_delivers_nothing(server: ChatServer) -> None:
    texts = ["hm", "Thought: a\nAction: Submit[soon]", "Thought: b\nAction: CitySearch[Ohio]"]
    server.behave(lambda request: chat.says(texts[request.number % 3]))
    setup = replace(MADE, engine="small?patience=5", limit=1, settings=Settings(steps=4))
    run = played(setup)
    (one,) = run.episodes.values()
    assert (one.result["end"], one.result["malformed"], one.result["invalid"]) == ("out of steps", 2, 2)
    assert "out of steps, 2 malformed, 2 invalid; " in run.setup.judged(one).reason
