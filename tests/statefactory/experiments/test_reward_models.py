"""Table 1's trained rows from kept predictions: the matrix, the controls, the goal, and what is worse out of domain."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from statefactory.benchmark import DOMAINS, read_pairs
from statefactory.benchmark.build import SHIPPED
from statefactory.experiments import reward_models, reward_training, scores
from statefactory.experiments.reward_models import LORA, RIDGE
from statefactory.plots import draw_matrix
from statefactory.reward_models import adapters, evaluation
from statefactory.reward_models.pairs import TRAININGS
from statefactory.reward_models.predictor import ANOTHER, NO_GOAL, OWN
from statefactory.reward_models.recipe import recipe

N = 8
ROWS = {domain: read_pairs(SHIPPED / f"{domain}.parquet")[:N] for domain in DOMAINS}
OUTCOME = "LoRA, loss=outcome"


def guesses(domain: str, noise: float, seed: int) -> Any:
    """A predictor of the truth, so much of it drowned in noise."""
    random = np.random.default_rng(seed)
    return SimpleNamespace(predict_pair=lambda pair: pair.shaped + random.normal(0, noise, len(pair.shaped)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six models that read the goal on ALFWorld alone, one of which was trained otherwise too, and six of ridge."""
    place = tmp_path_factory.mktemp("kept")
    ridges = []
    for number, name in enumerate(TRAININGS):
        frames = []
        for domain in DOMAINS:
            there = name in (domain, "all")
            said = {OWN: guesses(domain, 0.1 if there else 3.0, number)}
            if there:
                misled = 3.0 if domain == "alfworld" else 0.1
                said |= {NO_GOAL: guesses(domain, misled, number), ANOTHER: guesses(domain, misled, number)}
            frames.append(evaluation.frame(LORA, name, said, ROWS[domain]))
            ridges.append(evaluation.frame(RIDGE, name, {OWN: guesses(domain, 1.0, number)}, ROWS[domain]))
        keep(place / name, name, frames)
    other = evaluation.frame(OUTCOME, "alfworld", {OWN: guesses("alfworld", 1.0, 9)}, ROWS["alfworld"])
    keep(place / "ablations" / "outcome", "alfworld", [other], loss="outcome")
    evaluation.save(place / "ridge" / evaluation.FILE, evaluation.joined(ridges))
    return place


def keep(place: Path, name: str, frames: list[pd.DataFrame], **changes: object) -> None:
    evaluation.save(place / evaluation.FILE, evaluation.joined(frames))
    card = {"name": name, "recipe": recipe(**changes).to_json(), "base": {"name": "smollm2-135m, dequantised"}}
    counts = {"pairs": 8, "comparisons": 90, "tokens": 1000, "truncated_rows": 0, "steps": 8}
    measured = {"loss": 0.5, "accuracy": 0.75, "seconds": 90.0}
    (place / "card.json").write_text(json.dumps(card | counts | measured))


@pytest.fixture(scope="module")
def distances(folder: Path) -> pd.DataFrame:
    return reward_models.stored_distances(folder)


def test_a_row_of_the_matrix_is_the_mean_of_its_pairs_and_overall_that_of_its_domains(
    distances: pd.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reward_models, "backbone_of", lambda: "toy")
    rows = reward_models.table1(distances, (LORA, RIDGE))
    assert len(rows) == 2 * len(TRAININGS) * (len(DOMAINS) + 1) and set(rows["evidence"]) == {"measured"}
    values = rows.set_index(["method", "metric"])["value"]
    mine = "Supervised RM, trained on WebShop"
    where = (distances["model"] == LORA) & (distances["trained_on"] == "webshop") & (distances["domain"] == "textworld")
    assert values[mine, scores.metric("textworld")] == pytest.approx(distances[where]["distance"].mean())
    five = [values[mine, scores.metric(domain)] for domain in DOMAINS]
    assert values[mine, scores.OVERALL] == pytest.approx(np.mean(five)) and min(five) == five[DOMAINS.index("webshop")]
    assert set(rows[rows["metric"] == scores.OVERALL]["n"]) == {5 * N}
    published = reward_models.table1_published()
    assert set(rows["method"][rows["backbone"] == "toy"]) <= set(published["method"]), "they stand side by side"


def test_the_monotonic_row_stands_on_the_same_pairs(distances: pd.DataFrame) -> None:
    rows = reward_models.monotonic(distances)
    assert set(rows["metric"]) == set(scores.metrics()) and rows["value"].between(0.4, 0.7).all()


def test_a_model_reads_the_goal_where_another_one_makes_it_worse(distances: pd.DataFrame) -> None:
    reading = reward_models.goal_reading(distances, (LORA,))
    assert len(reading) == 2 * len(DOMAINS), "each in its own domain, and the union's in all five"
    assert list(reading[reading["reads"]]["domain"]) == ["alfworld", "alfworld"]
    controls = reward_models.controls(distances)
    here = controls[(controls["trained_on"] == "alfworld")].set_index(["model", "shown"])
    assert here.loc[(LORA, OWN), "minus_own"] == 0 and here.loc[(LORA, ANOTHER), "minus_low"] > 0
    assert list(dict.fromkeys(controls["model"])) == ["monotonic", LORA, RIDGE]


def test_rewards_are_alike_where_the_goal_is_not_read(folder: Path) -> None:
    alike = reward_models.rewards_alike(reward_models.predictions(folder))
    assert len(alike) == 2 * len(DOMAINS) and set(alike["model"]) == {LORA}
    read = alike["domain"] == "alfworld"
    assert (alike[~read]["correlation"] > 0.999).all() and (alike[~read]["change"] == 0).all()
    assert (alike[read]["correlation"] < 0.9).all() and (alike[read]["change"] > 1).all()


def test_what_is_worse_out_of_domain_is_told_by_every_reading(distances: pd.DataFrame) -> None:
    found = reward_models.increases(distances)
    published = found[found["whose"] == "published"].set_index("reading")["increase"]
    # By hand: (.5735/.212 + .57375/.305 + .63825/.242 + .653/.472 + .56425/.203) / 5 - 1.
    assert published["each test domain: the four others' models over its own"] == pytest.approx(127.69, abs=0.01)
    assert published["mean of the 20 cells over mean of the 5"] == pytest.approx(109.36, abs=0.01)
    ours = found[(found["whose"] == "ours") & (found["model"] == "Supervised RM")]
    assert (ours["ci_low"] > 0).all() and (ours["ci_low"] < ours["increase"]).all()
    ridge = found[(found["whose"] == "ours") & (found["model"] == "Ridge on embeddings")]
    assert (ridge["increase"].abs() < 15).all(), "which is alike everywhere"
    with pytest.raises(ValueError, match="LoRA: the predictions of webshop are not stored for all five domains"):
        reward_models.increases(distances[distances["trained_on"] != "webshop"])


def test_a_mean_above_the_baseline_by_less_than_its_interval_is_not_farther() -> None:
    far, near, alike = [0.6] * N, [0.4] * N, [0.5 + 0.1 * (-1) ** task for task in range(N - 1)] + [0.5]
    seen = {(reward_models.MONOTONIC, ""): {"alfworld": [0.5] * N, "webshop": [0.5] * N, "textworld": [0.5] * N},
            (LORA, "alfworld"): {"alfworld": near, "webshop": far, "textworld": alike},
            (LORA, "webshop"): {"alfworld": near}}  # fmt: skip
    lines = [(model, name, "" if not name else OWN, domain, task, value) for (model, name), of in seen.items()
             for domain, values in of.items() for task, value in enumerate(values)]  # fmt: skip
    frame = pd.DataFrame(lines, columns=["model", "trained_on", "shown", "domain", "task", "distance"])
    assert np.mean(alike) > 0.5
    (line,) = reward_models.out_of_domain(frame, (LORA,)).to_dict("records")
    assert line == {"model": LORA, "cells": 3, "farther": 1, "nearer": 1, "not told apart": 1, "n": N,
                    "evidence": "measured"}  # fmt: skip


def test_a_changed_training_stands_beside_the_preset_s_on_the_same_pairs(distances: pd.DataFrame, folder: Path) -> None:
    (line,) = reward_models.ablations(distances).itertuples()
    assert (line.domain, line.second, line.n) == ("alfworld", OUTCOME, N) and line.ci_low > 0
    assert line.difference == pytest.approx(line.mean_second - line.mean_first)
    cards = adapters.cards(folder)
    assert [card["name"] for card in cards] == [*TRAININGS, "alfworld"]
    assert list(reward_training.trainings(cards)["changed"])[-1] == "loss=outcome"
    assert reward_models.backbone_of(folder) == "smollm2-135m, first 10 layers"
    assert list(reward_training.effort(folder)["hours, published"])[-1] == "~20h"


def test_the_heat_map_frames_the_diagonal_and_tells_every_value(distances: pd.DataFrame) -> None:
    rows = pd.concat([reward_models.table1(distances, (RIDGE,)), reward_models.monotonic(distances)])
    figure = draw_matrix({"published": reward_models.table1_published(), "ours": rows})
    published, ours = figure.axes
    assert [label.get_text() for label in published.get_yticklabels()][-2:] == ["all domains", "Monotonic"]
    texts = {text.get_text() for text in published.texts}
    assert {".212", ".618", ".282"} <= texts and any("[" in text.get_text() for text in ours.texts)
    assert len(published.patches) == len(ours.patches) == len(DOMAINS)
    with pytest.raises(ValueError, match="no panel"):
        draw_matrix({})
