"""Evaluation of reward models: stored predictions on a domain's pairs, and their EPIC distances.

Predictions are tables with one row per model, trajectory and step:

    model        "LoRA" with the recipe's changes to the preset, or "ridge"
    trained_on   a domain, or "all"
    shown        the goal in the model's input: "own goal", or a control: "no goal", "another goal"
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
    """The benchmark's pairs of a domain, or the validation pairs held back from training.

    limit: number of pairs, of the benchmark spread evenly; 0 for all. validation: folder of the validation pairs.
    Raises MissingData, and BuildFailed if the benchmark cannot be built.
    """
    if validation:
        return read_in_order(file_of(validation, domain, True), limit)
    # Builds all pairs once and reuses them; a separate build per limit would take longer.
    return spread(build(domain, data).pairs(), limit)


def score(
    folder: Path, pairs: Mapping[str, Sequence[Pair]], controls: Controls = "own domain", workers: int = 1
) -> pd.DataFrame:
    """An adapter's predictions on the pairs of each domain, as one table.

    controls: domains on which goal-blind and goal-swapped controls run too; an adapter of the union has no own domain.
    workers: processes of one thread each. Raises UnusableAdapter and MissingBackbone.
    """
    from joblib import Parallel, delayed

    jobs = (delayed(_score_domain)(folder, domain, domain_pairs, controls) for domain, domain_pairs in pairs.items())
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
    """Predictions of ridge regression with each of its feature views, fitted on each adapter's training pairs.

    folders: of the adapters. training: folder of the training pairs. pairs: domain -> pairs to score. keep: folder to
    which the weights of the "whole" view are written.
    Raises UnusableAdapter if an adapter was trained on other pairs than those in `training`; MissingData.
    """
    parts = []
    for folder in folders:
        card = adapters.read(folder).card
        name, count = card["name"], card["pairs"]
        training_set = training_pairs(training, name, count, count // len(DOMAINS))
        if pairs_hash(training_set) != card["rows"]:
            raise adapters.UnusableAdapter(
                f"{name} was trained on other pairs than the first {count} in {shown_path(training)}; "
                "name the folder with its own by --preferences"
            )
        for view, model in RIDGES.items():
            fitted = ridge.fit(training_set, view)
            if view == "whole":
                fitted.card["rows"] = card["rows"]
                fitted.save(keep / f"{name}.json")
            for domain_pairs in pairs.values():
                by_control = controlled(fitted, domain_pairs)
                # No control with an empty goal: its embedding is an outlier, so all rewards would be clipped alike.
                reported = (OWN, ANOTHER) if view == "whole" else (OWN,)
                parts.append(frame(model, name, {control: by_control[control] for control in reported}, domain_pairs))
    return joined(parts)


def controlled(predictor: PrefixPredictor, pairs: Sequence[Pair]) -> dict[str, PrefixPredictor]:
    """The predictor with its controls; swapped goals are taken from these pairs."""
    return with_controls(predictor, [pair.positive.goal_description for pair in pairs])


def frame(model: str, trained_on: str, shown: Mapping[str, Predictor[Any]], pairs: Sequence[Pair]) -> pd.DataFrame:
    """Predictions at every step of the pairs, as a table with COLUMNS. shown: value of that column -> predictor."""
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
    """EPIC distance of each pair; columns WHO, domain, task, distance. The monotonic baseline's rows come first."""
    import pandas as pd

    # The positive's steps come before the negative's, as in the benchmark.
    first = predictions.drop_duplicates(["domain", "task", "kind", "step"])
    length = first.groupby(["domain", "task", "kind"], sort=False)["step"].transform("max")
    monotonic = first.assign(model=MONOTONIC, trained_on="", shown="", reward=first["step"] / length)
    groups = list(pd.concat([monotonic, predictions], ignore_index=True).groupby([*WHO, "domain", "task"], sort=False))
    values = epic_distances([_of(group, "reward") for _, group in groups], [_of(group, "truth") for _, group in groups])
    return pd.DataFrame([key for key, _ in groups], columns=[*WHO, "domain", "task"]).assign(distance=values)


def summary(distances: pd.DataFrame) -> pd.DataFrame:
    """Mean distance per model and domain with bootstrap interval, and paired differences to a reference model.

    Columns: WHO, domain, n, value, ci_low, ci_high; minus_own, minus_low and minus_high: mean paired difference to the
    reference, with interval. The reference is the first model of the frame except the monotonic baseline.
    """
    import pandas as pd

    lines = []
    for domain, part in distances.groupby("domain", sort=False):
        table = part.pivot(index="task", columns=WHO, values="distance")
        models = list(dict.fromkeys(part[WHO].itertuples(index=False, name=None)))
        reference = next((name for name in models if name[0] != MONOTONIC), models[0])
        for model in models:
            value, gain = bootstrap_mean(table[model]), bootstrap_mean(table[model] - table[reference])
            lines.append((*model, domain, len(table), *value, *gain))
    columns = [*WHO, "domain", "n", "value", "ci_low", "ci_high", "minus_own", "minus_low", "minus_high"]
    return pd.DataFrame(lines, columns=columns)


def save(path: Path, predictions: pd.DataFrame) -> None:
    """Write predictions as Parquet, numbers as float32."""
    buffer = io.BytesIO()
    smaller = predictions.astype({"reward": "float32", "truth": "float32", "step": "int16"})
    smaller.to_parquet(buffer, index=False, compression="zstd")
    write_atomically(path, buffer.getvalue())


def read(paths: Iterable[Path]) -> pd.DataFrame:
    """Read predictions from files into one table. Raises DamagedFile."""
    import pandas as pd

    parts = []
    for path in paths:
        try:
            parts.append(pd.read_parquet(io.BytesIO(read_whole(path)), columns=COLUMNS))
        except (ValueError, OSError) as error:  # pyarrow's
            raise damaged(path, error) from None
    return joined(parts)


def joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate tables of predictions."""
    import pandas as pd

    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def _of(part: pd.DataFrame, column: str) -> np.ndarray:
    return part[column].to_numpy(dtype=float)
