"""Acting agents on multi-hop questions: the three actions, what rules and noise do, and a run on the harness."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import chat_server as chat
from agents.experiments.acting import ASKING, Acting
from agents.experiments.acting_worlds import HotpotQA, MultiHop, MuSiQue
from agents.plans import BLANK
from agents.play import Settings
from agents.prompts import ActFields
from agents.react import react
from agents.tdp import tdp
from agents.worlds.multihop import Asking, best
from chat_server import ChatServer
from lab.models.connect import connected
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.viewer.transcripts import Transcript
from standins.agents.rules import FINISH, next_action
from worlds.base import NoSolution
from worlds.multihop.questions import Paragraph
from worlds.multihop.world import from_text

SMALL = HotpotQA(data="synthetic", split="writing", limit=4)


def played(setup: MultiHop) -> list[Any]:
    return [one.result for one in collect(setup, workers=1, show_progress=False).episodes.values()]


def begun(setup: MultiHop) -> Asking:
    setup = setup.decided()
    asking = setup.environment(setup.tasks()[0])
    asking.begin()
    return asking


@pytest.mark.parametrize("setting", ["distractor", "open"])
@pytest.mark.parametrize("experiment", [HotpotQA, MuSiQue])
def test_rules_find_the_evidence_and_answer(experiment: type[MultiHop], setting: Any) -> None:
    results = played(experiment(data="synthetic", split="writing", limit=4, setting=setting))
    assert {(one["em"], one["gold_seen"], one["end"], one["malformed"], one["invalid"]) for one in results} == {
        (1.0, 1.0, "finished", 0, 0)
    }
    assert all(one["calls"] == one["steps"] > 2 for one in results)


def test_rules_give_up_where_nothing_answers() -> None:
    class Elsewhere(Asking):
        def _search(self, query: str) -> str:
            return ""

    setup = SMALL.resolved()
    asking = Elsewhere(setup.world().apart(), setup.world().named(setup.tasks()[0]))
    history = react(asking, connected("rules"))
    assert [turn.action.partition("[")[0] for turn in history.turns] == ["search", "search", "finish"]
    assert asking.result() == {"score": 0.0, "answer": "unknown", "em": 0.0, "f1": 0.0, "gold_seen": 0.0}


def test_noise_costs_steps_and_answers_and_never_the_form() -> None:
    plain, noisy = played(replace(SMALL, limit=20)), played(replace(SMALL, limit=20, engine="rules@0.6"))
    assert sum(one["steps"] for one in noisy) > sum(one["steps"] for one in plain)
    assert sum(one["em"] for one in noisy) < sum(one["em"] for one in plain) == 20
    assert {one["malformed"] + one["invalid"] for one in noisy} == {0}


def test_bound_to_a_schema_the_same_rules_do_the_same() -> None:
    free, bound = (played(replace(SMALL, settings=Settings(schema=each))) for each in (False, True))
    assert free == bound


@pytest.mark.parametrize("agent", ASKING)
def test_every_agent_plays_to_the_end_by_rules_and_alike_in_both_forms(agent: str) -> None:
    free, bound = (played(replace(SMALL, agent=agent, settings=Settings(schema=each))) for each in (False, True))
    assert free == bound
    assert {(one["end"], one["malformed"], one["invalid"]) for one in free} == {("finished", 0, 0)}
    assert [one["em"] for one in free] == [1.0] * 4 or agent == "retrieve once"


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
    ("plan", "action"),
    [
        ([BLANK], "finish[unknown]"),
        ([f"{FINISH} Rome"], "finish[Rome]"),
        ([FINISH], "finish[unknown]"),
        ([], "finish[unknown]"),
    ],
)
def test_a_question_that_cannot_be_read_is_answered_by_its_plan_alone(plan: list[str], action: str) -> None:
    fields = ActFields(tools="", task="Question: Hm?", turns=[], plan=plan)
    assert next_action(fields).action == action


def test_tdp_plans_anew_where_a_sub_goal_finds_nothing() -> None:
    class Elsewhere(Asking):
        def _search(self, query: str) -> str:
            return ""

    setup = SMALL.resolved()
    asking = Elsewhere(setup.world().apart(), setup.world().named(setup.tasks()[0]))
    history = tdp(asking, connected("rules"))
    assert [turn.operator for turn in history.turns] == ["supervise", "act", "act", "act", "supervise", "act"]
    assert history.turns[3].said.endswith("failed[nothing was found]") and asking.result()["answer"] == "unknown"


@pytest.mark.parametrize("agent", ["retrieve once", "interleave"])
def test_search_agents_without_an_answer_hand_in_none(server: ChatServer, agent: str) -> None:
    server.behave(lambda request: chat.says("b\nc" if request.number % 2 else ""))
    # One episode: of more, so few answers could be read that the run would stop.
    results = played(replace(SMALL, limit=1, engine="small?patience=5", agent=agent))
    assert {(one["end"], one["answer"], one["steps"]) for one in results} == {("no answer", "", 1)}
    assert all(0 < one["malformed"] <= one["calls"] < 12 for one in results)


@pytest.mark.parametrize(
    ("agent", "settings"), [("TDB", Settings()), ("ReAct", Settings(blank=True)), ("interleave", Settings(blank=True))]
)
def test_an_agent_that_there_is_not_or_that_has_no_placebo_is_rejected(agent: str, settings: Settings) -> None:
    with pytest.raises(BadSetting, match="choose one of .*TDP"):
        replace(SMALL, agent=agent, settings=settings)


def test_a_search_in_the_distractor_setting_shows_named_titles_first_and_only_what_has_its_words() -> None:
    paragraphs = [Paragraph("Oslo", "A city of Norway."), Paragraph("Rome (city)", "Nero lived."), Paragraph("Tea", "")]
    assert [one.title for one in best(paragraphs, "cities of Norway near Rome", 5)] == ["Rome (city)", "Oslo"]
    assert [one.title for one in best(paragraphs, "cities of Norway near Rome", 1)] == ["Rome (city)"]
    assert best(paragraphs, "the of and", 5) == []


def test_sentences_are_looked_up_in_what_was_shown_alone() -> None:
    asking = begun(SMALL)
    first = asking.world.reset(asking.task).facts["paragraphs"][0]
    word = first.text.split()[-1].rstrip(".")
    assert asking.act(f"lookup[{word}]").text == "Nothing was found; use other words."
    assert first in from_text(asking.act(f"search[{first.title}]").text)
    found = asking.act(f"Lookup[ {word.upper()} ]")
    assert found.valid and all(word.lower() in line.lower() for line in found.text.splitlines())


@pytest.mark.parametrize("action", ["dance", "search[]", "finish[ ]", "search Oslo", "search[Oslo] now", ""])
def test_what_is_no_action_is_told_and_changes_nothing(action: str) -> None:
    asking = begun(SMALL)
    seen = asking.act(action)
    assert (seen.valid, seen.done, asking.result()["gold_seen"]) == (False, False, 0.0)
    assert "search[WORDS]" in seen.text


def test_an_endpoint_that_answers_nonsense_ends_by_its_caps_and_fails_no_episode(server: ChatServer) -> None:
    texts = ["no idea", "Thought: so\nAction: dance", '{"action": 1}', "\x00 \ud83d", "Thought:" * 3000, "\n" * 50]
    server.behave(lambda request: chat.says(texts[request.number % len(texts)]))
    setup = replace(SMALL, limit=2, engine="small?patience=5", settings=Settings(steps=3, calls=7))
    results = played(setup)
    assert {(one["end"], one["score"], one["answer"]) for one in results} == {("out of calls", 0.0, "")}
    assert [one["malformed"] + one["invalid"] for one in results] == [one["calls"] for one in results] == [7, 7]


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


def test_an_episode_is_watched_turn_by_turn_and_shown_with_its_prompts() -> None:
    setup, seen = SMALL.resolved(), list[int]()
    task = setup.tasks()[0]
    shown = setup.watch(task, Transcript(connected(setup.engine)), lambda so_far: seen.append(len(so_far.steps)))
    assert seen == list(range(len(shown.steps))) and shown.score == 1.0
    assert all(len(step.exchanges) == 1 and step.cost for step in shown.steps)


@pytest.mark.parametrize("agent", [name for name, one in ASKING.items() if not one.searches])
def test_an_oracle_plays_every_agent_that_chooses_actions(agent: str) -> None:
    results = played(replace(SMALL, engine="oracle", agent=agent))
    assert {(one["em"], one["end"]) for one in results} == {(1.0, "finished")}
    assert len(played(replace(SMALL, engine="oracle@0.5", agent=agent))) == 4


def test_an_oracle_searches_the_gold_titles_and_one_that_no_experiment_knows_is_told() -> None:
    results = played(replace(SMALL, engine="oracle"))
    assert {(one["em"], one["gold_seen"]) for one in results} == {(1.0, 1.0)}

    class Unsolved(HotpotQA):
        solution = Acting.solution

    with pytest.raises(NoSolution, match="Unsolved says no way to solve"):
        Unsolved(data="synthetic", engine="oracle").solution("one")
