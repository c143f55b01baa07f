"""Tables 6 and 7: the recipes of reward models, what their trainings cost, and which settings matter.

Only `train_one` loads a model. Everything else reads the cards and predictions stored in `data/reward_models`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lab.machine.files import canonical, sha256_of
from lab.machine.paths import runs_folder
from lab.results import tables
from statefactory.benchmark.domains import BY_NAME
from statefactory.experiments.reward_models import (
    LORA,
    RIDGE,
    ablations,
    backbone_of,
    by_domain,
    goal_reading,
    increases,
    method_name,
    monotonic,
    predictions,
    rewards_alike,
    stored_distances,
    table1,
    table1_published,
    training_title,
)
from statefactory.reward_models import backbones, ridge
from statefactory.reward_models.adapters import SHIPPED, Adapter, changed, preset_cards
from statefactory.reward_models.evaluation import controlled, distances, frame, joined, summary
from statefactory.reward_models.pairs import (
    TRAININGS,
    build_pairs,
    default_folder,
    file_of,
    read_in_order,
    training_files,
)
from statefactory.reward_models.predictor import OWN, LearnedReward, PrefixPredictor
from statefactory.reward_models.recipe import PRESETS, recipe
from statefactory.reward_models.training import train

# Stored name of a change of the recipe -> its description.
CHANGES = {
    "layers=0": "all layers, not the first ten",
    "loss=outcome": "whole trajectories only (Eq. 13)",
    "seed=1": "another seed",
    "swapped_negatives=True": "another task's goal as a negative",
}


class Trained(NamedTuple):
    """Results of the committed trainings. ablations, reading: from `ablations` and `goal_reading`."""

    distances: pd.DataFrame
    ablations: pd.DataFrame
    reading: pd.DataFrame

    @classmethod
    def committed(cls) -> Trained:
        """Read the results from data/reward_models."""
        distances = stored_distances()
        names = [name for name in distances["model"].unique() if LORA in name]
        return cls(distances, ablations(distances), goal_reading(distances, names))

    def answer(self) -> str:
        """State how many changes of the recipe alter distances beyond chance, and how often a model reads its goal."""
        changed = self.ablations[~self.ablations["second"].str.contains("seed=")]  # another seed is no other recipe
        differing = changed[(changed["ci_low"] > 0) | (changed["ci_high"] < 0)]
        return (
            f"{len(differing)} of {len(changed)} changes of the recipe alter the EPIC distance beyond chance.\n"
            f"A model reads its goal in {int(self.reading['reads'].sum())} of {len(self.reading)} comparisons of "
            "training and domain."
        )

    def numbers(self) -> Iterator[tuple[str, float | bool]]:
        """The numbers to check: of the preset's trainings, of the ablations, and of goal reading."""
        for name, card in preset_cards().items():
            yield f"tokens, {name}", card["tokens"]
            yield f"last loss, {name}", round(card["loss"], 3)
        for row in self.ablations.to_dict("records"):
            yield f"{row['domain']}: {row['second']} minus {row['first']}", round(row["difference"], 3)
        for row in self.reading.to_dict("records"):
            yield f"{row['model']} of {row['trained_on']} reads the goal, {row['domain']}", bool(row["reads"])
        yield from _by_domain(self.distances)


def _by_domain(distances: pd.DataFrame) -> Iterator[tuple[str, float | bool]]:
    """The numbers to check of LoRA and ridge: distances in the domain of training, their increase in others, goals."""
    for name in TRAININGS:
        for model, prefix in ((LORA, "reward model"), (RIDGE, "ridge")):
            in_domains = by_domain(distances, model, name)
            own = in_domains[name].mean() if name in in_domains else np.mean([d.mean() for d in in_domains.values()])
            yield f"{prefix}, trained on {name}, there", round(float(own), 3)
    for row in increases(distances).to_dict("records"):
        if row["whose"] == "ours":
            yield f"out of domain, {row['model']}, {row['reading']}", round(row["increase"])
    for row in goal_reading(distances, [RIDGE]).to_dict("records"):
        yield f"{row['model']} of {row['trained_on']} reads the goal, {row['domain']}", bool(row["reads"])
    alike = rewards_alike(predictions())
    least = alike.loc[alike["model"] == LORA, "correlation"].min()
    yield "least correlation of rewards with another goal, LoRA", round(float(least), 3)


def matrices(distances: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Panels for `statefactory.plots.draw_matrix`: distances by training and test domain, the paper's first.

    The last row of our panels is the monotonic baseline on the same pairs. distances: `stored_distances`.
    """
    baseline = monotonic(distances)
    ours = {
        f"Ours: {backbone_of()}": LORA,
        "Ours: ridge on embeddings": RIDGE,
    }
    return {"The paper: Qwen2.5-1.5B, 35,000 pairs": table1_published()} | {
        title: pd.concat([table1(distances, (model,)), baseline]) for title, model in ours.items()
    }


def in_words(changes: pd.DataFrame) -> pd.DataFrame:
    """The table of `ablations` to display: each row says in words what it changes in the training recipe."""
    changed = changes["second"].str.removeprefix(f"{LORA}, ")
    words = changes.assign(change=[CHANGES.get(name, name) for name in changed])
    return words[["domain", "change", "n", "difference", "ci_low", "ci_high"]]


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
        recipes = [recipe(title, training) for training in TRAININGS]
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
    ours = preset_cards(folder)
    columns = ("pairs", "epochs", "batch size", "GPUs", "hours")
    return pd.DataFrame({
        "trained on": training_title(name),
        **{f"{column}, published": lines[column][method_name(LORA, name)] for column in columns},
        "preset paper": f"{plan.pairs:,} · {plan.epochs:g} · {plan.pairs_a_step}",
        "pairs, measured here": ours[name]["pairs"], "tokens, measured here": ours[name]["tokens"],
        "hours, measured here": round(ours[name]["seconds"] / 3600, 2),
    } for name, plan in ((name, recipe("paper", name)) for name in TRAININGS))  # fmt: skip


def trainings(cards: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Counts and results of trainings from their cards, one row per training."""
    return pd.DataFrame({
        "trained on": card["name"], "changed": changed(card), "layers": card["recipe"]["layers"] or "all",
        "pairs": card["pairs"], "comparisons": card["comparisons"], "tokens": card["tokens"],
        "truncated rows": card["truncated_rows"], "steps": card["steps"], "last loss": round(card["loss"], 3),
        "in order": round(card["accuracy"], 3), "minutes": round(card["seconds"] / 60, 1), "evidence": "measured",
    } for card in cards)  # fmt: skip


def train_one(
    name: str, preset: str, changes: Mapping[str, Any], pairs: int, validation: int, data: str, seed: int, workers: int
) -> tuple[Adapter, pd.DataFrame]:
    """Build pairs and train an adapter on them, or reuse finished files of the same settings. Resumes if interrupted.

    name: a domain. pairs, validation: numbers of pairs; 0 pairs for the preset's number. changes: to the preset.
    Returns the adapter, and distances on the validation pairs: of the adapter, its controls, and ridge on the same
    training pairs.
    Raises MissingBackbone, MissingData, BuildFailed, and ValueError for unknown or invalid settings.
    """
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


def _setting(value: Any, field: str) -> str:
    """Format a recipe's value as in Table 6."""
    if field == "layers":
        return str(value or "all")
    return f"{value:g}" if isinstance(value, float) else str(value)
