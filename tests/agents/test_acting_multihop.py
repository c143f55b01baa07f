"""Acting agents on multi-hop questions: the three actions, what rules and noise do, and a run on the harness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import chat_server as chat
from agents.experiments.acting import ASKING, Acting
from agents.experiments.acting_worlds import HotpotQA, MultiHop, MuSiQue, TravelPlanner
from agents.loops import BLANK
from agents.play import Settings
from agents.prompts import ActFields
from agents.worlds.multihop import Asking, best
from chat_server import ChatServer
from lab.models.connect import connected
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from standins.agents.rules import FINISH, next_action
from worlds.base import NoSolution
from worlds.multihop.questions import Paragraph
from worlds.multihop.world import from_text

SMALL = HotpotQA(data="synthetic", split="writing", limit=4)
TRIPS = TravelPlanner(data="synthetic")


def played(setup: MultiHop) -> list[Any]:
    return [one.result for one in collect(setup, workers=1, show_progress=False).episodes.values()]


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["distractor", "open"])
@pytest.mark.parametrize("experiment", [HotpotQA, MuSiQue])
def test_rules_find_the_evidence_and_answer(experiment: type[MultiHop], setting: Any) -> None:
    results = played(experiment(data="synthetic", split="writing", limit=4, setting=setting))
    assert {(one["em"], one["gold_seen"], one["end"], one["malformed"], one["invalid"]) for one in results} == {
        (1.0, 1.0, "finished", 0, 0)
    }
    assert all(one["calls"] == one["steps"] > 2 for one in results)


def test_noise_costs_steps_and_answers_and_never_the_form() -> None:
    plain, noisy = played(replace(SMALL, limit=20)), played(replace(SMALL, limit=20, engine="rules@0.6"))
    assert sum(one["steps"] for one in noisy) > sum(one["steps"] for one in plain)
    assert sum(one["em"] for one in noisy) < sum(one["em"] for one in plain) == 20
    assert {one["malformed"] + one["invalid"] for one in noisy} == {0}


@pytest.mark.parametrize("agent", ASKING)
def test_every_agent_plays_to_the_end_by_rules_and_alike_in_both_forms(agent: str) -> None:
    free, bound = (played(replace(SMALL, agent=agent, settings=Settings(schema=each))) for each in (False, True))
    assert free == bound
    assert {(one["end"], one["malformed"], one["invalid"]) for one in free} == {("finished", 0, 0)}
    assert [one["em"] for one in free] == [1.0] * 4 or agent == "retrieve once"


@pytest.mark.slow
@pytest.mark.parametrize("agent", ASKING)
def test_noise_reaches_every_agent_and_a_wrong_form_none(agent: str) -> None:
    results = played(replace(SMALL, limit=20, engine="rules@0.5", agent=agent))
    assert sum(one["em"] for one in results) < 20
    assert {one["malformed"] + one["invalid"] for one in results} == {0}


def test_a_wrong_plan_is_followed_and_a_blank_one_is_not() -> None:
    engine = "rules, Plan: rules@0"
    wrong, blank = (
        played(replace(SMALL, limit=8, engine=engine, agent="Plan-and-Solve", settings=Settings(blank=each)))
        for each in (False, True)
    )
    assert sum(one["em"] for one in wrong) < 8 == sum(one["em"] for one in blank)
    assert {one["calls"] - one["steps"] for one in [*wrong, *blank]} == {1}


@pytest.mark.parametrize(
    ("plan", "action"), [([BLANK], "unknown"), ([f"{FINISH} Rome"], "Rome"), ([FINISH], "unknown"), ([], "unknown")]
)
def test_a_question_that_cannot_be_read_is_answered_by_its_plan_alone(plan: list[str], action: str) -> None:
    fields = ActFields(tools="", task="Question: Hm?", turns=[], plan=plan)
    assert next_action(fields).action == f"finish[{action}]"


@pytest.mark.parametrize(
    ("agent", "operators"), [("ReAct", "act act act"), ("TDP", "supervise act act act supervise act")]
)
def test_rules_give_up_where_nothing_is_found_and_tdp_plans_again_before(agent: str, operators: str) -> None:
    class Elsewhere(Asking):
        def _search(self, query: str) -> str:
            return ""

    setup = replace(SMALL, agent=agent).resolved()
    task = setup.tasks()[0]
    asking = Elsewhere(setup.world().apart(), setup.named(task))
    history = setup.acted(task, asking, connected("rules"))
    assert [turn.operator for turn in history.turns] == operators.split()
    assert asking.result() == {"score": 0.0, "answer": "unknown", "em": 0.0, "f1": 0.0, "gold_seen": 0.0}
    assert agent == "ReAct" or history.turns[3].said.endswith("failed[nothing was found]")


def test_an_experiment_without_a_solution_tells_the_oracle_so() -> None:
    class Unsolved(HotpotQA):
        solution = Acting.solution

    with pytest.raises(NoSolution, match="Unsolved says no way to solve"):
        Unsolved(data="synthetic", engine="oracle").solution("one")


@pytest.mark.parametrize("agent", ["retrieve once", "interleave"])
def test_search_agents_without_an_answer_hand_in_none(server: ChatServer, agent: str) -> None:
    server.behave(lambda request: chat.says("b\nc" if request.number % 2 else ""))
    # One episode: of more, so few answers could be read that the run would stop.
    results = played(replace(SMALL, limit=1, engine="small?patience=5", agent=agent))
    assert {(one["end"], one["answer"], one["steps"]) for one in results} == {("no answer", "", 1)}
    assert all(0 < one["malformed"] <= one["calls"] < 12 for one in results)


@pytest.mark.parametrize(
    ("setup", "agent", "blank"),
    [(SMALL, "TDB", False), (SMALL, "ReAct", True), (SMALL, "interleave", True), (TRIPS, "interleave", False)],
    ids=["unknown", "has no plan", "searches and has no plan", "searches only"],
)
def test_an_agent_that_does_not_fit_is_rejected_with_those_that_do(setup: Acting, agent: str, blank: bool) -> None:
    with pytest.raises(BadSetting, match="choose one of .*TDP"):
        replace(setup, agent=agent, settings=Settings(blank=blank))


def test_a_search_in_the_distractor_setting_shows_named_titles_first_and_only_what_has_its_words() -> None:
    paragraphs = [Paragraph("Oslo", "A city of Norway."), Paragraph("Rome (city)", "Nero lived."), Paragraph("Tea", "")]
    assert [one.title for one in best(paragraphs, "cities of Norway near Rome", 5)] == ["Rome (city)", "Oslo"]
    assert [one.title for one in best(paragraphs, "cities of Norway near Rome", 1)] == ["Rome (city)"]
    assert best(paragraphs, "the of and", 5) == []


def test_sentences_are_looked_up_in_what_was_shown_alone() -> None:
    setup = SMALL.decided()
    asking = setup.environment(setup.tasks()[0])
    asking.begin()
    first = asking.world.reset(asking.task).facts["paragraphs"][0]
    word = first.text.split()[-1].rstrip(".")
    assert asking.act(f"lookup[{word}]").text == "Nothing was found; use other words."
    assert first in from_text(asking.act(f"search[{first.title}]").text)
    found = asking.act(f"Lookup[ {word.upper()} ]")
    assert found.valid and all(word.lower() in line.lower() for line in found.text.splitlines())


def test_a_run_of_an_endpoint_is_replayed_without_it(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def behave(request: chat.Request) -> chat.Response:
        turns = request.text.count("\nObservation: ")
        return chat.says(["hm", "Thought: a\nAction: search[film]", "", "Thought: b\nAction: finish[Rome]"][turns])

    server.behave(behave)
    asked = collect(replace(SMALL, limit=2, engine="small?patience=5"), workers=1, show_progress=False)
    monkeypatch.delenv("OPENAI_BASE_URL")
    again = collect(replace(SMALL, engine=f"replay:{asked.folder}"), workers=1, show_progress=False)
    assert [one.result for one in again.episodes.values()] == [one.result for one in asked.episodes.values()]
    assert {(one.result["malformed"], one.result["steps"]) for one in again.episodes.values()} == {(2, 2)}
