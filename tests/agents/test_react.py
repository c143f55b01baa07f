"""ReAct's loop on a small world: what is read, what is told back, what ends it, and what is shown of the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chat_server as chat
from agents.answers import Act, read
from agents.history import CALLS, FINISHED, INVALID, MALFORMED, STEPS, STUCK, History, timeline
from agents.loops import react
from agents.play import SHOWN, Play, Settings
from agents.prompts import CUT_OFF, ActFields, Past, react_prompt, without_oldest, written
from chat_server import ChatServer
from lab.models.answers import FreeText
from lab.models.backbone import Ledger, MalformedAnswer
from lab.models.connect import connect
from staircase import staircase

UP, DANCE, BABBLE = "Thought: On.\nAction: up", "Thought: Why not?\nAction: dance", "I am a stair."


@pytest.fixture
def climb(server: ChatServer) -> Callable[..., tuple[History, dict[str, Any]]]:
    """An episode with these answers of a server, the last of them for ever."""

    def play(*answers: str, engine: str = "small?patience=5", **settings: Any) -> tuple[History, dict[str, Any]]:
        server.script(*map(chat.says, answers))
        server.behave(lambda request: chat.says(answers[-1]))
        environment = staircase()
        played = Play(environment, Ledger(connect(engine, cache=None)), Settings(**settings))
        react(played)
        return played.history, environment.result()

    return play


def test_it_thinks_acts_and_observes_until_the_world_ends(server: ChatServer, climb: Any) -> None:
    history, result = climb("Thought: I am at the bottom.\nAction: up\nObservation: I am on top!", UP)
    assert (history.end, history.steps, result) == (FINISHED, 2, {"score": 1.0})
    assert [turn.observation for turn in history.turns] == ["You stand on stair 1.", "You stand on stair 2."]
    shown = server.requests[1].body["messages"]
    assert "The only action is: up" in shown[0]["content"] and "JSON" not in shown[0]["content"]
    assert shown[1]["content"] == (
        "Task: Stand on stair 2.\n\nYou stand on stair 0.\n\nThought: I am at the bottom.\nAction: up\n"
        "Observation: You stand on stair 1.\n\n"
        "Answer with two lines and nothing else. The first begins with `Thought:` and says what is known and what to "
        "do next. The\nsecond begins with `Action:` and is one action, written as it is listed."
    )


def test_malformed_answers_and_invalid_actions_are_told_to_the_agent_and_counted_apart(
    server: ChatServer, climb: Any
) -> None:
    history, _ = climb(BABBLE, DANCE, UP, "", UP)
    assert [turn.fault for turn in history.turns] == [MALFORMED, INVALID, "", MALFORMED, ""]
    assert (history.count(MALFORMED), history.count(INVALID), history.steps) == (2, 1, 3)
    last = server.requests[-1].text
    assert f"{BABBLE}\nObservation: Nothing was done" in last and "Action: dance\nObservation: You cannot" in last
    assert "(nothing)\nObservation: Nothing was done" in last
    assert history.cost.calls == server.count == 5


def test_nonsense_ends_by_the_cap_on_calls_and_refused_actions_by_that_on_steps(server: ChatServer, climb: Any) -> None:
    babbled, _ = climb(BABBLE * 1000, steps=3)
    assert (babbled.end, len(babbled.turns), babbled.steps) == (CALLS, 6, 0)
    assert all(len(turn.said) <= SHOWN for turn in babbled.turns)
    danced, result = climb(DANCE, steps=3, calls=9)
    assert (danced.end, len(danced.turns), danced.count(INVALID), result["score"]) == (STEPS, 3, 3, 0.0)


def test_an_episode_ends_where_the_agent_does_nothing_new_for_some_turns(climb: Any) -> None:
    for answers in ([DANCE], [BABBLE], [DANCE, BABBLE, DANCE]):  # the last one for ever
        history, _ = climb(*answers, steps=9, stuck=2)
        assert (history.end, len(history.turns)) == (STUCK, len(set(answers)) + 2)
    history, _ = climb(DANCE, DANCE, UP, DANCE, BABBLE, DANCE, UP, steps=9, stuck=3)
    assert history.end == FINISHED and history.repeating() == 0


def test_answers_can_be_bound_to_a_schema(server: ChatServer, climb: Any) -> None:
    history, _ = climb('{"thought": "On.", "action": "up"}', schema=True)
    assert (history.end, history.turns[0].action) == (FINISHED, "up")
    assert {"thought", "action"} == set(
        server.requests[0].body["response_format"]["json_schema"]["schema"]["properties"]
    )


def test_what_does_not_fit_the_context_is_left_out_oldest_first_and_counted(server: ChatServer, climb: Any) -> None:
    history, _ = climb("Thought: " + "Hm. " * 50 + "\nAction: dance", steps=6, engine="small?context=420")
    assert [turn.cut for turn in history.turns] == [False] * 3 + [True] * 3
    assert "(3 earlier turns are left out)" in server.requests[-1].text


@pytest.mark.slow
@given(st.lists(st.text(max_size=30), max_size=5), st.integers(1, 200))
def test_shortening_frees_what_it_can_keeps_the_newest_turn_and_ends(seen: list[str], over: int) -> None:
    fields: ActFields | None = ActFields(tools="", task="", turns=[Past(action="up", observation=one) for one in seen])
    assert fields is not None
    prompt, sizes = react_prompt("staircase"), list[int]()
    while fields is not None and len(sizes) < 300:
        before, fields = fields, without_oldest(fields, over)
        sizes.append(len(prompt.render(before)[1]["content"]))
        if fields == before:
            break
        assert before.left_out + len(before.turns) == len(seen)
        if len(seen) > 1 and len(before.turns) == 1:
            assert before.turns[0].observation.removesuffix(CUT_OFF) in seen[-1] or seen[-1] == ""
    assert len(sizes) <= len(seen) + 40


@given(st.text())
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    try:
        said = read(FreeText(text=text), Act)
    except MalformedAnswer as error:
        assert str(error)
    else:
        assert said.action and read(written(said.thought, said.action), Act) == said


@pytest.mark.parametrize(
    "text",
    [
        "Action: up", "Thought: On.", "Thought: On. Action: up", "Thought: On.\nAction:", "So.\nThought: a\nAction: b",
        f"{UP}\n{UP}", f"Action: up\n{UP}", "thought: on\naction: up", f"**{UP}**",
    ],
)  # fmt: skip
def test_only_one_thought_and_one_action_in_their_order_are_read(text: str) -> None:
    with pytest.raises(MalformedAnswer):
        read(FreeText(text=text), Act)


@pytest.mark.parametrize(
    "text",
    ["**Thought:** On.\n**Action:** *up*", "**Thought**: On.\n\n__Action__: *up*", "*Thought: On.*\n**Action: *up***"],
)
def test_labels_in_bold_are_layout(text: str) -> None:
    assert read(FreeText(text=text), Act) == Act(thought="On.", action="*up*")


def test_a_history_is_kept_and_shown_whole(climb: Any) -> None:
    history, result = climb(BABBLE, DANCE, UP)
    assert History.from_json(history.to_json()) == history
    shown = timeline("climb", history, score=result["score"])
    assert [step.verdict for step in shown.steps] == [False, False, None, None]
    assert "finished, 3 steps, 1 malformed, 1 invalid" in shown.text() and BABBLE in shown.text(detail=True)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"calls": -1}])
def test_caps_that_no_episode_can_have_are_rejected(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]
