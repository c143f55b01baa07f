"""The loops of agents that plan or reflect, on a small world: what each asks when, what is shown, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import chat_server as chat
from agents.experiments.acting import ASKING
from agents.history import CALLS, FINISHED, MALFORMED, STEPS, TOKENS, History, timeline
from agents.loops import BLANK, REPEATED
from agents.play import TRIES, Play, Settings
from chat_server import ChatServer
from lab.models.backbone import Ledger
from lab.models.connect import connect
from staircase import staircase

UP, DANCE = "Thought: On.\nAction: up", "Thought: Why not?\nAction: dance"
PLAN = "1. Climb the first stair.\n2. Climb the second one."
PLANNERS = [name for name, agent in ASKING.items() if agent.blanks]


@pytest.fixture
def play(server: ChatServer) -> Callable[..., History]:
    """An episode of an agent with these answers of a server, the last of them for ever; without any, with its own."""

    def played(agent: str, *answers: str, **settings: Any) -> History:
        if answers:
            server.script(*map(chat.says, answers))
            server.behave(lambda request: chat.says(answers[-1]))
        play = Play(staircase(), Ledger(connect("small?patience=5", cache=None)), Settings(**settings))
        ASKING[agent].loop(play)
        return play.history

    return played


def asked(server: ChatServer) -> list[str]:
    """What each request showed behind the standing rules."""
    return [request.body["messages"][1]["content"] for request in server.requests]


def operators(history: History) -> list[str]:
    return [turn.operator for turn in history.turns]


def test_a_plan_is_asked_for_once_and_shown_with_each_action(server: ChatServer, play: Any) -> None:
    history = play("Plan-and-Solve", PLAN, UP, UP)
    assert (history.end, history.steps, operators(history)) == (FINISHED, 2, ["plan", "act", "act"])
    shown = asked(server)
    assert "Write the plan of what is still to be done." in shown[0] and "The plan:" not in shown[0]
    assert all(f"The plan:\n{PLAN}" in each for each in shown[1:])
    assert "Observation: You stand on stair 1." in shown[2] and "Observation: \n" not in shown[2]


def test_a_malformed_plan_is_told_to_the_planner_alone_and_after_a_few_tries_there_is_none(
    server: ChatServer, play: Any
) -> None:
    history = play("Plan-and-Solve", *["Let us climb."] * TRIES, UP, UP)
    assert (history.end, history.count(MALFORMED), history.steps) == (FINISHED, TRIES, 2)
    shown = asked(server)
    assert shown[1].count("Let us climb.\nObservation: Nothing was done") == 1
    assert "Let us climb." not in shown[TRIES] and "The plan:" not in shown[TRIES]


def test_goalact_plans_before_each_action_and_sends_a_repeated_one_back_once(server: ChatServer, play: Any) -> None:
    history = play("GoalAct", PLAN, UP, "1. Climb on.", UP, "1. Climb on anyway.", UP)
    assert (history.end, history.steps) == (FINISHED, 2)
    assert [turn.observation for turn in history.turns if turn.operator == "act"][1] == REPEATED
    shown = asked(server)
    assert "to be done now, by the actions that there are: Climb the first stair." in shown[1]
    assert "The plan:\n1. Climb on." in shown[4] and f"Action: up\nObservation: {REPEATED}" in shown[4]


@pytest.mark.parametrize(
    ("replan", "wanted"), [("each", "plan act plan act plan act"), ("failure", "plan act plan act act")]
)
def test_plan_and_act_plans_again_after_each_action_or_after_a_failed_one(play: Any, replan: str, wanted: str) -> None:
    says = {"plan": [PLAN] * 3, "act": [DANCE, UP, UP]}
    history = play("Plan-and-Act", *(says[operator].pop(0) for operator in wanted.split()), replan=replan)
    assert (history.end, operators(history)) == (FINISHED, wanted.split())


def test_reflexion_begins_again_with_the_lessons_of_trials_that_it_judges_unsolved(
    server: ChatServer, play: Any
) -> None:
    history = play(
        "Reflexion", DANCE, DANCE, "Reason: I only danced.\nSolved: no", "Climb, do not dance.", UP, UP,
        "Reason: I stand on stair 2.\nSolved: yes", steps=6,
    )  # fmt: skip
    assert operators(history) == ["act", "act", "judge", "reflect", "act", "act", "judge"]
    assert (history.end, history.steps) == (FINISHED, 4)
    shown = asked(server)
    assert "Action: dance" in shown[3] and "Action: dance" not in shown[4] + shown[6]
    assert "taught:\n- Climb, do not dance." in shown[4] and "Action: up" in shown[6]


def test_reflexion_keeps_the_newest_lessons_and_may_be_told_by_the_score(server: ChatServer, play: Any) -> None:
    trial = [DANCE, "Lesson {}."]
    history = play(
        "Reflexion", *(text.format(at) for at in range(5) for text in trial), UP, steps=6, trials=6, success="score"
    )
    assert (history.end, history.steps) == (STEPS, 6) and "judge" not in {turn.operator for turn in history.turns}
    assert "taught:\n- Lesson 2.\n- Lesson 3.\n- Lesson 4.\n" in asked(server)[-1]
    assert operators(play("Reflexion", UP, UP, success="score")) == ["act", "act"]  # solved: the last trial


def test_tdp_shows_a_sub_goal_the_results_it_needs_and_no_actions_of_others(server: ChatServer, play: Any) -> None:
    graph = "1. Climb a stair.\n2. Look around.\n3. Climb from #1 (after 1)"
    done = "Thought: So.\nAction: done[on stair {}]"
    history = play("TDP", graph, UP, done.format(1), done.format("one"), UP)
    assert (history.end, history.steps, history.cost.calls) == (FINISHED, 2, 5)
    shown = asked(server)
    assert "there are: Climb a stair." in shown[1] and "Sub-goal 1" not in shown[1] + shown[3]
    assert "Sub-goal 1 (Climb a stair.) brought: on stair 1" in shown[4] and "on stair one" not in shown[4]
    assert "Action: up" in shown[2] and "Action: up" not in shown[3] + shown[4]


def test_tdp_plans_the_rest_anew_after_a_failure_and_where_the_graph_is_used_up(server: ChatServer, play: Any) -> None:
    failed = "Thought: No.\nAction: failed[no stair]"
    history = play("TDP", "1. Dance.\n2. Sing.", failed, "2. Climb.", UP, UP, scope=1)
    assert operators(history) == ["supervise", "act", "supervise", "act", *["supervise"] * 3, "act"]
    shown = asked(server)
    assert "Sub-goal 1 (Dance.) failed: no stair" in shown[2] and "numbered on from 2." in shown[2]
    assert "Sub-goal 2 (Climb.) failed: not reached in time" in shown[4] and "numbered on from 3." in shown[4]
    assert (history.end, history.steps) == (FINISHED, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "answers"), [
    ("Plan-and-Solve", [PLAN, UP, UP]), ("GoalAct", [PLAN, UP, PLAN, UP, PLAN, UP]),
    ("Plan-and-Act", [PLAN, UP, PLAN, UP]), ("TDP", ["1. Climb.\n2. Climb on. (after 1)", UP, UP]),
    ("Reflexion", [DANCE, DANCE, "Reason: a\nSolved: no", "Climb, climb.", UP, UP, "Reason: b\nSolved: yes"]),
])  # fmt: skip
def test_a_placebo_asks_as_often_and_shows_numbered_blanks(
    server: ChatServer, play: Any, agent: str, answers: list[str]
) -> None:
    full, blank = play(agent, *answers, steps=6), play(agent, *answers, steps=6, blank=True)
    assert operators(full) == operators(blank)
    half = len(server.requests) // 2
    shown = "".join(asked(server)[half:])
    assert BLANK in shown and BLANK not in "".join(asked(server)[:half])
    assert not any(text in shown for text in ("Climb the first", "Climb on", "Climb, climb"))


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["ReAct", *PLANNERS])
@pytest.mark.parametrize("schema", [False, True])
def test_nonsense_ends_every_agent_by_a_cap(server: ChatServer, play: Any, agent: str, schema: bool) -> None:
    texts = ["hm", DANCE, "1. Sing\n2. Sing", "", '{"steps": []}', '{"thought": "", "action": " "}', "Solved: maybe"]
    server.behave(lambda request: chat.says(texts[request.number % len(texts)]))
    history = play(agent, steps=4, calls=11, schema=schema)
    assert history.end in (STEPS, CALLS) and history.steps <= 4 and history.cost.calls <= 11
    assert History.from_json(history.to_json()) == history and timeline("nonsense", history).text(detail=True)


@pytest.mark.parametrize("agent", PLANNERS)
def test_tokens_can_be_capped(server: ChatServer, play: Any, agent: str) -> None:
    server.behave(lambda request: chat.says("hm", usage={"prompt_tokens": 90, "completion_tokens": 10}))
    history = play(agent, tokens=250)
    assert (history.end, history.cost.tokens_in + history.cost.tokens_out) == (TOKENS, 300)
