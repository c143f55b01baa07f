"""The panel of rewards: stepping, editing a fact, and predictors with and without states."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.explore import controls as parts
from statefactory.experiments import figure4
from statefactory.explore import rewards
from statefactory.explore.rewards import Rewards, Selection, edited, facts, price
from statefactory.predictors import METHODS, Predictor, PredictorSettings, register


class Words:
    """An embedder of whole words, which needs no model."""

    name = "words"

    def embed(self, texts: list[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), 64), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                vectors[row, sum(map(ord, word)) % 64] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Words for an embedding, and the steps that were drawn in place of drawings."""
    steps: list[int] = []
    for module in (figure4, rewards):
        monkeypatch.setattr(module, "embedder_of", lambda name: Words())
    monkeypatch.setattr("statefactory.plots.draw_walkthrough", lambda walked, negative, step, note: steps.append(step))
    monkeypatch.setattr(rewards, "png", lambda draw: draw() or b"\x89PNG")
    return steps


def test_a_fact_in_other_words_moves_the_reward_of_its_step_alone() -> None:
    walked = Selection("blocksworld", 0).follow().positive
    goal = next(fact for fact in facts(walked, 2) if fact.side == "goal" and fact.part is not None)
    moved = edited(walked, 2, goal, "quite elsewhere")
    assert moved.rewards[1] < walked.rewards[1]
    assert np.array_equal(np.delete(moved.rewards, 1), np.delete(walked.rewards, 1))
    assert np.array_equal(edited(walked, 2, goal, goal.text).rewards, walked.rewards)


@pytest.mark.parametrize("level", ["raw", "textual", "object_centric", "object_attribute"])
def test_every_fact_of_every_level_can_be_edited_and_taken_away(level: str) -> None:
    walked = Selection("blocksworld", 0, level=level).follow().positive  # type: ignore[arg-type]
    found = facts(walked, 1)
    assert {fact.side for fact in found} == {"goal", "state"}
    for fact in found:
        for text in ("else", ""):
            changed = edited(walked, 1, fact, text)
            after = [each for each in facts(changed, 1) if each.text == "else"]
            assert bool(after) == bool(text) and math.isfinite(changed.rewards[0])


def test_the_panel_steps_edits_and_takes_back(light: list[int]) -> None:
    panel = Rewards("blocksworld", 0, step=2)
    assert light == [2] and panel.step.value == 2 and panel.picture().startswith(b"\x89PNG")
    panel.fact.index = next(n for n, (_, fact) in enumerate(panel.fact.options) if fact.part is not None)
    panel.text.value = "quite elsewhere"
    assert panel.changed and "reward of step 2: " in panel.moved.value and light == [2, 2]
    panel.step.value = 1
    assert panel.changed is None and not panel.moved.value and light == [2, 2, 1]
    assert panel.text.value == panel.fact.value.text


def test_a_reward_that_rests_on_unread_text_is_warned_of_at_its_step(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = figure4.pair_of("blocksworld", 0, "synthetic", 0)
    first, *others = pair.positive.trajectory
    steps = (replace(first, observation="Der rote Klotz liegt nun auf dem blauen."), *others)
    monkeypatch.setattr(
        figure4, "pair_of", lambda *of: replace(pair, positive=replace(pair.positive, trajectory=steps))
    )
    panel = Rewards("blocksworld", 0, step=1)
    assert "may mean nothing: empty, unread. 1 of " in panel.about.value
    panel.step.value = 2
    assert "may mean nothing" not in panel.about.value
    assert "1 of " in panel.followed.note and "1 unread, 1 empty" in panel.followed.note


def test_a_registered_predictor_without_states_has_a_curve(
    light: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("statefactory.predictors.METHODS", METHODS)
    monkeypatch.setitem(METHODS, "halfway", METHODS["raw"])  # is taken back after the test

    @register("halfway", "Halfway there")
    class Halfway(Predictor[int]):
        def __init__(self, backbone: object, settings: PredictorSettings) -> None: ...
        def start(self, goal: str, observation: str = "") -> int:
            return 0

        def advance(self, memory: int, action: str, observation: str) -> int:
            return memory + 1

        def score(self, memory: int) -> float:
            return memory / 100

    panel = Rewards("blocksworld", 0)
    assert ("Halfway there", "halfway") in panel.predictor.options
    panel.predictor.value = "halfway"
    assert panel.level.disabled
    panel.play.press()
    assert not panel.play.said.value and panel.followed
    assert panel.followed.positive.rewards[:2].tolist() == [0.01, 0.02] and panel.fact.options == ()


def test_what_goes_wrong_is_told_beside_the_button() -> None:
    panel = Rewards("blocksworld", 0)
    kept = panel.followed
    panel.predictor.value = "judge_analytic"
    panel.play.press()
    assert "No rule answers prompt" in panel.play.said.value and panel.followed is kept
    panel.engine.value = "rules@2"
    assert panel.play.button.disabled and "probability" in panel.play.said.value
    with pytest.raises(ValueError, match="no pair 999"):
        Rewards("blocksworld", 999)
    with pytest.raises(ValueError, match="no domain 'blockworld'; there are: .*blocksworld"):
        Rewards("blockworld")


def test_an_edit_is_compared_under_the_embedding_that_the_trajectory_was_followed_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    for module in (figure4, rewards):
        monkeypatch.setattr(module, "embedder_of", lambda name: asked.append(name) or Words())
    panel = Rewards("blocksworld", 0, embedding="one")
    panel.embedding.value = "another"
    assert panel.play.outdated
    panel.text.value = "quite elsewhere"
    assert panel.changed and set(asked) == {"one"}
    panel.play.press()
    assert not panel.play.said.value and "another" in asked


def test_another_world_brings_its_tasks_and_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    built = figure4.pairs_of("blocksworld", "synthetic", 0)
    longer = max(built, key=lambda pair: len(pair.positive.trajectory))
    panel = Rewards("blocksworld", 0)
    monkeypatch.setattr(figure4, "pairs_of", lambda *asked: [longer])
    panel.world.value = "webshop"
    steps = len(longer.positive.trajectory) + len(longer.negative.trajectory)
    assert panel.play.button.description == f"Follow the trajectory ({steps} steps, free)"
    assert len(panel.task.options) == 1 and panel.play.outdated


def test_the_price_is_a_call_of_each_operator_a_step() -> None:
    asked = Selection("blocksworld", 0, engine="some-model")
    steps = sum(len(row.trajectory) for row in (asked.pair.positive, asked.pair.negative))
    assert price(asked) == f"{3 * steps} calls of some-model, less what is cached"
    assert price(Selection("blocksworld", 0)) == f"{steps} steps, free"
    assert price(Selection("blocksworld", 0, level="raw", engine="some-model")) == f"{steps} steps, free"


def test_a_picture_leaves_no_figure_open() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    assert parts.png(lambda: plt.figure()).startswith(b"\x89PNG") and plt.get_fignums() == before
