"""Table 1's trained rows: analyses of the predictions of reward models that are stored in `data/reward_models`.

No model is loaded. The predictions are on official benchmark pairs, whatever data a notebook runs on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab.machine.faults import MissingData
from lab.machine.paths import shown
from lab.results import tables
from lab.results.statistics import RESAMPLES, bootstrap_mean
from statefactory.benchmark import DOMAINS
from statefactory.benchmark.domains import BY_NAME
from statefactory.embeddings import DEFAULT
from statefactory.experiments import scores
from statefactory.reward_models.adapters import SHIPPED, preset_cards
from statefactory.reward_models.evaluation import FILE, MONOTONIC, RIDGES, distances, read
from statefactory.reward_models.pairs import ALL, TRAININGS
from statefactory.reward_models.predictor import ANOTHER, NO_GOAL, OWN

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
    "each test domain: the four others' models over its own": lambda m: _other_domains(m, 0) / _own_domain(m) - 1,
    "each model: the four other domains over its own": lambda m: _other_domains(m, 1) / _own_domain(m) - 1,
    "mean of the 20 cells over mean of the 5": lambda m: (
        _other_domains(m, 0).mean(0, keepdims=True) / _own_domain(m).mean(0, keepdims=True) - 1
    ),
    "each test domain: the four others' models over all domains'": lambda m: _other_domains(m, 0) / m[-1] - 1,
}


@cache
def predictions(folder: Path = SHIPPED) -> pd.DataFrame:
    """All stored predictions, one row per step; `docs/rewards.md` describes the columns.

    Raises MissingData if there are none, DamagedFile.
    """
    paths = sorted(folder.rglob(FILE))
    if not paths:
        raise MissingData(f"{shown(folder)} has no {FILE}; restore it, or score adapters: see docs/rewards.md")
    return read(paths)


@cache
def stored_distances(folder: Path = SHIPPED) -> pd.DataFrame:
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
        for trained_on in TRAININGS:
            if by_test_domain := by_domain(distances, model, trained_on):
                rows += scores.rows(method_name(model, trained_on), backbone, by_test_domain, SOURCE)
    return tables.table(rows)


def by_domain(distances: pd.DataFrame, model: str, trained_on: str, goal: str = OWN) -> dict[str, np.ndarray]:
    """Domain -> a model's distances, sorted by task; empty for a model without predictions."""
    chosen = distances[
        (distances["model"] == model) & (distances["trained_on"] == trained_on) & (distances["shown"] == goal)
    ]
    values = {domain: rows.sort_values("task")["distance"].to_numpy() for domain, rows in chosen.groupby("domain")}
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
        farther = sum(difference.low > 0 for difference in differences)
        nearer = sum(difference.high < 0 for difference in differences)
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


def increases(distances: pd.DataFrame) -> pd.DataFrame:
    """Relative increase of the error out of domain, in percent, by each reading in INCREASES: published, and ours.

    Bootstrap intervals resample pairs, the same ones for all trainings.
    Raises ValueError for a model without predictions of all six trainings on all five domains.
    """
    rows = tables.published("Table 1", "statefactory").set_index(["method", "metric"])["value"]
    published = [[rows[method_name(LORA, name), scores.metric(domain)] for domain in DOMAINS] for name in TRAININGS]
    increase = {name: 100 * float(rule(np.array(published)).mean()) for name, rule in INCREASES.items()}
    lines = [("published", NAMES[LORA], name, value, np.nan, np.nan, "published") for name, value in increase.items()]
    random = np.random.default_rng(0)
    for model in (LORA, RIDGE):
        trainings = {trained_on: by_domain(distances, model, trained_on) for trained_on in TRAININGS}
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


def backbone_of(folder: Path = SHIPPED) -> str:
    """The backbone of the six adapters, as named in results tables."""
    card = next(iter(preset_cards(folder).values()))
    return f"{card['base']['name'].split(',')[0]}, first {card['recipe']['layers']} layers"


def _mean(name: str, values: np.ndarray | None, ends: str) -> dict[str, float]:
    """A mean and its interval as columns `name`, `ends`_low and `ends`_high; NaN if `values` is None."""
    mean = (math.nan,) * 3 if values is None else bootstrap_mean(values)
    return dict(zip((name, f"{ends}_low", f"{ends}_high"), mean, strict=True))


def _measured(lines: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(lines).assign(evidence="measured")


def method_name(model: str, trained_on: str) -> str:
    """A trained model's name in results tables."""
    return f"{NAMES[model]}, trained on {training_title(trained_on)}"


def training_title(trained_on: str) -> str:
    """The domains of a training as the paper writes them."""
    return "all domains" if trained_on == ALL else BY_NAME[trained_on].title


def _own_domain(errors: np.ndarray) -> np.ndarray:
    """The diagonal: the error of a domain's own model. errors: shape (trainings, domains, ...)."""
    return np.array([errors[index, index] for index in range(len(DOMAINS))])


def _other_domains(errors: np.ndarray, axis: int) -> np.ndarray:
    """The mean of the four off-diagonal cells, over models (axis 0) or over domains (axis 1)."""
    return (errors[: len(DOMAINS)].sum(axis) - _own_domain(errors)) / (len(DOMAINS) - 1)
