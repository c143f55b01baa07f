"""How far a reward model is off: its EPIC distance on pairs, beside the monotonic baseline and its own controls."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.machine import progress
from lab.machine.files import write_atomically
from lab.results.statistics import bootstrap_mean
from statefactory.epic import epic_distances
from statefactory.reward_models.predictor import PrefixPredictor, Told
from statefactory.reward_models.preferences.pairs import Preference

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

MONOTONIC = "monotonic"


def predictions(predictors: Mapping[str, PrefixPredictor], rows: Sequence[Preference], title: str) -> pd.DataFrame:
    """What each predictor says at every step of every pair, one line a step, and the truth.

    Columns: method, domain, task, kind, step (from 1), score (raw), reward (in [0, 1]), truth. Scores are kept beside
    rewards so that a reader can choose another map.
    """
    import pandas as pd

    lines = []
    with progress.bar(len(predictors) * len(rows), title) as bar:
        for method, predictor in predictors.items():
            for row in rows:
                for kind, of in (("positive", row.chosen), ("negative", row.rejected)):
                    scores = predictor.raw_scores([Told(of.goal, of.steps[:n]) for n in range(1, len(of.steps) + 1)])
                    for step, (score, reward, truth) in enumerate(
                        zip(scores, predictor.affine(scores), of.progress, strict=True), 1
                    ):
                        lines.append((method, row.domain, row.task, kind, step, score, reward, truth))
                bar.update()
    return pd.DataFrame(lines, columns=["method", "domain", "task", "kind", "step", "score", "reward", "truth"])


def distances(frame: pd.DataFrame) -> pd.DataFrame:
    """EPIC distance of each pair: columns method, domain, task, distance; with the monotonic baseline's rows first."""
    import pandas as pd

    # A pair's positive steps stand before its negative ones in the frame, as in the benchmark.
    first = frame[frame["method"] == frame["method"].iloc[0]]
    length = first.groupby(["domain", "task", "kind"], sort=False)["step"].transform("max")
    timed = first.assign(method=MONOTONIC, reward=first["step"] / length)
    whole = pd.concat([timed, frame], ignore_index=True)
    groups = whole.groupby(["method", "domain", "task"], sort=False)
    found = epic_distances([_of(part, "reward") for _, part in groups], [_of(part, "truth") for _, part in groups])
    keys = pd.DataFrame([key for key, _ in groups], columns=["method", "domain", "task"])
    return keys.assign(distance=found)


def summary(of: pd.DataFrame) -> pd.DataFrame:
    """Mean distance by method and domain with its bootstrap interval, and the mean difference to the first method.

    Columns: method, domain, n, value, ci_low, ci_high; minus_first, minus_low and minus_high of differences pair by
    pair to the first method that is not the monotonic baseline.
    """
    import pandas as pd

    lines = []
    for domain, part in of.groupby("domain", sort=False):
        table = part.pivot(index="task", columns="method", values="distance")
        reference = next(name for name in part["method"] if name != MONOTONIC)
        for method in dict.fromkeys(part["method"]):
            value, gain = bootstrap_mean(table[method]), bootstrap_mean(table[method] - table[reference])
            lines.append((method, domain, len(table), *value, *gain))
    columns = ["method", "domain", "n", "value", "ci_low", "ci_high", "minus_first", "minus_low", "minus_high"]
    return pd.DataFrame(lines, columns=columns)


def save(path: Path, frame: pd.DataFrame) -> None:
    """Write predictions as Parquet, rewards and scores as float32."""
    buffer = io.BytesIO()
    smaller = frame.astype({name: "float32" for name in ("score", "reward", "truth")} | {"step": "int16"})
    smaller.to_parquet(buffer, index=False, compression="zstd")
    write_atomically(path, buffer.getvalue())


def _of(part: pd.DataFrame, column: str) -> np.ndarray:
    return part[column].to_numpy(dtype=float)
