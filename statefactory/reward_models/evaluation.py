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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lab.machine.files import write_atomically
from lab.machine.paths import shown as shown_path
from lab.machine.reading import damaged, read_whole
from lab.results.statistics import bootstrap_mean
from lab.runs.experiment import spread
from statefactory.benchmark import DOMAINS, Pair, build
from statefactory.epic import epic_distances
from statefactory.predictors import Predictor
from statefactory.reward_models import adapters, ridge
from statefactory.reward_models.pairs import file_of, read_in_order, training_pairs
from statefactory.reward_models.predictor import ANOTHER, OWN, LearnedReward, PrefixPredictor, with_controls
from statefactory.reward_models.recipe import changes
from statefactory.reward_models.training import pairs_hash

if TYPE_CHECKING:
    import pandas as pd

WHO = ["model", "trained_on", "shown"]
COLUMNS = [*WHO, "domain", "task", "kind", "step", "reward", "truth"]
MONOTONIC = "monotonic"
RIDGES: Mapping[ridge.View, str] = {
    "whole": "ridge", "no goal": "ridge, goal never shown", "counts": "ridge, no word read",
}  # fmt: skip
FILE = "predictions.parquet"

Controls = Literal["none", "own domain", "everywhere"]


def pairs_of(domain: str, data: str = "auto", limit: int = 0, validation: Path | None = None) -> list[Pair]:
    """The benchmark's pairs of a domain, spread evenly, or those that were held back from training.

    limit: 0 for all. validation: the folder of the latter.
    Raises MissingData, and BuildFailed where a benchmark's pairs cannot be built.
    """
    if validation:
        return read_in_order(file_of(validation, domain, True), limit)
    # All are built, or kept already; a build of its own for each limit would take longer.
    return spread(build(domain, data).pairs(), limit)


def score(
    folder: Path, pairs: Mapping[str, Sequence[Pair]], controls: Controls = "own domain", workers: int = 1
) -> pd.DataFrame:
    """The predictions of an adapter on pairs by domain, one below the other.

    controls: where a goal-blind and a goal-swapped control run beside; a union has no domain of its own.
    workers: processes of one thread each. Raises UnusableAdapter and MissingBackbone.
    """
    from joblib import Parallel, delayed

    jobs = (delayed(_score_domain)(folder, domain, of_domain, controls) for domain, of_domain in pairs.items())
    return joined(Parallel(n_jobs=workers)(jobs))


def _score_domain(folder: Path, domain: str, pairs: Sequence[Pair], controls: Controls) -> pd.DataFrame:
    import torch

    torch.set_num_threads(1)
    model = LearnedReward(folder)
    beside = controls == "everywhere" or (controls == "own domain" and model.adapter.card["domains"] == [domain])
    name = ", ".join(["LoRA", *changes(model.adapter.recipe)])
    return frame(name, model.adapter.name, controlled(model, pairs) if beside else {OWN: model}, pairs)


def ridge_predictions(
    folders: Sequence[Path], training: Path, pairs: Mapping[str, Sequence[Pair]], keep: Path
) -> pd.DataFrame:  # fmt: skip
    """The predictions of ridge regression in its three views, fitted on the training pairs of each adapter.

    training: the folder of these pairs. pairs: by domain, to be scored. keep: the folder where the weights of the whole
    view are written. Raises UnusableAdapter if `training` holds other pairs, and MissingData.
    """
    parts = []
    for folder in folders:
        card = adapters.read(folder).card
        name, count = card["name"], card["pairs"]
        seen = training_pairs(training, name, count, count // len(DOMAINS))
        if pairs_hash(seen) != card["rows"]:
            raise adapters.UnusableAdapter(
                f"{name} was trained on other pairs than the first {count} in {shown_path(training)}; "
                "name the folder with its own by --preferences"
            )
        for view, model in RIDGES.items():
            fitted = ridge.fit(seen, view)
            if view == "whole":
                fitted.card["rows"] = card["rows"]
                fitted.save(keep / f"{name}.json")
            for of_domain in pairs.values():
                shown = controlled(fitted, of_domain)
                # No empty goal: its embedding is far off, a linear map follows, and all rewards are clipped alike.
                wanted = (OWN, ANOTHER) if view == "whole" else (OWN,)
                parts.append(frame(model, name, {control: shown[control] for control in wanted}, of_domain))
    return joined(parts)


def controlled(predictor: PrefixPredictor, pairs: Sequence[Pair]) -> dict[str, PrefixPredictor]:
    """The predictor with its controls, which are shown the goals of these pairs."""
    return with_controls(predictor, [pair.positive.goal_description for pair in pairs])


def frame(model: str, trained_on: str, shown: Mapping[str, Predictor[Any]], pairs: Sequence[Pair]) -> pd.DataFrame:
    """Predictions at every step of every pair, as a table with COLUMNS. shown: what is shown -> the predictor."""
    import pandas as pd

    lines = [
        (model, trained_on, control, row.domain, row.task, row.kind, step, reward, truth)
        for control, predictor in shown.items()
        for pair in pairs
        for (row, step), reward, truth in zip(
            [(row, step) for row in pair.rows for step in range(1, len(row.trajectory) + 1)],
            predictor.predict_pair(pair), pair.shaped, strict=True,
        )
    ]  # fmt: skip
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
