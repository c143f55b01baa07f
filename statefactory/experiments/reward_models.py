"""Table 1's trained rows, Tables 6 and 7: what the reward models of `data/reward_models` predicted, and what that says.

Nothing here loads a model. Predictions are on official benchmark pairs, whatever data a notebook runs on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.faults import MissingData
from lab.machine.paths import runs_folder, shown
from lab.results import tables
from lab.results.statistics import RESAMPLES, bootstrap_mean
from statefactory.benchmark.domains import BY_NAME
from statefactory.embeddings import DEFAULT
from statefactory.experiments import scores
from statefactory.reward_models import backbones, ridge
from statefactory.reward_models.adapters import CARD, SHIPPED, Adapter
from statefactory.reward_models.campaign import ALL
from statefactory.reward_models.evaluation import (
    FILE,
    MONOTONIC,
    RIDGES,
    WHO,
    distances,
    frame,
    joined,
    read,
    rewards,
    summary,
)
from statefactory.reward_models.predictor import ANOTHER, NO_GOAL, OWN, LearnedReward, PrefixPredictor, with_controls
from statefactory.reward_models.preferences.pairs import default_folder, preferences, read_preferences, sha256
from statefactory.reward_models.recipe import PRESETS, Recipe, recipe
from statefactory.reward_models.recipe import changes as recipe_changes
from statefactory.reward_models.training import train

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ORDER = ("alfworld", "scienceworld", "webshop", "blocksworld", "textworld")  # of the paper's Table 1
TRAINED_ON = (*ORDER, ALL)
LORA, (RIDGE, RIDGE_BLIND, RIDGE_COUNTS) = "LoRA", RIDGES.values()
NAMES = {LORA: "Supervised RM", RIDGE: "Ridge on embeddings", RIDGE_BLIND: "Ridge on embeddings, goal never shown",
         RIDGE_COUNTS: "Ridge, no word read"}  # fmt: skip
CONTROLS = [(MONOTONIC, ""), *((LORA, goal) for goal in (OWN, NO_GOAL, ANOTHER)), (RIDGE, OWN), (RIDGE, ANOTHER),
            (RIDGE_BLIND, OWN), (RIDGE_COUNTS, OWN)]  # fmt: skip
SOURCE = "kept predictions, official data"
# How much a model errs more on what it was not trained on. The paper's 138 % has no formula; these are the readings.
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
    """All kept predictions, a line a step; the columns are in `docs/rewards.md`.

    Raises MissingData without predictions, DamagedFile.
    """
    paths = sorted(folder.rglob(FILE))
    if not paths:
        raise MissingData(f"{shown(folder)} has no {FILE}; restore it, or score adapters: see the README")
    return read(paths)


@cache
def kept(folder: Path = SHIPPED) -> pd.DataFrame:
    """EPIC distances of all kept predictions, a line a pair: columns model, trained_on, shown, domain, task, distance.

    Raises as `predictions`.
    """
    return distances(predictions(folder))


def table1(of: pd.DataFrame, models: Sequence[str] = (LORA,)) -> pd.DataFrame:
    """The results table of models that were shown their own goal: a method for each domain that one was trained on."""
    rows = []
    for model in models:
        backbone = backbone_of() if model.startswith(LORA) else DEFAULT
        for trained_on in TRAINED_ON:
            found = by_domain(of, model, trained_on)
            if found:
                name = f"{NAMES.get(model, model)}, trained on {_title(trained_on)}"
                rows += scores.rows(name, backbone, found, SOURCE)
    return tables.table(rows)


def by_domain(of: pd.DataFrame, model: str, trained_on: str, goal: str = OWN) -> dict[str, np.ndarray]:
    """Domain -> the distances of a model's pairs, in the order of their tasks; empty for a model that is not kept."""
    chosen = of[(of["model"] == model) & (of["trained_on"] == trained_on) & (of["shown"] == goal)]
    found = {domain: part.sort_values("task")["distance"].to_numpy() for domain, part in chosen.groupby("domain")}
    return {domain: found[domain] for domain in ORDER if domain in found}


def table1_published() -> pd.DataFrame:
    """The paper's six supervised rows, and its monotonic baseline."""
    rows = tables.published("Table 1", "statefactory")
    trained = rows["method"].str.startswith(NAMES[LORA])
    return rows[trained | (rows["method"] == "Monotonic")].sort_values(
        "method", key=lambda of: of == "Monotonic", kind="stable"
    )


def monotonic(of: pd.DataFrame) -> pd.DataFrame:
    """The monotonic baseline's row on the pairs of the kept predictions."""
    return tables.table(scores.rows("Monotonic", "none", by_domain(of, MONOTONIC, "", ""), SOURCE))


def controls(of: pd.DataFrame) -> pd.DataFrame:
    """Each model in the domain that it was trained on, with its own goal and with its controls.

    Columns: domain, trained on, model, shown, n, value, ci_low, ci_high, and the difference, pair by pair, to LoRA's
    model of the same training with its own goal; evidence.
    """
    import pandas as pd

    lines = []
    for trained_on in TRAINED_ON:
        for domain in ORDER if trained_on == ALL else (trained_on,):
            here = of[(of["domain"] == domain) & of["trained_on"].isin(["", trained_on])]
            table = here.pivot(index="task", columns=WHO, values="distance")
            reference = (LORA, trained_on, OWN)
            for model, goal in CONTROLS if reference in table else ():
                who = (model, trained_on if model != MONOTONIC else "", goal)
                if who in table:
                    value, more = bootstrap_mean(table[who]), bootstrap_mean(table[who] - table[reference])
                    lines.append((domain, trained_on, model, goal, len(table), *value, *more, "measured"))
    columns = ["domain", "trained_on", "model", "shown", "n", "value", "ci_low", "ci_high",
               "minus_own", "minus_low", "minus_high", "evidence"]  # fmt: skip
    return pd.DataFrame(lines, columns=columns)


def goal_reading(of: pd.DataFrame, models: Sequence[str] = (LORA, RIDGE)) -> pd.DataFrame:
    """How much worse a model gets, pair by pair, when another task's goal or none is shown; where it was trained.

    Columns: model, trained_on, domain, n; the difference of either control with its interval, empty where that was not
    tried; reads: whether that of another goal is above 0; evidence.
    """
    import numpy as np
    import pandas as pd

    lines = []
    for model in models:
        for trained_on in TRAINED_ON:
            own, *others = (by_domain(of, model, trained_on, goal) for goal in (OWN, ANOTHER, NO_GOAL))
            for domain in ORDER if trained_on == ALL else (trained_on,):
                if domain in others[0]:
                    more = [bootstrap_mean(shown[domain] - own[domain]) if domain in shown else (np.nan,) * 3
                            for shown in others]  # fmt: skip
                    lines.append(
                        (model, trained_on, domain, len(own[domain]), *more[0], *more[1], more[0][1] > 0, "measured")
                    )
    columns = ["model", "trained_on", "domain", "n",
               "another goal", "another_low", "another_high", "no goal", "no_goal_low", "no_goal_high",
               "reads", "evidence"]  # fmt: skip
    return pd.DataFrame(lines, columns=columns)


def rewards_alike(of: pd.DataFrame) -> pd.DataFrame:
    """How alike rewards are with another task's goal and with one's own, over all steps of all pairs.

    of: predictions. Columns: model, trained_on, domain, steps, correlation (Pearson), change (mean of absolute ones),
    evidence.
    """
    import pandas as pd

    both = of[of["shown"].isin([OWN, ANOTHER])].pivot(
        index=["model", "trained_on", "domain", "task", "kind", "step"], columns="shown", values="reward"
    )
    lines = [
        (*who, len(part), part[OWN].corr(part[ANOTHER]), (part[OWN] - part[ANOTHER]).abs().mean(), "measured")
        for who, part in both.dropna().groupby(["model", "trained_on", "domain"])
        if who[1] in (who[2], ALL)
    ]
    columns = ["model", "trained_on", "domain", "steps", "correlation", "change", "evidence"]
    return pd.DataFrame(lines, columns=columns)


def out_of_domain(of: pd.DataFrame, models: Sequence[str] = (LORA, RIDGE)) -> pd.DataFrame:
    """Models of one domain against the monotonic baseline, in the four domains that each was not trained on.

    Columns: model; cells (a training and a domain each); how many are farther than the baseline, nearer, and not told
    apart from it, by the 95 % interval of the differences pair by pair; n, of pairs in a cell; evidence.
    """
    import pandas as pd

    baseline, lines = by_domain(of, MONOTONIC, "", ""), []
    for model in models:
        found = [
            bootstrap_mean(there[domain] - baseline[domain])
            for trained_on in ORDER
            for there in (by_domain(of, model, trained_on),)
            for domain in there
            if domain != trained_on
        ]
        farther, nearer = sum(more.low > 0 for more in found), sum(more.high < 0 for more in found)
        pairs = min(map(len, baseline.values()))
        lines.append((model, len(found), farther, nearer, len(found) - farther - nearer, pairs, "measured"))
    columns = ["model", "cells", "farther", "nearer", "not told apart", "n", "evidence"]
    return pd.DataFrame(lines, columns=columns)


def ablations(of: pd.DataFrame) -> pd.DataFrame:
    """What a changed training errs more than the preset's, on the same pairs of the domain both were trained on.

    Columns: domain, first, second, n, the mean of each, difference (second minus first) with its interval, evidence.
    """
    import pandas as pd

    lines = []
    changed_ones = [model for model in dict.fromkeys(of["model"]) if model.startswith(f"{LORA}, ")]
    for second in changed_ones:
        for domain in ORDER:
            one, other = (by_domain(of, model, domain).get(domain) for model in (LORA, second))
            if one is not None and other is not None:
                more = bootstrap_mean(other - one)
                lines.append((domain, LORA, second, len(one), one.mean(), other.mean(), *more, "measured"))
    columns = ["domain", "first", "second", "n", "mean_first", "mean_second",
               "difference", "ci_low", "ci_high", "evidence"]  # fmt: skip
    return pd.DataFrame(lines, columns=columns)


def increases(of: pd.DataFrame, models: Sequence[str] = (LORA, RIDGE), seed: int = 0) -> pd.DataFrame:
    """By how much the error grows out of domain, in percent, by each of INCREASES: published, and ours.

    Columns: whose, model, reading, increase with its interval, evidence.

    Intervals are bootstraps over pairs, of which all models have the same. Raises ValueError for a model that is not
    kept on all five domains with all six trainings.
    """
    import numpy as np
    import pandas as pd

    said = published_matrix()
    lines = [("published", NAMES[LORA], name, 100 * float(rule(said).mean()), np.nan, np.nan, "published")
             for name, rule in INCREASES.items()]  # fmt: skip
    random = np.random.default_rng(seed)
    for model in models:
        found = [by_domain(of, model, trained_on) for trained_on in TRAINED_ON]
        lacking = [name for name, row in zip(TRAINED_ON, found, strict=True) if set(row) != set(ORDER)]
        if lacking:
            raise ValueError(f"{model}: the predictions of {', '.join(lacking)} are not kept on all five domains")
        # (trainings, domains), and with all resamples (trainings, domains, RESAMPLES).
        matrix = np.array([[row[domain].mean() for domain in ORDER] for row in found])
        drawn = np.empty((*matrix.shape, RESAMPLES))
        for column, domain in enumerate(ORDER):
            values = np.array([row[domain] for row in found])
            counts = random.multinomial(values.shape[1], np.full(values.shape[1], 1 / values.shape[1]), RESAMPLES)
            drawn[:, column] = values @ counts.T / values.shape[1]
        for name, rule in INCREASES.items():
            low, high = (100 * np.percentile(rule(drawn).mean(0), [2.5, 97.5])).tolist()
            lines.append(("ours", NAMES[model], name, 100 * float(rule(matrix).mean()), low, high, "measured"))
    columns = ["whose", "model", "reading", "increase", "ci_low", "ci_high", "evidence"]
    return pd.DataFrame(lines, columns=columns)


def published_matrix() -> np.ndarray:
    """The paper's six supervised rows, shape (trainings, domains), in the order of TRAINED_ON and ORDER."""
    import numpy as np

    rows = tables.published("Table 1", "statefactory").set_index(["method", "metric"])["value"]
    names = [f"{NAMES[LORA]}, trained on {_title(trained_on)}" for trained_on in TRAINED_ON]
    return np.array([[rows[name, scores.metric(domain)] for domain in ORDER] for name in names])


def cards(folder: Path = SHIPPED) -> list[dict[str, Any]]:
    """The cards of all kept trainings, the six first, then what was changed."""
    order = {name: number for number, name in enumerate(TRAINED_ON)}
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob(CARD))]
    return sorted(found, key=lambda card: (changed(card) != "", changed(card), order.get(card["name"], len(order))))


def changed(card: Mapping[str, Any]) -> str:
    """What a card's recipe has otherwise than the preset "two-cores"; "" for nothing."""
    return ", ".join(recipe_changes(Recipe(**card["recipe"])))


def trainings(of: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """What the cards say, a line a training."""
    import pandas as pd

    return pd.DataFrame({
        "trained on": card["name"], "changed": changed(card), "layers": card["recipe"]["layers"] or "all",
        "pairs": card["pairs"], "comparisons": card["comparisons"], "tokens": card["tokens"],
        "truncated rows": card["truncated_rows"], "steps": card["steps"], "last loss": round(card["loss"], 3),
        "in order": round(card["accuracy"], 3), "minutes": round(card["seconds"] / 60, 1), "evidence": "measured",
    } for card in of)  # fmt: skip


def settings() -> pd.DataFrame:
    """Table 6: the paper's settings beside those of the presets "paper" and "two-cores"."""
    import pandas as pd

    names = {"base": "base", "precision": "precision", "max length": "max_tokens", "LoRA rank": "rank",
             "LoRA alpha": "alpha", "learning rate": "learning_rate", "schedule": "schedule",
             "batch size": "pairs_a_step"}  # fmt: skip
    said = tables.published("Table 6", "statefactory").set_index("metric")
    texts = said["text"].where(said["text"] != "", said["value"].map("{:g}".format))
    unsaid = ("layers", "loss", "epochs", "centring", "warmup_steps", "clip")
    names |= {field.replace("_", " "): field for field in unsaid}
    ours = [{**of.to_json(), "layers": of.layers or "all"} for of in PRESETS.values()]
    lines = {name: [texts.get(name, ""), *(f"{of[field]:g}" if isinstance(of[field], float) else str(of[field])
                                           for of in ours)] for name, field in names.items()}  # fmt: skip
    columns = ["setting", "published", *(f"preset {name}" for name in PRESETS)]
    return pd.DataFrame([(name, *of) for name, of in lines.items()], columns=columns)


def effort(folder: Path = SHIPPED) -> pd.DataFrame:
    """Table 7: pairs, epochs, hardware and hours of the paper's trainings beside those of ours."""
    import pandas as pd

    said = tables.published("Table 7", "statefactory")
    said["text"] = said["text"].where(said["text"] != "", said["value"].map("{:,.0f}".format))
    lines = said.pivot(index="method", columns="metric", values="text")
    ours = {card["name"]: card for card in cards(folder) if not changed(card)}
    rows = []
    for trained_on in TRAINED_ON:
        paper, card = lines.loc[f"{NAMES[LORA]}, trained on {_title(trained_on)}"], ours[trained_on]
        rows.append({
            "trained on": _title(trained_on),
            **{f"{name}, published": paper[name] for name in ("pairs", "epochs", "batch size", "GPUs", "hours")},
            "pairs, measured here": card["pairs"], "tokens, measured here": card["tokens"],
            "hours, measured here": round(card["seconds"] / 3600, 2),
        })  # fmt: skip
    return pd.DataFrame(rows)


def train_one(
    name: str, preset: str, changes: Mapping[str, Any], pairs: int, validation: int, data: str, seed: int, workers: int
) -> Adapter:
    """Build a training's pairs where they are not there yet, and train, or take what the same settings gave before.

    name: a domain. pairs, validation: of the domain. changes: to the preset. Killed, the next call goes on.
    Raises MissingBackbone, MissingData and BuildFailed, and ValueError for what no recipe has.
    """
    from lab.models.cache import canonical

    plan = recipe(preset, **changes)
    backbones.located(plan.base)  # before minutes of building
    # The number in the folder's name: another one would take its place.
    folder = default_folder(f"{BY_NAME[name].resolve(data)}-{pairs}", seed)
    path = preferences(name, data, pairs, validation, seed, workers, folder)
    data_hash = {path.name: sha256(path)}
    digest = hashlib.sha256(canonical([plan.to_json(), data_hash]).encode()).hexdigest()[:8]
    place = runs_folder() / "reward_models" / f"{name} {digest}"
    return train(name, read_preferences(path, "train"), plan, place, data_hash)


def tried(adapter: Adapter, name: str, pairs: int, data: str, seed: int) -> pd.DataFrame:
    """An adapter of `train_one` on its validation pairs, with its controls and ridge on the same training pairs."""
    path = default_folder(f"{BY_NAME[name].resolve(data)}-{pairs}", seed) / f"{name}.parquet"
    held, training = (read_preferences(path, side) for side in ("validation", "train"))
    model = LearnedReward(adapter)
    found: Mapping[str, Mapping[str, PrefixPredictor]] = {
        LORA: with_controls(model, [row.chosen.goal for row in held]),
        RIDGE: {OWN: ridge.fit(training)},
    }
    frames = [frame(which, name, {goal: rewards(of, held) for goal, of in shown.items()}, held)
              for which, shown in found.items()]  # fmt: skip
    return summary(distances(joined(frames)))


def backbone_of(folder: Path = SHIPPED) -> str:
    """What the six adapters were trained on, as a results table names it."""
    card = next(card for card in cards(folder) if not changed(card))
    return f"{card['base']['name'].split(',')[0]}, first {card['recipe']['layers']} layers"


def _title(trained_on: str) -> str:
    return "all domains" if trained_on == ALL else BY_NAME[trained_on].title


def _own(m: np.ndarray) -> np.ndarray:
    """The diagonal of shape (trainings, domains, ...): each domain's own model."""
    import numpy as np

    return np.array([m[place, place] for place in range(len(ORDER))])


def _off(m: np.ndarray, axis: int) -> np.ndarray:
    """The mean of the four cells off the diagonal, over models (0) or over domains (1)."""
    five = m[: len(ORDER)]
    return (five.sum(axis) - _own(m)) / (len(ORDER) - 1)
