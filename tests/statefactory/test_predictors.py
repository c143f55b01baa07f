"""Predictors step by step: memories that can be kept and branched, s_0, and the register of methods."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import connect
from lab.models.backbone import Answer, Call, MalformedAnswer
from lab.models.engines import parse
from lab.models.prompts import Prompt
from lab.runs.collecting import collect
from plain_routing import HashedEmbedder
from statefactory.benchmark import Pair, Row, build
from statefactory.epic import epic_distance
from statefactory.extraction import extract
from statefactory.predictors import METHODS, Predictor, register
from statefactory.predictors.baselines import Monotonic
from statefactory.predictors.factored import StateFactory, trace_rewards
from statefactory.predictors.judge import PROMPTS, Judge, Mode
from statefactory.studies import table1

EMBEDDER = HashedEmbedder()
WORLDS = ("blocksworld", "alfworld", "webshop", "textworld", "scienceworld")


class Counting:
    """A judge's model: its word follows from the length of what it is shown. silent: requests without an answer."""

    engine = parse("counting")

    def __init__(self, silent: tuple[int, ...] = ()) -> None:
        self.silent, self.asked = silent, 0

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        self.asked += 1
        if self.asked in self.silent:
            error = MalformedAnswer("well")
            error.call, error.request = Call(prompt.operator, prompt.name, "malformed"), ""
            raise error
        length = sum(len(message["content"]) for message in prompt.render(prompt.fill(**fields)))
        words = {"analysis": "so it is", "belief": f"belief {length}"}
        known = {name: words[name] for name in words if name in prompt.answer.model_fields}
        return Answer(prompt.answer(reward=length % 101, **known), Call(prompt.operator, prompt.name, "schema"))


@cache
def made(domain: str) -> Pair:
    pairs = build(domain, "synthetic", 0, show_progress=False).pairs()
    return min(pairs, key=lambda pair: (len(pair.shaped), pair.task))


def stepwise(predictor: Predictor[Any], row: Row, first: str = "") -> list[float]:
    memory, scores = predictor.start(row.goal_description, first), []
    for action, observation in zip(row.actions, row.observations, strict=True):
        memory = predictor.advance(memory, action, observation)
        scores.append(predictor.score(memory))
    return scores


def predictors(row: Row) -> list[Predictor[Any]]:
    judges: list[Predictor[Any]] = [Judge(Counting(), mode) for mode in PROMPTS]
    return [Monotonic(len(row.actions)), StateFactory(connect("rules"), EMBEDDER), *judges]


@pytest.mark.parametrize("domain", WORLDS)
def test_step_by_step_comes_to_what_is_predicted_at_once(domain: str) -> None:
    for row in made(domain).rows:
        said = row.goal_description, row.actions, row.observations
        for predictor in predictors(row):
            assert stepwise(predictor, row) == pytest.approx(predictor.predict(*said), abs=1e-6)
        at_once = trace_rewards(extract(connect("rules"), *said), EMBEDDER)
        assert np.array_equal(StateFactory(connect("rules"), EMBEDDER).predict(*said), at_once)


@pytest.mark.parametrize("domain", ["blocksworld", "alfworld"])
def test_a_memory_can_be_kept_and_branched_from(domain: str) -> None:
    row = made(domain).positive
    middle = len(row.actions) // 2
    for predictor in predictors(row):
        *_, kept = predictor.follow(row.goal_description, row.actions[:middle], row.observations[:middle])
        before, score = hash(kept), predictor.score(kept)
        branches = [
            predictor.advance(kept, row.actions[middle], row.observations[middle]),
            predictor.advance(kept, "look", "Nothing happens."),
            predictor.advance(kept, row.actions[middle], row.observations[middle]),
        ]
        assert branches[0] == branches[2]
        assert (hash(kept), predictor.score(kept)) == (before, score)
        assert pickle.loads(pickle.dumps(kept)) == kept


@pytest.mark.parametrize("domain", WORLDS)
def test_the_state_before_any_action_has_a_score(domain: str) -> None:
    row = made(domain).positive
    method = StateFactory(connect("rules"), EMBEDDER)
    first = method.start(row.goal_description, row.initial_observation)
    assert first.goal and 0.0 <= method.score(first) <= 1.0
    assert method.score(method.start(row.goal_description)) == 0.0, "nothing is known, nothing is asked"
    assert stepwise(method, row, row.initial_observation) == pytest.approx(
        method.predict(row.goal_description, row.actions, row.observations, row.initial_observation), abs=1e-6
    )


@pytest.mark.parametrize("mode", PROMPTS)
def test_a_judge_sees_the_first_observation_if_it_is_known(mode: Mode) -> None:
    model = Counting()
    judge = Judge(model, mode)
    assert judge.score(judge.start("clean up")) == 0.0 and model.asked == 0
    assert judge.score(judge.start("clean up", "You are in a room.")) > 0.0 and model.asked == 1


def test_the_monotonic_baseline_has_to_know_the_length_to_act_by() -> None:
    with pytest.raises(ValueError, match="Monotonic\\(length=50\\)"):
        Monotonic().score(1)
    timed = Monotonic(length=4)
    assert [timed.score(step) for step in range(6)] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]


class Words(Predictor[tuple[str, str]]):
    """A reader's own: the share of the goal's words that the newest observation has."""

    def __init__(self, backbone: object, instruction: str = "") -> None: ...

    def start(self, goal: str, observation: str = "") -> tuple[str, str]:
        return goal, observation

    def advance(self, memory: tuple[str, str], action: str, observation: str) -> tuple[str, str]:
        return memory[0], observation

    def score(self, memory: tuple[str, str]) -> float:
        wanted, seen = (set(text.lower().split()) for text in memory)
        return len(wanted & seen) / len(wanted)


def test_a_predictor_of_one_s_own_is_a_row_like_any_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # fmt: skip
    monkeypatch.setattr("statefactory.experiments.scoring.embedder_of", lambda name: EMBEDDER)
    for name, method in METHODS.items():
        monkeypatch.setitem(METHODS, name, method)  # what is registered here is forgotten afterwards
    monkeypatch.setitem(METHODS, "words", METHODS["raw"])
    register("words", "Shared words")(Words)
    setup = table1.study().trial(data="synthetic", benchmarks=("blocksworld",), limit=2)
    results = collect(setup, workers=1, run=str(tmp_path / "run"), show_progress=False)
    assert results.setup.methods == ("Monotonic", "StateFactory", "Shared words")
    row = results.frame().set_index("method").loc["Shared words"]
    pairs = [prediction.pair for prediction in results.part("blocksworld", "Shared words").predictions]
    rewards = [np.concatenate([stepwise(Words(None), row) for row in pair.rows]) for pair in pairs]
    wanted = np.mean([epic_distance(of, np.array(pair.shaped)) for of, pair in zip(rewards, pairs, strict=True)])
    assert (row["value"], row["backbone"], row["evidence"]) == (pytest.approx(wanted), "none", "measured")


def test_another_version_of_a_predictor_is_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "words", METHODS["raw"])
    identities = []
    for version in ("1", "2"):
        register("words", "Shared words", version=version)(Words)
        identities.append(table1.study().trial(conditions=("StateFactory", "Shared words")).parameters())
    assert identities[0] != identities[1]


def test_what_a_notebook_registers_goes_to_the_workers_with_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "words", METHODS["raw"])
    register("words", "Shared words")(Words)
    sent = pickle.dumps(table1.study().trial(conditions=("Shared words",)))
    del METHODS["words"]
    table1.study()
    assert pickle.loads(sent).part("blocksworld", "Shared words").predictor.make is Words
