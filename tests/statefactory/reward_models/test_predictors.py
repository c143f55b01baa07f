"""Adapters, controls and ridge as predictors: one trajectory's prefixes share the work, and goals are what they are."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.machine.faults import DamagedFile
from statefactory.benchmark import read_pairs
from statefactory.benchmark.build import SHIPPED
from statefactory.predictors import METHODS, PredictorSettings
from statefactory.reward_models import adapters, backbones, evaluation, ridge
from statefactory.reward_models.backbones import MissingBackbone
from statefactory.reward_models.predictor import (
    ANOTHER,
    NO_GOAL,
    OWN,
    Critic,
    GoalBlind,
    GoalSwapped,
    LearnedReward,
    Prefix,
    PrefixPredictor,
    register_adapters,
    register_critics,
    with_controls,
)
from statefactory.reward_models.preferences.pairs import of_benchmark
from statefactory.reward_models.recipe import recipe
from statefactory.reward_models.scoring import MARGIN, Affine
from statefactory.reward_models.texts import Step
from statefactory.reward_models.training import train
from tiny_backbone import tiny_backbone, toy_preferences

ROWS = toy_preferences(6)


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
    of, predictor = ROWS[2].chosen, Noting()
    actions, observations = zip(*of.steps, strict=True)
    memories = predictor.follow(of.goal, actions, observations)
    other = predictor.advance(memories[1], "wait", "still far")
    found = predictor.scores([*memories, other, Prefix("another goal")])
    assert sorted(predictor.asked) == [("another goal", [0]), (of.goal, [0, 1, 2, 3, 4]), (of.goal, [2])]
    alone = [predictor.score(memory) for memory in (*memories, other, Prefix("another goal"))]
    assert np.allclose(found, alone)
    assert np.allclose(predictor.predict(of.goal, actions, observations), found[1:5])


def test_training_scores_come_to_the_middle_half_and_others_stay_within_0_and_1() -> None:
    fitted = Affine.fitted(np.array([-2.0, 1.0, 6.0]))
    assert np.allclose(fitted(np.array([-2.0, 6.0])), [MARGIN, 1 - MARGIN])
    assert np.allclose(fitted(np.array([-100.0, 100.0])), [0.0, 1.0])
    assert np.allclose(Affine.fitted(np.ones(3))(np.array([1.0, 2.0])), 0.5), "a model that says one thing"


def test_the_controls_show_no_goal_and_another_task_s() -> None:
    of, goals = ROWS[0].chosen, [row.chosen.goal for row in ROWS]
    for control, shown in ((GoalBlind, {""}), (lambda p: GoalSwapped(p, goals), set(goals) - {of.goal})):
        predictor = Noting()
        control(predictor).score(Prefix(of.goal, of.steps))
        assert {goal for goal, _ in predictor.asked} <= shown
    with pytest.raises(ValueError, match="no other goal is known for 'unheard of'"):
        GoalSwapped(Noting(), goals).score(Prefix("unheard of"))


@pytest.mark.slow
def test_a_registered_adapter_predicts_in_any_process(tmp_path: Path) -> None:
    base = tiny_backbone(tmp_path / "tiny")
    train("toy", ROWS, recipe(base=str(base), layers=1), tmp_path / "adapters" / "toy", show_progress=False)
    assert register_adapters(["toy"], tmp_path / "adapters") == ["reward_model_toy"]
    with pytest.raises(adapters.UnusableAdapter, match="nosuch is no adapter.* There are: toy"):
        register_adapters(["nosuch"], tmp_path / "adapters")
    method = pickle.loads(pickle.dumps(METHODS.pop("reward_model_toy")))
    predictor = method.make(None, PredictorSettings())
    assert isinstance(predictor, LearnedReward) and method.title == "Reward model, toy"
    of = ROWS[0].rejected
    result = predictor.result(predictor.follow(of.goal, *zip(*of.steps, strict=True))[1:])
    assert len(result["rewards"]) == len(of.steps) and all(0 <= reward <= 1 for reward in result["rewards"])


def test_ridge_tells_progress_on_tasks_it_has_not_seen_and_is_kept_as_json(tmp_path: Path) -> None:
    fitted = ridge.fit(toy_preferences(30), embedder=ByLetters())
    fitted.save(tmp_path / "ridge.json")
    again = ridge.Ridge.read(tmp_path / "ridge.json", ByLetters())
    unseen = toy_preferences(36)[30:]
    both = {name: evaluation.rewards(of, unseen) for name, of in (("ridge", fitted), ("read again", again))}
    found = evaluation.summary(evaluation.distances(evaluation.frame("toy", "toy", both, unseen))).set_index("shown")
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
    of = ROWS[2].chosen
    whole = ridge.features(ByLetters(), of.goal, of.steps)
    for length in range(len(of.steps) + 1):
        assert np.allclose(ridge.features(ByLetters(), of.goal, of.steps[:length])[-1], whole[length])
    blind = [ridge.features(ByLetters(), goal, of.steps, "no goal") for goal in (of.goal, "xyz 99")]
    assert (blind[0] == blind[1]).all() and blind[0].shape[1] < whole.shape[1]


def test_a_ridge_that_reads_no_word_sees_steps_lengths_and_repetitions_alone() -> None:
    of = ROWS[2].chosen
    cipher = str.maketrans("abcdefghijklmnopqrstuvwxyz", "bcdefghijklmnopqrstuvwxyza")
    coded = [(action.translate(cipher), observation.translate(cipher)) for action, observation in of.steps]
    told = [ridge.features(None, goal, steps, "counts") for goal, steps in (("", of.steps), ("xyz", coded))]
    assert (told[0] == told[1]).all()
    again = [*of.steps, of.steps[-1]]
    assert not np.allclose(ridge.features(None, "", again, "counts")[-1][3:], told[0][-1][3:]), "what was said before"
    fitted = ridge.fit(toy_preferences(30), "counts")
    assert fitted.score(Prefix(of.goal, of.steps)) == fitted.score(Prefix("another", tuple(coded)))


def test_the_monotonic_row_is_the_benchmark_s_and_predictions_are_kept_as_they_are(tmp_path: Path) -> None:
    from statefactory.epic import epic_distance
    from statefactory.predictors.monotonic import Monotonic

    row = ROWS[1]
    frame = evaluation.frame("noting", "toy", {OWN: evaluation.rewards(Noting(), [row])}, [row])
    timed = [Monotonic().predict(of.goal, *zip(*of.steps, strict=True)) for of in row.both]
    found = evaluation.distances(frame).set_index("model")["distance"]
    assert found["monotonic"] == pytest.approx(epic_distance(np.concatenate(timed), row.truth))
    kept = tmp_path / "kept.parquet"
    evaluation.save(kept, frame)
    assert np.allclose(evaluation.distances(evaluation.read([kept]))["distance"], found, atol=1e-6)
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(DamagedFile, match="kept.parquet"):
        evaluation.read([kept])


def test_adapters_are_scored_on_domains_with_controls_in_their_own(tmp_path: Path) -> None:
    base, rows = tiny_backbone(tmp_path / "tiny"), of_benchmark(read_pairs(SHIPPED / "alfworld.parquet")[:3])
    plan = recipe(base=str(base), layers=1)
    train("alfworld", rows, plan, tmp_path / "alfworld", show_progress=False)
    train("textworld", rows, replace(plan, seed=1), tmp_path / "textworld", show_progress=False)
    pairs = evaluation.Pairs("synthetic", limit=2)
    first = evaluation.score(tmp_path / "alfworld", ("alfworld", "blocksworld"), pairs)
    second = evaluation.score(tmp_path / "textworld", ("blocksworld",), pairs)
    both = first.groupby("domain", sort=False)["shown"].unique()
    assert list(both["alfworld"]) == [OWN, NO_GOAL, ANOTHER] and list(both["blocksworld"]) == [OWN]
    assert set(second["model"]) == {"LoRA, base=tiny, layers=1, seed=1"}
    alone = LearnedReward(tmp_path / "alfworld")
    row = pairs.of("blocksworld")[1]
    kept = first[(first["domain"] == "blocksworld") & (first["task"] == row.task)]["reward"]
    expected = [alone.predict(of.goal, *zip(*of.steps, strict=True)) for of in row.both]
    assert np.allclose(kept, np.concatenate(expected), atol=1e-5)


def test_with_controls_keeps_the_own_goal_first() -> None:
    assert list(with_controls(Noting(), ["a", "b"])) == [OWN, NO_GOAL, ANOTHER]


def test_a_critic_of_others_predicts_in_any_process_and_one_without_a_head_is_refused(tmp_path: Path) -> None:
    base = tiny_backbone(tmp_path / "tiny")
    with pytest.raises(MissingBackbone, match="tiny comes without a score head"):
        Critic(str(base)).score(Prefix("a goal"))
    model = backbones.load(base, zero_head=False)
    model.save_pretrained(tmp_path / "critic")
    backbones.tokenizer(base).save_pretrained(tmp_path / "critic")
    name = str(tmp_path / "critic")
    methods = register_critics([name, f"-{name}"])
    assert not any("/" in method for method in methods)
    reward, cost = (
        pickle.loads(pickle.dumps(METHODS.pop(method))).make(None, PredictorSettings()) for method in methods
    )
    of = ROWS[0].chosen
    said = reward.predict(of.goal, *zip(*of.steps, strict=True))
    assert len(said) == len(of.steps) and np.ptp(said) > 0
    assert np.allclose(cost.predict(of.goal, *zip(*of.steps, strict=True)), 1 - said)
