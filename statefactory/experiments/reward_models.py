"""Table 1's trained rows, Tables 6 and 7: analyses of the stored predictions in `data/reward_models`.

Only `train_one` loads a model. The predictions are on official benchmark pairs, whatever data a notebook runs on.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lab.machine.faults import MissingData
from lab.machine.files import sha256_of
from lab.machine.paths import runs_folder, shown
from lab.results import tables
from lab.results.statistics import RESAMPLES, bootstrap_mean
from statefactory.benchmark import DOMAINS
from statefactory.benchmark.domains import BY_NAME
from statefactory.embeddings import DEFAULT
from statefactory.experiments import scores
from statefactory.reward_models import backbones, ridge
from statefactory.reward_models.adapters import CARD, SHIPPED, Adapter
from statefactory.reward_models.evaluation import (
    FILE,
    MONOTONIC,
    RIDGES,
    controlled,
    distances,
    frame,
    joined,
    read,
    summary,
)
from statefactory.reward_models.pairs import (
    ALL,
    TRAININGS,
    build_pairs,
    default_folder,
    file_of,
    read_in_order,
    training_files,
)
from statefactory.reward_models.predictor import ANOTHER, NO_GOAL, OWN, LearnedReward, PrefixPredictor
from statefactory.reward_models.recipe import PRESETS, Recipe, recipe
from statefactory.reward_models.recipe import changes as recipe_changes
from statefactory.reward_models.training import train

TRAINED_ON = TRAININGS
LORA, (RIDGE, RIDGE_BLIND, RIDGE_COUNTS) = "LoRA", RIDGES.values()
NAMES = {LORA: "Supervised RM", RIDGE: "Ridge on embeddings"}
CONTROLS = [(MONOTONIC, ""), *((LORA, goal) for goal in (OWN, NO_GOAL, ANOTHER)), (RIDGE, OWN), (RIDGE, ANOTHER),
            (RIDGE_BLIND, OWN), (RIDGE_COUNTS, OWN)]  # fmt: skip
SOURCE = "kept predictions, official data"
# (Training, test domain) for each domain that the training includes.
AT_HOME = [*((domain, domain) for domain in DOMAINS), *((ALL, domain) for domain in DOMAINS)]
# Relative increase of the error on domains without training. The paper gives no formula for its 138 %; these are
# possible readings. m: shape (trainings, domains, ...); the training on a domain has the domain's index.
INCREASES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "each test domain: the four others' models over its own": lambda m: _off(m, 0) / _own(m) - 1,
    "each model: the four other domains over its own": lambda m: _off(m, 1) / _own(m) - 1,
    "mean of the 20 cells over mean of the 5": lambda m: (
        _off(m, 0).mean(0, keepdims=True) / _own(m).mean(0, keepdims=True) - 1
    ),
    "each test domain: the four others' models over all domains'": lambda m: _off(m, 0) / m[-1] - 1,
}


@cache
def predictions(folder: Path = SHIPPED) -> pd.DataFrame:
    """All stored predictions, one row per step; `docs/rewards.md` describes the columns.

    Raises MissingData if there are none, DamagedFile.
    """
    paths = sorted(folder.rglob(FILE))
    if not paths:
        raise MissingData(f"{shown(folder)} has no {FILE}; restore it, or score adapters: see the README")
    return read(paths)


@cache
def kept(folder: Path = SHIPPED) -> pd.DataFrame:
    """EPIC distances of all stored predictions, one row per pair.

    Columns: model, trained_on, shown, domain, task, distance.

    Raises as `predictions`.
    """
    return distances(predictions(folder))


def table1(distances: pd.DataFrame, models: Sequence[str] = (LORA,)) -> pd.DataFrame:
    """The results table of models with the task's own goal. Each training is a method."""
    rows = []
    for model in models:
        backbone = backbone_of() if model == LORA else DEFAULT
        for trained_on in TRAINED_ON:
            if by_test_domain := by_domain(distances, model, trained_on):
                rows += scores.rows(_method(model, trained_on), backbone, by_test_domain, SOURCE)
    return tables.table(rows)


def by_domain(distances: pd.DataFrame, model: str, trained_on: str, goal: str = OWN) -> dict[str, np.ndarray]:
    """Domain -> a model's distances, sorted by task; empty for a model without predictions."""
    chosen = distances[
        (distances["model"] == model) & (distances["trained_on"] == trained_on) & (distances["shown"] == goal)
    ]
    values = {domain: part.sort_values("task")["distance"].to_numpy() for domain, part in chosen.groupby("domain")}
    return {domain: values[domain] for domain in DOMAINS if domain in values}


def table1_published() -> pd.DataFrame:
    """The paper's six supervised rows and its monotonic baseline."""
    rows = tables.published("Table 1", "statefactory")
    ours = rows["method"].str.startswith((NAMES[LORA], "Monotonic"))
    return rows[ours].sort_values("method", key=lambda method: method == "Monotonic", kind="stable")


def monotonic(distances: pd.DataFrame) -> pd.DataFrame:
    """The monotonic baseline's row on the pairs of the stored predictions."""
    return tables.table(scores.rows("Monotonic", "none", by_domain(distances, MONOTONIC, "", ""), SOURCE))


def controls(distances: pd.DataFrame) -> pd.DataFrame:
    """Distances of each model in its training domains, with the task's own goal and with controls.

    minus_own: paired difference to the LoRA model of the same training with the own goal, with interval.
    """
    rows = []
    for trained_on, domain in AT_HOME:
        reference = by_domain(distances, LORA, trained_on).get(domain)
        for model, goal in CONTROLS if reference is not None else ():
            values = by_domain(distances, model, trained_on if model != MONOTONIC else "", goal).get(domain)
            if values is not None:
                rows.append({
                    "domain": domain, "trained_on": trained_on, "model": model, "shown": goal, "n": len(values),
                    **_mean("value", values, "ci"), **_mean("minus_own", values - reference, "minus"),
                })  # fmt: skip
    return _measured(rows)


def goal_reading(distances: pd.DataFrame, models: Sequence[str] = (LORA, RIDGE)) -> pd.DataFrame:
    """Paired increase of a model's distance, in its training domains, with another task's goal or without a goal.

    The increases have intervals, and are NaN for controls that were not run. reads: whether the interval for another
    goal is above 0.
    """
    rows = []
    for model in models:
        for trained_on, domain in AT_HOME:
            goals = (OWN, ANOTHER, NO_GOAL)
            own_goal, another_goal, no_goal = (
                by_domain(distances, model, trained_on, goal).get(domain) for goal in goals
            )
            if own_goal is not None and another_goal is not None:
                increase = _mean("another goal", another_goal - own_goal, "another")
                rows.append({
                    "model": model, "trained_on": trained_on, "domain": domain, "n": len(own_goal), **increase,
                    **_mean("no goal", None if no_goal is None else no_goal - own_goal, "no_goal"),
                    "reads": increase["another_low"] > 0,
                })  # fmt: skip
    return _measured(rows)


def rewards_alike(predictions: pd.DataFrame) -> pd.DataFrame:
    """Similarity of the rewards with another task's goal and with the own goal, over all steps of all pairs.

    correlation: Pearson's. change: mean absolute difference.
    """
    paired = predictions[predictions["shown"].isin([OWN, ANOTHER])].pivot(
        index=["model", "trained_on", "domain", "task", "kind", "step"], columns="shown", values="reward"
    )
    return _measured([
        {"model": model, "trained_on": trained_on, "domain": domain, "steps": len(group),
         "correlation": group[OWN].corr(group[ANOTHER]), "change": (group[OWN] - group[ANOTHER]).abs().mean()}
        for (model, trained_on, domain), group in paired.dropna().groupby(["model", "trained_on", "domain"])
        if trained_on in (domain, ALL)
    ])  # fmt: skip


def out_of_domain(distances: pd.DataFrame, models: Sequence[str] = (LORA, RIDGE)) -> pd.DataFrame:
    """Models of one domain compared with the monotonic baseline in the four other domains.

    cells: combinations of training and test domain. farther, nearer, not told apart: numbers of cells by the 95 %
    interval of the paired differences to the baseline. n: smallest number of pairs in a cell.
    """
    baseline, rows = by_domain(distances, MONOTONIC, "", ""), []
    for model in models:
        trainings = {trained_on: by_domain(distances, model, trained_on) for trained_on in DOMAINS}
        differences = [bootstrap_mean(values - baseline[domain]) for trained_on, by_test_domain in trainings.items()
                for domain, values in by_test_domain.items() if domain != trained_on]  # fmt: skip
        farther, nearer = (
            sum(interval.low > 0 for interval in differences),
            sum(interval.high < 0 for interval in differences),
        )
        pairs = min(map(len, baseline.values()))
        rows.append({"model": model, "cells": len(differences), "farther": farther, "nearer": nearer,
                      "not told apart": len(differences) - farther - nearer, "n": pairs})  # fmt: skip
    return _measured(rows)


def ablations(distances: pd.DataFrame) -> pd.DataFrame:
    """Paired differences between trainings with a changed recipe and the preset's, in their training domain.

    difference: mean distance of the second (changed) minus the first (preset), with interval.
    """
    rows = []
    for model in distances["model"][distances["model"].str.startswith(f"{LORA}, ")].unique():
        for domain in DOMAINS:
            first, second = (by_domain(distances, name, domain).get(domain) for name in (LORA, model))
            if first is not None and second is not None:
                rows.append({
                    "domain": domain, "first": LORA, "second": model, "n": len(first), "mean_first": first.mean(),
                    "mean_second": second.mean(), **_mean("difference", second - first, "ci"),
                })  # fmt: skip
    return _measured(rows)


def increases(distances: pd.DataFrame, models: Sequence[str] = (LORA, RIDGE), seed: int = 0) -> pd.DataFrame:
    """Relative increase of the error out of domain, in percent, by each reading in INCREASES: published, and ours.

    Bootstrap intervals resample pairs, the same ones for all trainings.
    Raises ValueError for a model without predictions of all six trainings on all five domains.
    """
    rows = tables.published("Table 1", "statefactory").set_index(["method", "metric"])["value"]
    published = [[rows[_method(LORA, name), scores.metric(domain)] for domain in DOMAINS] for name in TRAINED_ON]
    increase = {name: 100 * float(rule(np.array(published)).mean()) for name, rule in INCREASES.items()}
    lines = [("published", NAMES[LORA], name, value, np.nan, np.nan, "published") for name, value in increase.items()]
    random = np.random.default_rng(seed)
    for model in models:
        trainings = {trained_on: by_domain(distances, model, trained_on) for trained_on in TRAINED_ON}
        if incomplete := [name for name, row in trainings.items() if set(row) != set(DOMAINS)]:
            raise ValueError(f"{model}: the predictions of {', '.join(incomplete)} are not stored for all five domains")
        # (trainings, domains), and with all resamples (trainings, domains, RESAMPLES).
        values = [np.array([row[domain] for row in trainings.values()]) for domain in DOMAINS]
        pairs = [matrix.shape[1] for matrix in values]
        counts = [random.multinomial(n, np.full(n, 1 / n), RESAMPLES) for n in pairs]
        resampled = np.stack(
            [matrix @ count.T / n for matrix, count, n in zip(values, counts, pairs, strict=True)], axis=1
        )
        means = np.stack([matrix.mean(axis=1) for matrix in values], axis=1)
        for name, rule in INCREASES.items():
            low, high = (100 * np.percentile(rule(resampled).mean(0), [2.5, 97.5])).tolist()
            lines.append(("ours", NAMES[model], name, 100 * float(rule(means).mean()), low, high, "measured"))
    columns = ["whose", "model", "reading", "increase", "ci_low", "ci_high", "evidence"]
    return pd.DataFrame(lines, columns=columns)


def cards(folder: Path = SHIPPED) -> list[dict[str, Any]]:
    """The cards of all stored trainings: first the six of the preset, then those with changed recipes."""
    order = {name: number for number, name in enumerate(TRAINED_ON)}
    cards = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob(CARD))]
    return sorted(cards, key=lambda card: (changed(card) != "", changed(card), order.get(card["name"], len(order))))


def changed(card: Mapping[str, Any]) -> str:
    """The changes of a card's recipe to the preset "two-cores"; "" for none."""
    return ", ".join(recipe_changes(Recipe(**card["recipe"])))


def trainings(cards: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Counts and results of trainings from their cards, one row per training."""
    return pd.DataFrame({
        "trained on": card["name"], "changed": changed(card), "layers": card["recipe"]["layers"] or "all",
        "pairs": card["pairs"], "comparisons": card["comparisons"], "tokens": card["tokens"],
        "truncated rows": card["truncated_rows"], "steps": card["steps"], "last loss": round(card["loss"], 3),
        "in order": round(card["accuracy"], 3), "minutes": round(card["seconds"] / 60, 1), "evidence": "measured",
    } for card in cards)  # fmt: skip


def settings() -> pd.DataFrame:
    """Table 6: the paper's settings next to those of the presets "paper" and "two-cores".

    If trainings of a preset differ, all their values are listed; `effort` has them per training.
    """
    published = tables.published("Table 6", "statefactory").set_index("metric")
    texts = published["text"].where(published["text"] != "", published["value"].map("{:g}".format))
    names = {"base": "base", "precision": "precision", "max length": "max_tokens", "LoRA rank": "rank",
             "LoRA alpha": "alpha", "learning rate": "learning_rate", "schedule": "schedule",
             "batch size": "pairs_a_step"}  # fmt: skip
    unpublished = ("layers", "loss", "epochs", "centring", "warmup_steps", "clip")
    names |= {field.replace("_", " "): field for field in unpublished}
    frame = pd.DataFrame({"setting": list(names), "published": [texts.get(name, "") for name in names]})
    for title in PRESETS:
        recipes = [recipe(title, training) for training in TRAINED_ON]
        frame[f"preset {title}"] = [
            " / ".join(dict.fromkeys(_setting(getattr(training_recipe, field), field) for training_recipe in recipes))
            for field in names.values()
        ]
    return frame


def effort(folder: Path = SHIPPED) -> pd.DataFrame:
    """Table 7: pairs, epochs, hardware and hours of the paper's trainings, the preset "paper", and our costs.

    preset paper: pairs · epochs · batch size in one column; the paper has separate columns.
    """
    published = tables.published("Table 7", "statefactory")
    published["text"] = published["text"].where(published["text"] != "", published["value"].map("{:,.0f}".format))
    lines = published.pivot(index="method", columns="metric", values="text")
    ours = {card["name"]: card for card in cards(folder) if not changed(card)}
    columns = ("pairs", "epochs", "batch size", "GPUs", "hours")
    return pd.DataFrame({
        "trained on": _title(name),
        **{f"{column}, published": lines[column][_method(LORA, name)] for column in columns},
        "preset paper": f"{plan.pairs:,} · {plan.epochs:g} · {plan.pairs_a_step}",
        "pairs, measured here": ours[name]["pairs"], "tokens, measured here": ours[name]["tokens"],
        "hours, measured here": round(ours[name]["seconds"] / 3600, 2),
    } for name, plan in ((name, recipe("paper", name)) for name in TRAINED_ON))  # fmt: skip


def _setting(value: Any, field: str) -> str:
    """Format a recipe's value as in Table 6."""
    if field == "layers":
        return str(value or "all")
    return f"{value:g}" if isinstance(value, float) else str(value)


def train_one(
    name: str, preset: str, changes: Mapping[str, Any], pairs: int, validation: int, data: str, seed: int, workers: int
) -> tuple[Adapter, pd.DataFrame]:
    """Build pairs and train an adapter on them, or reuse finished files of the same settings. Resumes if interrupted.

    name: a domain. pairs, validation: numbers of pairs; 0 pairs for the preset's number. changes: to the preset.
    Returns the adapter, and distances on the validation pairs: of the adapter, its controls, and ridge on the same
    training pairs.
    Raises MissingBackbone, MissingData, BuildFailed, and ValueError for unknown or invalid settings.
    """
    from lab.machine.files import canonical

    full_recipe = recipe(preset, name, **{"pairs": 0, **changes})  # trains on all pairs that are built
    pairs = pairs or recipe(preset, name).pairs
    if not pairs:
        raise ValueError(f"the preset {preset} has no number of pairs; say how many to train on")
    backbones.located(full_recipe.base)  # raises before pairs are built, which takes minutes
    # The folder's name has the number of pairs, since building another number would replace the files.
    folder = default_folder(f"{BY_NAME[name].resolve(data)}-{pairs}", seed)
    build_pairs(name, data, pairs, validation, seed, workers, folder)
    training, validation_pairs = (read_in_order(file_of(folder, name, held_out)) for held_out in (False, True))
    data_hash = {path.name: sha256_of(path) for path in training_files(folder, name)}
    digest = hashlib.sha256(canonical([full_recipe.to_json(), data_hash]).encode()).hexdigest()[:8]
    adapter = train(name, training, full_recipe, runs_folder() / "reward_models" / f"{name} {digest}", data_hash)
    predictors: Mapping[str, Mapping[str, PrefixPredictor]] = {
        LORA: controlled(LearnedReward(adapter), validation_pairs),
        RIDGE: {OWN: ridge.fit(training)},
    }
    frames = [frame(model, name, by_control, validation_pairs) for model, by_control in predictors.items()]
    return adapter, summary(distances(joined(frames)))


def backbone_of(folder: Path = SHIPPED) -> str:
    """The backbone of the six adapters, as named in results tables."""
    card = next(card for card in cards(folder) if not changed(card))
    return f"{card['base']['name'].split(',')[0]}, first {card['recipe']['layers']} layers"


def _mean(name: str, values: np.ndarray | None, ends: str) -> dict[str, float]:
    """A mean and its interval as columns `name`, `ends`_low and `ends`_high; NaN if `values` is None."""
    mean = (math.nan,) * 3 if values is None else bootstrap_mean(values)
    return dict(zip((name, f"{ends}_low", f"{ends}_high"), mean, strict=True))


def _measured(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(lines).assign(evidence="measured")


def _method(model: str, trained_on: str) -> str:
    return f"{NAMES[model]}, trained on {_title(trained_on)}"


def _title(trained_on: str) -> str:
    return "all domains" if trained_on == ALL else BY_NAME[trained_on].title


def _own(m: np.ndarray) -> np.ndarray:
    """The diagonal: each domain's own model. m: shape (trainings, domains, ...)."""
    return np.array([m[index, index] for index in range(len(DOMAINS))])


def _off(m: np.ndarray, axis: int) -> np.ndarray:
    """The mean of the four off-diagonal cells, over models (axis 0) or over domains (axis 1)."""
    return (m[: len(DOMAINS)].sum(axis) - _own(m)) / (len(DOMAINS) - 1)


class Trained(NamedTuple):
    """Results of the committed trainings. ablations, reading: from `ablations` and `goal_reading`."""

    distances: pd.DataFrame
    ablations: pd.DataFrame
    reading: pd.DataFrame

    @classmethod
    def committed(cls) -> Trained:
        """Read the results from data/reward_models."""
        distances = kept()
        names = [name for name in distances["model"].unique() if "LoRA" in name]
        return cls(distances, ablations(distances), goal_reading(distances, names))

    def answer(self) -> str:
        """State how many changes of the recipe alter distances beyond chance, and how often a model reads its goal."""
        moved = self.ablations[(self.ablations["ci_low"] > 0) | (self.ablations["ci_high"] < 0)]
        return (
            f"{len(moved)} of {len(self.ablations)} pairs of trainings differ in EPIC distance beyond chance.\n"
            f"A model reads its goal in {int(self.reading['reads'].sum())} of {len(self.reading)} comparisons of "
            "training and domain."
        )

    def numbers(self) -> Iterator[tuple[str, float | bool]]:
        """The numbers to check: of the preset's trainings, of the ablations, and of goal reading."""
        for card in cards():
            if not changed(card):
                yield f"tokens, {card['name']}", card["tokens"]
                yield f"last loss, {card['name']}", round(card["loss"], 3)
        for row in self.ablations.to_dict("records"):
            yield f"{row['domain']}: {row['second']} minus {row['first']}", round(row["difference"], 3)
        for row in self.reading.to_dict("records"):
            yield f"{row['model']} of {row['trained_on']} reads the goal, {row['domain']}", bool(row["reads"])
