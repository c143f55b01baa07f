"""LLM-as-a-Judge against a scripted server: what it is shown, how its answers become rewards, and what is no answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

import chat_server as chat
from chat_server import ChatServer, Request
from lab.models.backbone import Ledger
from lab.models.connect import connect
from statefactory.predictors import Predictor
from statefactory.predictors.judge import PROMPTS, Exchange, Judge, Mode

GOAL = "put the kite into the box"
ACTIONS = ("look", "take kite", "put kite in box")
OBSERVATIONS = ("You see a kite and a box.", "You hold the kite.", "The kite is in the box.")
STATELESS: tuple[Mode, ...] = ("analytic", "intuitive")


def result(
    judge: Judge, actions: Sequence[str] = ACTIONS, observations: Sequence[str] = OBSERVATIONS
) -> dict[str, Any]:
    return judge.result(judge.follow(GOAL, actions, observations)[1:])


def answer_of(mode: Mode, reward: object, words: str = "as it is") -> chat.Response:
    """An answer in the mode's form."""
    key = {"analytic": {"analysis": words}, "intuitive": {}, "stateful": {"belief": words}}[mode]
    return chat.answer(key | {"reward": reward})


def judge(mode: Mode, engine: str = "small?patience=5") -> Judge:
    return Judge(Ledger(connect(engine, cache=None)), mode)


def shown(request: Request) -> str:
    """What the user's message says."""
    return request.body["messages"][1]["content"]


@pytest.mark.parametrize("mode", PROMPTS)
def test_a_reward_is_the_percentage_of_each_step(server: ChatServer, mode: Mode) -> None:
    server.script(*(answer_of(mode, percent) for percent in (0, 55, 100)))
    predictor: Predictor = judge(mode)
    rewards = predictor.predict(GOAL, ACTIONS, OBSERVATIONS)
    assert rewards.tolist() == [0.0, 0.55, 1.0]
    assert rewards.dtype == np.float64
    assert server.count == 3
    assert {call.operator for call in predictor.backbone.calls} == {"judge"}


@pytest.mark.parametrize("mode", STATELESS)
def test_a_stateless_judge_sees_a_history_that_only_ever_grows_at_its_end(server: ChatServer, mode: Mode) -> None:
    server.behave(lambda request: answer_of(mode, 10))
    judge(mode).predict(GOAL, ACTIONS, OBSERVATIONS)
    texts = [shown(request) for request in server.requests]
    assert all(later.startswith(earlier) for earlier, later in zip(texts, texts[1:], strict=False))
    assert len({request.body["messages"][0]["content"] for request in server.requests}) == 1
    assert texts[2].splitlines()[-2:] == ["Step 3. Action: put kite in box", "Observation: The kite is in the box."]
    assert GOAL in texts[0] and "take kite" not in texts[0]


def test_the_stateful_judge_sees_its_own_last_belief_and_the_newest_step_alone(server: ChatServer) -> None:
    server.behave(lambda request: answer_of("stateful", 10, f"belief number {request.number}"))
    judge("stateful").predict(GOAL, ACTIONS, OBSERVATIONS)
    first, second, third = (shown(request) for request in server.requests)
    assert "Belief so far: None" in first
    assert "Belief so far: belief number 0" in second
    assert "Belief so far: belief number 1" in third and "belief number 0" not in third
    assert "You hold the kite." in second and "You hold the kite." not in third


@pytest.mark.parametrize(
    ("mode", "properties"),
    [("analytic", ["analysis", "reward"]), ("intuitive", ["reward"]), ("stateful", ["belief", "reward"])],
)
def test_what_is_reasoned_comes_before_the_number(mode: Mode, properties: Sequence[str]) -> None:
    assert list(PROMPTS[mode].schema["properties"]) == list(properties)


@pytest.mark.parametrize("reward", [150, -1, "50%", 12.5, None, "half"])
@pytest.mark.parametrize("mode", PROMPTS)
def test_a_number_that_is_no_percentage_is_no_answer(mode: Mode, reward: object) -> None:
    with pytest.raises(ValidationError, match="reward"):
        PROMPTS[mode].answer(**{"analysis": "", "belief": ""} | {"reward": reward})


@pytest.mark.slow
@pytest.mark.parametrize("bad", [chat.says("I would say about half."), chat.empty(), chat.answer([1, 2])])
@pytest.mark.parametrize("mode", PROMPTS)
def test_a_step_without_a_readable_answer_keeps_the_reward_before_it_and_is_counted(
    server: ChatServer, mode: Mode, bad: chat.Response
) -> None:
    server.script(answer_of(mode, 30, "the first"), bad, bad, answer_of(mode, 90))
    predictor = judge(mode)
    judged = result(predictor)
    assert judged == {"rewards": [0.3, 0.3, 0.9], "malformed": 1, "flags": [[], ["unread"], []]}
    assert [call.path for call in predictor.backbone.calls] == ["schema", "malformed", "schema"]
    if mode == "stateful":
        assert "Belief so far: the first" in shown(server.requests[3])


def test_a_mode_that_there_is_not_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="'wise'.*analytic, intuitive, stateful"):
        Judge(connect("rules"), "wise")  # type: ignore[arg-type]


# --- a history that does not fit ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", STATELESS)
def test_a_history_that_does_not_fit_loses_its_oldest_steps_and_says_how_many(server: ChatServer, mode: Mode) -> None:
    server.behave(lambda request: answer_of(mode, 10))
    predictor = judge(mode, "small?context=700&max_tokens=100")
    actions = tuple(f"go to shelf {number}" for number in range(40))
    predictor.predict(GOAL, actions, ("You see nothing of use there.",) * 40)
    text = shown(server.requests[-1])
    kept = text.count("Action: ")
    assert 1 < kept < 40
    assert f"(Earlier steps left out here for length: {40 - kept})" in text
    assert f"Step {41 - kept}. Action: go to shelf {40 - kept}\n" in text
    assert f"Step {40 - kept}." not in text
    assert text.startswith(f"Task: {GOAL}") and "Step 40. Action: go to shelf 39\n" in text
    cut = [call.cut for call in predictor.backbone.calls]
    assert not cut[0] and cut[-1] and sorted(cut) == cut


@pytest.mark.parametrize("mode", PROMPTS)
def test_an_observation_that_does_not_fit_by_itself_loses_its_end(server: ChatServer, mode: Mode) -> None:
    server.behave(lambda request: answer_of(mode, 10))
    observations = ("You see a box.", "a very long tale " * 1000)
    judge(mode, "small?context=700&max_tokens=100").predict(GOAL, ACTIONS[:2], observations)
    text = shown(server.requests[-1])
    assert "a very long tale a very" in text
    assert text.rstrip().endswith("[the rest is left out]")
    assert text.count("[the rest is left out]") == 1
    assert "take kite" in text and GOAL in text


def test_as_much_of_the_history_is_kept_as_fits() -> None:
    prompt = PROMPTS["analytic"]
    fields = prompt.fill(goal=GOAL, history=tuple(Exchange(f"step {n}", "x" * (n % 97)) for n in range(500)))
    length = sum(len(message["content"]) for message in prompt.render(fields))
    for over in (1, 40, 999, 9999):
        shorter = prompt.shorten(fields, over)
        freed = length - sum(len(message["content"]) for message in prompt.render(shorter))
        mark = len("(Earlier steps left out here for length: 100)\n")
        assert over - mark <= freed < over + 97 + 60
