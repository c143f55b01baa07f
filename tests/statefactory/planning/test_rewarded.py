"""ReAct that is shown rewards: what it asks, counts and goes by; the oracle, the placebos, and a model's nonsense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chat_server as chat
from agents.history import ACT, MALFORMED, History
from agents.play import Settings
from chat_server import ChatServer
from lab.models.backbone import Ledger, MalformedAnswer
from lab.models.connect import connected
from statefactory.experiments.guided import AlfWorld, BlocksWorld, Guided, nearer
from statefactory.experiments.predictions import EXTRACTING
from statefactory.planning.prompts import CHOOSE, MOST, Chosen
from statefactory.planning.rewarded import LOOK_AHEAD
from worlds.pool import Pool

BLOCKS = BlocksWorld(engine="oracle@0.6", data="synthetic", limit=4)
MADE: dict[str, Guided] = {"BlocksWorld": BLOCKS, "AlfWorld": AlfWorld(engine="oracle@0.6", data="synthetic", limit=2)}
REACT, STATEFACTORY, CONSTANT, ORACLE, RANDOM = "", "statefactory", "constant", "oracle", "random"


def extracted_by_rules(reward: str) -> dict[str, str]:
    return dict.fromkeys(EXTRACTING if reward == STATEFACTORY else (), "rules")


@pytest.fixture(params=MADE)
def setup(request: pytest.FixtureRequest) -> Guided:
    return MADE[request.param]


def played(setup: Guided, reward: str = REACT, **changed: Any) -> list[dict[str, Any]]:
    """With the penalty for repetition only where a reward can differ."""
    penalty = 0.0 if reward == CONSTANT else setup.penalty
    engines = extracted_by_rules(reward)
    resolved = replace(setup, reward=reward, penalty=penalty, engines=engines, **changed).resolved()
    return [resolved.play(task, Ledger(connected(resolved.engine))) for task in resolved.tasks()]


def acted(results: list[dict[str, Any]]) -> list[Any]:
    """What was thought, done and seen, and what it came to."""
    shown = ("thought", "action", "observation", "fault")
    return [
        ([[turn[name] for name in shown] for turn in one["history"]["turns"] if turn["operator"] == ACT],
         [one[name] for name in ("score", "end", "steps", "invalid")])
        for one in results
    ]  # fmt: skip


@pytest.mark.slow
def test_where_all_candidates_look_alike_it_does_exactly_what_plain_react_does(setup: Guided) -> None:
    plain, placebo = played(setup), played(setup, CONSTANT)
    assert acted(placebo) == acted(plain)
    assert len({turn["thought"] for one in plain for turn in one["history"]["turns"]}) == 2  # errors were among them
    # Each turn is asked once more than plain ReAct's, but where the world has listed nothing.
    assert all(one["calls"] == 2 * other["calls"] for one, other in zip(placebo, plain, strict=True))


def test_bound_to_a_schema_the_placebo_is_plain_react_as_well() -> None:
    caps = Settings(steps=50, schema=True)
    plain, placebo = played(BLOCKS, settings=caps), played(BLOCKS, CONSTANT, settings=caps)
    assert acted(placebo) == acted(plain) and acted(plain) != acted(played(BLOCKS))  # another prompt, other errors


@pytest.mark.slow
def test_the_ceiling_is_above_and_random_rewards_are_below(setup: Guided) -> None:
    def steps(method: str) -> int:
        return sum(one["steps"] for one in played(setup, method))

    assert steps(ORACLE) < steps(REACT) < steps(RANDOM)


@pytest.mark.slow
def test_states_that_rules_extract_rate_candidates_and_every_call_is_counted() -> None:
    setup = replace(
        BLOCKS, reward=STATEFACTORY, limit=1, engines=extracted_by_rules(STATEFACTORY), settings=Settings(steps=4)
    )
    resolved = setup.resolved()
    ledger = Ledger(connected(resolved.engine))
    result = resolved.play(resolved.tasks()[0], ledger)
    assert result["calls"] == len(ledger.calls)
    assert {turn["operator"] for turn in result["history"]["turns"]} == {CHOOSE, LOOK_AHEAD, ACT}
    told = [turn["said"] for turn in result["history"]["turns"] if turn["operator"] == LOOK_AHEAD and turn["said"]]
    candidates = [line for text in told for line in text.splitlines()]
    assert len(told) == 4 and all(line[0] in "+-" for line in candidates)
    # The modules are asked about s_0 and each candidate; the memory of the one that was taken is known then.
    assert [call.operator for call in ledger.calls].count("perceive") == 1 + len(candidates)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1, 2, 3, 7, 20])
def test_the_cap_of_calls_holds_to_the_call(calls: int) -> None:
    setup = replace(BLOCKS, limit=1, settings=Settings(calls=calls))
    (one,) = played(setup, STATEFACTORY)
    assert (one["calls"], one["end"]) == (calls, "out of calls")


@pytest.mark.slow
def test_the_cap_of_steps_holds_and_leaves_room_for_all_questions(setup: Guided) -> None:
    for method in (STATEFACTORY, RANDOM):
        for one in played(setup, method, settings=Settings(steps=3), limit=2, engine="oracle@0"):
            assert (one["end"], one["steps"]) == ("out of steps", 3)


@pytest.fixture
def model(server: ChatServer) -> Iterator[Guided]:
    yield replace(BLOCKS, engine="small?patience=5", reward=RANDOM, limit=1, settings=Settings(steps=2))


def history(setup: Guided) -> History:
    resolved = setup.resolved()
    return History.from_json(resolved.play(resolved.tasks()[0], Ledger(connected(resolved.engine)))["history"])


def test_a_candidate_that_is_named_twice_counts_once() -> None:
    chosen = Chosen(thought="so", numbers=[2, 1, 2])
    assert chosen.among(["up", "down"], 2) == ["down", "up"]
    with pytest.raises(MalformedAnswer, match="it has 2 numbers, and 1 are the most"):
        chosen.among(["up", "down"], 1)


def test_a_choice_that_cannot_be_read_is_told_counted_and_then_plain_react(model: Guided, server: ChatServer) -> None:
    nonsense = ["Chosen: 1", "Thought: so\nChosen: 1, 2", "Thought: so\nChosen: 77"]
    server.behave(lambda request: chat.says([*nonsense, "Thought: go\nAction: dance"][request.number % 4]))
    turns = history(model).turns
    assert [turn.operator for turn in turns[:4]] == [CHOOSE, CHOOSE, CHOOSE, ACT]
    assert [turn.fault for turn in turns[:4]] == [MALFORMED, MALFORMED, MALFORMED, "invalid"]
    assert "2 is not listed" in turns[1].observation and "77 is not listed" in turns[2].observation
    texts = [request.body["messages"][-1]["content"] for request in server.requests[:4]]
    assert "cannot be used" in texts[1] and "Predicted rewards" not in texts[3] and "cannot be used" not in texts[3]


def test_an_action_that_cannot_be_read_is_asked_for_again_with_the_same_rewards(
    model: Guided, server: ChatServer
) -> None:
    answers = ["Thought: so\nChosen: 1", "no idea", "Thought: go\nAction: dance"]
    server.behave(lambda request: chat.says(answers[request.number % 3]))
    turns = history(model).turns
    assert [turn.operator for turn in turns[:4]] == [CHOOSE, LOOK_AHEAD, ACT, ACT]
    texts = [request.body["messages"][-1]["content"] for request in server.requests[:3]]
    rewards = [text.split("Predicted rewards:")[1].split("Answer with")[0] for text in texts[1:]]
    assert rewards[0] == rewards[1] and len(rewards[0].strip().splitlines()) == 1


@given(st.text(), st.lists(st.integers(1, 30), max_size=40))
def test_a_choice_is_read_back_as_it_was_written_or_refused(thought: str, numbers: list[int]) -> None:
    said = f"Thought: {' '.join(thought.split())}\nChosen: {', '.join(map(str, numbers)) or 'none'}"
    try:
        read = Chosen.from_text(said)
    except MalformedAnswer:
        assert len(numbers) > MOST or "Thought:" in thought or "Chosen:" in thought
        return
    assert read.numbers == numbers and Chosen.from_text(read.as_text()) == read


def test_the_oracle_knows_the_way_and_each_step_of_it_counts_alike(setup: Guided) -> None:
    resolved = setup.resolved()
    task = next(each for each in resolved.tasks() if len(resolved.solution(each)) > 3)
    pool = Pool(resolved.opened, resolved.named(task))
    progress, plan = resolved.progress(resolved.named(task), pool), tuple(resolved.solution(task))
    along = [progress(plan[:at]) for at in range(len(plan) + 1)]
    assert along[0] == 0.5 and along[-1] == 1.0
    assert [later - earlier for earlier, later in zip(along, along[1:], strict=False)] == pytest.approx(
        [0.5 / len(plan)] * len(plan)
    )
    pool.close()


def test_leading_away_is_seen_by_the_oracle_and_taken_back() -> None:
    resolved = MADE["AlfWorld"].resolved()
    task = resolved.tasks()[0]
    plan = tuple(resolved.solution(task))
    pool = Pool(resolved.opened, resolved.named(task))
    progress = resolved.progress(resolved.named(task), pool)
    there = plan[:1]
    away = next(each for each in pool.valid_actions(there) if each.startswith("go to") and each not in plan)
    assert progress((*there, away)) < progress(there) == progress((*there, away, *there))
    pool.close()


@given(st.integers(0, 50), st.integers(0, 50))
def test_progress_is_a_share_that_grows_towards_the_goal(left: int, at_first: int) -> None:
    assert 0 <= nearer(left + 1, at_first) <= nearer(left, at_first) <= 1
    assert nearer(0, at_first) == 1.0
