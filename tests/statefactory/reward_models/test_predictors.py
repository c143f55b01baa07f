"""Adapters, controls and ridge as predictors: one trajectory's prefixes share the work, and goals are what they are."""

from __future__ import annotations

import pathlib
import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.machine.faults import DamagedFile
from statefactory.benchmark import read_pairs
from statefactory.benchmark.build import SHIPPED
from statefactory.predictors import METHODS, Path, PredictorSettings, Step
from statefactory.reward_models import adapters, backbones, evaluation, ridge
from statefactory.reward_models.backbones import MissingBackbone
from statefactory.reward_models.predictor import (
    ANOTHER,
    NO_GOAL,
    OWN,
    Critic,
    LearnedReward,
    PrefixPredictor,
    register_adapters,
    register_critics,
    with_controls,
)
from statefactory.reward_models.recipe import recipe
from statefactory.reward_models.scoring import MARGIN, Affine, Tokeniser, flattened
from statefactory.reward_models.training import train
from tiny_backbone import tiny_backbone, toy_pairs

ROWS = toy_pairs(6)


class Noting(PrefixPredictor):
    """Scores a prefix by its letters, and notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[int]]] = []

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        self.asked.append((goal, sorted(lengths)))
        return np.array([len(goal) / 100 + len("".join(a + o for a, o in steps[:n])) / 1000 for n in lengths])


class ByLetters:
    """An embedder of letter counts."""

    name = "letters"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        counts = np.array([[text.count(letter) for letter in "abdefghilmnorstuwy0123456789"] for text in texts], float)
        return (counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)).astype(np.float32)


def test_the_prefixes_of_a_trajectory_are_asked_for_at_once_and_other_ones_apart() -> None:
    of, predictor = ROWS[2].positive, Noting()
    goal, actions, observations = of.goal_description, of.actions, of.observations
    memories = predictor.follow(goal, actions, observations)
    other = predictor.advance(memories[1], "wait", "still far")
    found = predictor.scores([*memories, other, Path("another goal")])
    assert sorted(predictor.asked) == [("another goal", [0]), (goal, [0, 1, 2, 3, 4]), (goal, [2])]
    alone = [predictor.score(memory) for memory in (*memories, other, Path("another goal"))]
    assert np.allclose(found, alone)
    assert np.allclose(predictor.predict(goal, actions, observations), found[1:5])


def test_training_scores_come_to_the_middle_half_and_others_stay_within_0_and_1() -> None:
    fitted = Affine.fitted(np.array([-2.0, 1.0, 6.0]))
    assert np.allclose(fitted(np.array([-2.0, 6.0])), [MARGIN, 1 - MARGIN])
    assert np.allclose(fitted(np.array([-100.0, 100.0])), [0.0, 1.0])
    assert np.allclose(Affine.fitted(np.ones(3))(np.array([1.0, 2.0])), 0.5), "a model that says one thing"


def test_the_controls_show_no_goal_and_another_task_s() -> None:
    of, goals = ROWS[0].positive, [pair.positive.goal_description for pair in ROWS]
    controls = with_controls(predictor := Noting(), goals)
    assert list(controls) == [OWN, NO_GOAL, ANOTHER]
    for control in controls.values():
        control.score(Path(of.goal_description, "", of.steps))
    own, none, another = (goal for goal, _ in predictor.asked)
    assert own == of.goal_description and not none and another in set(goals) - {own}
    with pytest.raises(ValueError, match="no other goal is known for 'unheard of'"):
        controls[ANOTHER].score(Path("unheard of"))


@pytest.mark.campaign
def test_a_registered_adapter_predicts_in_any_process(tmp_path: pathlib.Path) -> None:
    base = tiny_backbone(tmp_path / "tiny")
    train("toy", ROWS, recipe(base=str(base), layers=1), tmp_path / "adapters" / "toy", show_progress=False)
    assert register_adapters(["toy"], tmp_path / "adapters") == ["reward_model_toy"]
    with pytest.raises(adapters.UnusableAdapter, match="nosuch is no adapter.* There are: toy"):
        register_adapters(["nosuch"], tmp_path / "adapters")
    method = pickle.loads(pickle.dumps(METHODS.pop("reward_model_toy")))
    predictor = method.make(None, PredictorSettings())
    assert isinstance(predictor, LearnedReward) and method.title == "Reward model, toy"
    of = ROWS[0].negative
    result = predictor.result(predictor.follow(of.goal_description, of.actions, of.observations)[1:])
    assert len(result["rewards"]) == len(of.steps) and all(0 <= reward <= 1 for reward in result["rewards"])


def test_ridge_tells_progress_on_tasks_it_has_not_seen_and_is_kept_as_json(tmp_path: pathlib.Path) -> None:
    fitted = ridge.fit(toy_pairs(30), embedder=ByLetters())
    fitted.save(tmp_path / "ridge.json")
    again = ridge.Ridge.read(tmp_path / "ridge.json", ByLetters())
    unseen = toy_pairs(36)[30:]
    frame = evaluation.frame("toy", "toy", {"ridge": fitted, "read again": again}, unseen)
    found = evaluation.summary(evaluation.distances(frame)).set_index("shown")
    assert list(found.index) == ["", "ridge", "read again"] and set(found["n"]) == {6}
    assert found.loc["ridge", "value"] < 0.5 * found.loc["", "value"]
    assert found.loc["read again", "minus_own"] == pytest.approx(0, abs=1e-4)
    assert found.loc["", "minus_low"] > 0
    (tmp_path / "ridge.json").write_text(
        (tmp_path / "ridge.json").read_text().replace('"weights": [', '"weights": [NaN, ')
    )
    with pytest.raises(DamagedFile, match=r"ridge.json is damaged: weights\[0\]=nan: Input should be a finite number"):
        ridge.Ridge.read(tmp_path / "ridge.json")


def test_ridge_looks_at_no_later_step_and_a_blind_one_at_no_goal() -> None:
    goal, steps = ROWS[2].positive.goal_description, ROWS[2].positive.steps
    whole = ridge.features(ByLetters(), goal, steps)
    for length in range(len(steps) + 1):
        assert np.allclose(ridge.features(ByLetters(), goal, steps[:length])[-1], whole[length])
    blind = [ridge.features(ByLetters(), text, steps, "no goal") for text in (goal, "xyz 99")]
    assert (blind[0] == blind[1]).all() and blind[0].shape[1] < whole.shape[1]


def test_a_ridge_that_reads_no_word_sees_steps_lengths_and_repetitions_alone() -> None:
    of = ROWS[2].positive
    cipher = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")
    coded = [(action.translate(cipher), observation.translate(cipher)) for action, observation in of.steps]
    told = [ridge.features(None, goal, steps, "counts") for goal, steps in (("", of.steps), ("xyz", coded))]
    assert (told[0] == told[1]).all()
    again = [*of.steps, of.steps[-1]]
    assert not np.allclose(ridge.features(None, "", again, "counts")[-1][3:], told[0][-1][3:]), "what was said before"
    fitted = ridge.fit(toy_pairs(30), "counts")
    assert fitted.score(Path(of.goal_description, "", of.steps)) == fitted.score(Path("another", "", tuple(coded)))


def test_the_monotonic_row_is_the_benchmark_s_and_predictions_are_kept_as_they_are(tmp_path: pathlib.Path) -> None:
    from statefactory.epic import epic_distance
    from statefactory.predictors.baselines import Monotonic

    pair = ROWS[1]
    frame = evaluation.frame("noting", "toy", {OWN: Noting()}, [pair])
    found = evaluation.distances(frame).set_index("model")["distance"]
    assert found["monotonic"] == pytest.approx(epic_distance(Monotonic().predict_pair(pair), pair.shaped))
    kept = tmp_path / "kept.parquet"
    evaluation.save(kept, frame)
    assert np.allclose(evaluation.distances(evaluation.read([kept]))["distance"], found, atol=1e-6)
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(DamagedFile, match="kept.parquet"):
        evaluation.read([kept])


@pytest.mark.slow
def test_adapters_are_scored_on_domains_with_controls_in_their_own(tmp_path: pathlib.Path) -> None:
    base, rows = tiny_backbone(tmp_path / "tiny"), read_pairs(SHIPPED / "alfworld.parquet")[:3]
    plan = recipe(base=str(base), layers=1)
    train("alfworld", rows, plan, tmp_path / "alfworld", show_progress=False)
    train("textworld", rows, replace(plan, seed=1), tmp_path / "textworld", show_progress=False)
    pairs = {name: evaluation.pairs_of(name, "synthetic", 2) for name in ("alfworld", "blocksworld")}
    first = evaluation.score(tmp_path / "alfworld", pairs)
    second = evaluation.score(tmp_path / "textworld", {"blocksworld": pairs["blocksworld"]})
    both = first.groupby("domain", sort=False)["shown"].unique()
    assert list(both["alfworld"]) == [OWN, NO_GOAL, ANOTHER] and list(both["blocksworld"]) == [OWN]
    assert set(second["model"]) == {"LoRA, base=tiny, layers=1, seed=1"}
    alone = LearnedReward(tmp_path / "alfworld")
    pair = pairs["blocksworld"][1]
    kept = first[(first["domain"] == "blocksworld") & (first["task"] == pair.task)]["reward"]
    assert np.allclose(kept, alone.predict_pair(pair), atol=1e-5)


def test_a_critic_of_others_predicts_in_any_process_and_one_without_a_head_is_refused(tmp_path: pathlib.Path) -> None:
    base = tiny_backbone(tmp_path / "tiny")
    with pytest.raises(MissingBackbone, match="tiny comes without a score head"):
        Critic(str(base)).score(Path("a goal"))
    model = backbones.load(base, zero_head=False)
    model.save_pretrained(tmp_path / "critic")
    backbones.tokenizer(base).save_pretrained(tmp_path / "critic")
    name = str(tmp_path / "critic")
    methods = register_critics([name, f"-{name}"])
    assert not any("/" in method for method in methods)
    reward, cost = (
        pickle.loads(pickle.dumps(METHODS.pop(method))).make(None, PredictorSettings()) for method in methods
    )
    said = reward.predict_pair(ROWS[0])
    assert len(said) == len(ROWS[0].shaped) and np.ptp(said) > 0
    assert np.allclose(cost.predict_pair(ROWS[0]), 1 - said)


# --- texts and tokens ------------------------------------------------------------------------------------------------

WORDS = st.text(max_size=30)
STEPS = st.lists(st.tuples(WORDS, WORDS), max_size=6)


def by_letters(text: str, add_special_tokens: bool = True) -> dict[str, Any]:
    """A tokenizer with a token a letter, and one before all if special ones are wanted."""
    return {"input_ids": [-1] * add_special_tokens + [ord(letter) for letter in text]}


def letters(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def test_the_format_is_the_paper_s() -> None:
    text = flattened("win", [("go", "a hall"), ("take", "taken")])
    assert text == (
        "<GOAL> win </GOAL> --- <ACTION> go </ACTION> <STATE> a hall </STATE> <ACTION> take </ACTION>"
        " <STATE> taken </STATE>"
    )


@settings(max_examples=40)
@given(WORDS, STEPS)
def test_the_tokens_are_those_of_the_text_and_every_end_is_a_prefix_s(goal: str, steps: list[tuple[str, str]]) -> None:
    found = Tokeniser(by_letters, 10_000).tokens(goal, steps)
    assert letters(found.ids) == flattened(goal, steps) and not found.truncated
    for number, end in enumerate(found.ends, 1):
        assert letters(found.ids[: end + 1]) == flattened(goal, steps[:number])


@settings(max_examples=40)
@given(WORDS, STEPS, st.integers(150, 400))
def test_truncation_keeps_the_goal_and_the_newest_steps(goal: str, steps: list[tuple[str, str]], most: int) -> None:
    found = Tokeniser(by_letters, most).tokens(goal, steps)
    assert len(found.ids) <= most and len(found.ends) == len(steps) - found.left_out
    assert found.truncated == (len(flattened(goal, steps)) > most)
    kept = steps[found.left_out :]
    whole = len(flattened(goal, kept)) <= most
    assert letters(found.ids) == flattened(goal, kept) if whole else len(kept) == 1
    if found.truncated and whole:
        assert len(flattened(goal, steps[found.left_out - 1 :])) > most, "one step more would have fitted"


def test_of_a_step_that_is_too_long_the_end_is_kept() -> None:
    found = Tokeniser(by_letters, 100).tokens("win", [("go", "a" * 50), ("look", "x" * 200)])
    assert found.truncated and found.left_out == 1 and len(found.ids) == 100
    assert letters(found.ids).startswith("<GOAL> win </GOAL> ---x") and letters(found.ids).endswith("x </STATE>")


def test_a_goal_that_leaves_no_room_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match=r"this goal has 419 tokens, more than half of 500: 'ggg"):
        Tokeniser(by_letters, 500).head("g" * 400)
