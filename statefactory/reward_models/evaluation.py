"""Evaluation of reward models: predictions on a domain's pairs, stored as data, and their EPIC distances.

A row of predictions is one step of one trajectory under one model:

    model        "LoRA", with what its recipe changes in the preset, or "ridge"
    trained_on   a domain, or "all"
    shown        "own goal", or a control: "no goal", "another goal"
    domain, task, kind, step, reward, truth     step from 1, reward and truth in [0, 1]
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lab.machine.files import write_atomically
from lab.machine.paths import shown as shown_path
from lab.machine.reading import damaged, read_whole
from lab.results.statistics import bootstrap_mean
from lab.runs.experiment import spread
from statefactory.benchmark import DOMAINS, build
from statefactory.epic import epic_distances
from statefactory.reward_models import adapters, ridge
from statefactory.reward_models.predictor import (
    ANOTHER,
    OWN,
    GoalSwapped,
    LearnedReward,
    Prefix,
    PrefixPredictor,
    with_controls,
)
from statefactory.reward_models.preferences.pairs import (
    Preference,
    Trajectory,
    of_benchmark,
    read_preferences,
    training_pairs,
)
from statefactory.reward_models.recipe import changes
from statefactory.reward_models.training import rows_hash

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

WHO = ["model", "trained_on", "shown"]
COLUMNS = [*WHO, "domain", "task", "kind", "step", "reward", "truth"]
MONOTONIC = "monotonic"
RIDGES: Mapping[ridge.View, str] = {
    "whole": "ridge", "no goal": "ridge, goal never shown", "counts": "ridge, no word read",
}  # fmt: skip
FILE = "predictions.parquet"

Controls = Literal["none", "own domain", "everywhere"]
Rewards = list[list[list[float]]]  # of pairs: the chosen trajectory's, and the rejected one's


@dataclass(frozen=True)
class Pairs:
    """Which pairs are scored: of the benchmark, spread evenly, or held back from training. limit: 0 for all."""

    data: str = "auto"
    side: Literal["benchmark", "validation"] = "benchmark"
    limit: int = 0
    preferences: Path = Path()  # the folder of preference files, for validation

    def of(self, domain: str) -> list[Preference]:
        """Raises MissingData, and BuildFailed where a benchmark's pairs cannot be built."""
        return _pairs(self, domain)


@cache
def _pairs(pairs: Pairs, domain: str) -> list[Preference]:
    if pairs.side == "validation":
        return read_preferences(pairs.preferences / f"{domain}.parquet", "validation", pairs.limit)
    # All are built, or kept already; a build of its own for each limit would take longer.
    return of_benchmark(spread(build(domain, pairs.data).pairs(), pairs.limit))


def score(
    folder: Path, domains: Sequence[str], pairs: Pairs, controls: Controls = "own domain", workers: int = 1
) -> pd.DataFrame:
    """The predictions of an adapter on domains, one below the other.

    controls: where a goal-blind and a goal-swapped control run beside; a union has no domain of its own.
    workers: processes of one thread each.
    Raises UnusableAdapter, MissingBackbone, and what `Pairs.of` raises.
    """
    from joblib import Parallel, delayed

    jobs = (delayed(_score_domain)(folder, domain, pairs, controls) for domain in domains)
    return joined(Parallel(n_jobs=workers)(jobs))


def _score_domain(folder: Path, domain: str, pairs: Pairs, controls: Controls) -> pd.DataFrame:
    import torch

    torch.set_num_threads(1)
    model, rows = LearnedReward(folder), pairs.of(domain)
    beside = controls == "everywhere" or (controls == "own domain" and model.adapter.card["domains"] == [domain])
    shown = with_controls(model, [row.chosen.goal for row in rows]) if beside else {OWN: model}
    predicted = {control: rewards(predictor, rows) for control, predictor in shown.items()}
    name = ", ".join(["LoRA", *changes(model.adapter.recipe)])
    return frame(name, model.adapter.name, predicted, rows)


def ridge_predictions(
    folders: Sequence[Path], preferences: Path, domains: Sequence[str], pairs: Pairs, keep: Path
) -> pd.DataFrame:  # fmt: skip
    """The predictions of ridge regression in its three views, fitted on the training pairs of each adapter.

    preferences: the folder of these pairs. keep: the folder where the weights of the whole view are written.
    Raises UnusableAdapter if `preferences` holds other pairs, and MissingData.
    """
    parts = []
    for folder in folders:
        card = adapters.read(folder).card
        name, count = card["name"], card["pairs"]
        training = training_pairs(preferences, name, count, count // len(DOMAINS))
        if rows_hash(training) != card["rows"]:
            raise adapters.UnusableAdapter(
                f"{name} was trained on other pairs than the first {count} in {shown_path(preferences)}; "
                "name the folder with its own by --preferences"
            )
        for view, model in RIDGES.items():
            fitted = ridge.fit(training, view)
            if view == "whole":
                fitted.card["rows"] = card["rows"]
                fitted.save(keep / f"{name}.json")
            for domain in domains:
                rows = pairs.of(domain)
                shown: dict[str, PrefixPredictor] = {OWN: fitted}
                if view == "whole":
                    # No empty goal: its embedding is far off, a linear map follows, and all rewards are clipped alike.
                    shown[ANOTHER] = GoalSwapped(fitted, [row.chosen.goal for row in rows])
                kept = {control: rewards(predictor, rows) for control, predictor in shown.items()}
                parts.append(frame(model, name, kept, rows))
    return joined(parts)


def rewards(predictor: PrefixPredictor, rows: Iterable[Preference]) -> Rewards:
    """A predictor's rewards at every step of every pair, in [0, 1]."""

    def along(trajectory: Trajectory) -> list[float]:
        return predictor.scores(
            [Prefix(trajectory.goal, trajectory.steps[:n]) for n in range(1, len(trajectory.steps) + 1)]
        ).tolist()

    return [[along(trajectory) for trajectory in row.both] for row in rows]


def frame(model: str, trained_on: str, kept: Mapping[str, Rewards], rows: Sequence[Preference]) -> pd.DataFrame:
    """Predictions as a table with COLUMNS. kept: what was shown -> the rewards, in the order of the rows."""
    import pandas as pd

    lines = [
        (model, trained_on, shown, row.domain, row.task, kind, step, reward, truth)
        for shown, rewards_of_pairs in kept.items()
        for row, both in zip(rows, rewards_of_pairs, strict=True)
        for kind, trajectory, predicted in zip(("positive", "negative"), row.both, both, strict=True)
        for step, (reward, truth) in enumerate(zip(predicted, trajectory.progress, strict=True), 1)
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def distances(predictions: pd.DataFrame) -> pd.DataFrame:
    """EPIC distance of each pair: columns WHO, domain, task, distance; the monotonic baseline's rows first."""
    import pandas as pd

    # A pair's positive steps stand before its negative ones, as in the benchmark.
    first = predictions.drop_duplicates(["domain", "task", "kind", "step"])
    length = first.groupby(["domain", "task", "kind"], sort=False)["step"].transform("max")
    timed = first.assign(model=MONOTONIC, trained_on="", shown="", reward=first["step"] / length)
    groups = list(pd.concat([timed, predictions], ignore_index=True).groupby([*WHO, "domain", "task"], sort=False))
    values = epic_distances([_of(part, "reward") for _, part in groups], [_of(part, "truth") for _, part in groups])
    return pd.DataFrame([key for key, _ in groups], columns=[*WHO, "domain", "task"]).assign(distance=values)


def summary(distances: pd.DataFrame) -> pd.DataFrame:
    """Mean distance of each in WHO by domain with its bootstrap interval, and differences to the model with its goal.

    Columns: WHO, domain, n, value, ci_low, ci_high; minus_own, minus_low and minus_high: differences pair by pair to
    the first in the frame that is not the monotonic baseline.
    """
    import pandas as pd

    lines = []
    for domain, part in distances.groupby("domain", sort=False):
        table = part.pivot(index="task", columns=WHO, values="distance")
        there = list(dict.fromkeys(part[WHO].itertuples(index=False, name=None)))
        reference = next((name for name in there if name[0] != MONOTONIC), there[0])
        for who in there:
            value, gain = bootstrap_mean(table[who]), bootstrap_mean(table[who] - table[reference])
            lines.append((*who, domain, len(table), *value, *gain))
    columns = [*WHO, "domain", "n", "value", "ci_low", "ci_high", "minus_own", "minus_low", "minus_high"]
    return pd.DataFrame(lines, columns=columns)


def save(path: Path, predictions: pd.DataFrame) -> None:
    """Write predictions as Parquet, numbers as float32."""
    buffer = io.BytesIO()
    smaller = predictions.astype({"reward": "float32", "truth": "float32", "step": "int16"})
    smaller.to_parquet(buffer, index=False, compression="zstd")
    write_atomically(path, buffer.getvalue())


def read(paths: Iterable[Path]) -> pd.DataFrame:
    """Predictions of one or more files. Raises DamagedFile."""
    import pandas as pd

    parts = []
    for path in paths:
        try:
            parts.append(pd.read_parquet(io.BytesIO(read_whole(path)), columns=COLUMNS))
        except (ValueError, OSError) as error:  # pyarrow's
            raise damaged(path, error) from None
    return joined(parts)


def joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Predictions one below the other."""
    import pandas as pd

    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def _of(part: pd.DataFrame, column: str) -> np.ndarray:
    return part[column].to_numpy(dtype=float)
