"""How far reward models are off: what they predict on a domain's pairs, kept as data, and its EPIC distances.

A line of predictions is one step of one trajectory as one model saw it:

    model        "LoRA", with what its recipe has changed, or "ridge"
    trained_on   a domain, or "all"
    shown        "own goal", or a control: "no goal", "another goal"
    domain, task, kind, step, reward, truth     step from 1, reward and truth in [0, 1]
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lab.machine.files import sha256_of, write_atomically
from lab.machine.paths import runs_folder
from lab.machine.paths import shown as shown_path
from lab.machine.reading import damaged, read_whole
from lab.results.statistics import bootstrap_mean
from lab.runs.execution import Played, play_all
from lab.runs.experiment import spread
from lab.runs.manifest import Manifest
from lab.runs.run import Run, when_free
from statefactory.benchmark import DOMAINS, build
from statefactory.epic import epic_distances
from statefactory.reward_models import adapters, ridge
from statefactory.reward_models.campaign import ALL
from statefactory.reward_models.predictor import (
    ANOTHER,
    NO_GOAL,
    OWN,
    GoalSwapped,
    LearnedReward,
    PrefixPredictor,
    Told,
    with_controls,
)
from statefactory.reward_models.preferences.pairs import (
    Preference,
    Trajectory,
    mixed,
    of_benchmark,
    read_preferences,
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


class ScoringFailed(RuntimeError):
    """Some adapters could not be scored on some domains; the message names the first, and why."""


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
def _pairs(of: Pairs, domain: str) -> list[Preference]:
    if of.side == "validation":
        return read_preferences(of.preferences / f"{domain}.parquet", "validation", of.limit)
    # All are built, or kept already; a build of its own for each limit would take longer.
    return of_benchmark(spread(build(domain, of.data).pairs(), of.limit))


def score_all(
    folders: Sequence[Path], domains: Sequence[str], pairs: Pairs, controls: Controls = "own domain", workers: int = 1
) -> list[pd.DataFrame]:
    """The predictions of each adapter on each domain, a frame an adapter; killed, the next call goes on.

    controls: where a goal-blind and a goal-swapped control run beside; a union has no domain of its own.
    workers: processes of one thread each.
    Raises UnusableAdapter, MissingBackbone, ScoringFailed, and what `Pairs.of` raises.
    """
    cells = {f"{number} on {domain}": (folder, domain) for number, folder in enumerate(folders) for domain in domains}
    weights = [adapters.read(folder).folder / adapters.WEIGHTS for folder in folders]
    about = {
        "adapters": [sha256_of(path) for path in weights], "controls": controls,
        "pairs": {domain: _tasks(pairs.of(domain)) for domain in domains}, **asdict(pairs), "preferences": "",
    }  # fmt: skip
    manifest = Manifest.of("reward-models-scored", "none", "none", about, cells, ("statefactory/reward_models",))
    place = runs_folder() / "reward_models" / f"scored {manifest.digest[:6]}"
    with when_free(lambda: Run(place, manifest)) as run:
        play_all(run, partial(_cell, cells, pairs, controls), workers, title="reward models score")
        kept = {task: episode.result for task, episode in run.episodes.items()}
        if failed := {task: str(of.error) for task, of in run.episodes.items() if of.failed} | dict(run.not_measured):
            task, why = next(iter(failed.items()))
            raise ScoringFailed(f"{len(failed)} of {len(cells)} were not scored, {task} first: {why}. The whole errors "
                                f"are in {run.folder}; delete that folder and run again")  # fmt: skip
    frames = []
    for number, folder in enumerate(folders):
        adapter, parts = adapters.read(folder), []
        for domain in domains:
            found = kept[f"{number} on {domain}"]
            # A run's lines have their keys sorted.
            said = {goal: found[goal] for goal in (OWN, NO_GOAL, ANOTHER) if goal in found}
            parts.append(frame(model_of(adapter), adapter.name, said, pairs.of(domain)))
        frames.append(joined(parts))
    return frames


def _cell(cells: Mapping[str, tuple[Path, str]], pairs: Pairs, controls: Controls, cell: str) -> Played:
    import torch

    torch.set_num_threads(1)
    folder, domain = cells[cell]
    model, rows = LearnedReward(folder), pairs.of(domain)
    beside = controls == "everywhere" or (controls == "own domain" and model.adapter.card["domains"] == [domain])
    shown = with_controls(model, [row.chosen.goal for row in rows]) if beside else {OWN: model}
    return Played({name: rewards(predictor, rows) for name, predictor in shown.items()})


def ridge_predictions(
    folders: Sequence[Path], preferences: Path, domains: Sequence[str], pairs: Pairs, keep: Path
) -> pd.DataFrame:  # fmt: skip
    """The same of ridge regression in its three views, fitted here on the very pairs that each adapter was trained on.

    preferences: the folder that they are in. keep: the folder where the weights of the whole view are written. Raises
    UnusableAdapter if there are other pairs in the former, and MissingData.
    """
    parts = []
    for folder in folders:
        card = adapters.read(folder).card
        name, count = card["name"], card["pairs"]
        if name == ALL:
            training = mixed([preferences / f"{domain}.parquet" for domain in DOMAINS], count // len(DOMAINS))
        else:
            training = read_preferences(preferences / f"{name}.parquet", "train", count)
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
    """What a predictor says at every step of every pair, in [0, 1]."""

    def along(of: Trajectory) -> list[float]:
        return predictor.scores([Told(of.goal, of.steps[:n]) for n in range(1, len(of.steps) + 1)]).tolist()

    return [[along(of) for of in row.both] for row in rows]


def frame(model: str, trained_on: str, kept: Mapping[str, Rewards], rows: Sequence[Preference]) -> pd.DataFrame:
    """Predictions as a table with COLUMNS. kept: what was shown -> the rewards, in the order of the rows."""
    import pandas as pd

    lines = [
        (model, trained_on, shown, row.domain, row.task, kind, step, reward, truth)
        for shown, said in kept.items()
        for row, both in zip(rows, said, strict=True)
        for kind, of, found in zip(("positive", "negative"), row.both, both, strict=True)
        for step, (reward, truth) in enumerate(zip(found, of.progress, strict=True), 1)
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def model_of(adapter: adapters.Adapter) -> str:
    """ "LoRA", and what the adapter's recipe has changed in the preset."""
    return ", ".join(["LoRA", *changes(adapter.recipe)])


def distances(of: pd.DataFrame) -> pd.DataFrame:
    """EPIC distance of each pair: columns WHO, domain, task, distance; the monotonic baseline's rows first."""
    import pandas as pd

    # A pair's positive steps stand before its negative ones, as in the benchmark.
    first = of.drop_duplicates(["domain", "task", "kind", "step"])
    length = first.groupby(["domain", "task", "kind"], sort=False)["step"].transform("max")
    timed = first.assign(model=MONOTONIC, trained_on="", shown="", reward=first["step"] / length)
    groups = list(pd.concat([timed, of], ignore_index=True).groupby([*WHO, "domain", "task"], sort=False))
    found = epic_distances([_of(part, "reward") for _, part in groups], [_of(part, "truth") for _, part in groups])
    return pd.DataFrame([key for key, _ in groups], columns=[*WHO, "domain", "task"]).assign(distance=found)


def summary(of: pd.DataFrame) -> pd.DataFrame:
    """Mean distance of each in WHO by domain with its bootstrap interval, and differences to the model with its goal.

    Columns: WHO, domain, n, value, ci_low, ci_high; minus_own, minus_low and minus_high: differences pair by pair to
    the first in the frame that is not the monotonic baseline.
    """
    import pandas as pd

    lines = []
    for domain, part in of.groupby("domain", sort=False):
        table = part.pivot(index="task", columns=WHO, values="distance")
        there = list(dict.fromkeys(part[WHO].itertuples(index=False, name=None)))
        reference = next((name for name in there if name[0] != MONOTONIC), there[0])
        for who in there:
            value, gain = bootstrap_mean(table[who]), bootstrap_mean(table[who] - table[reference])
            lines.append((*who, domain, len(table), *value, *gain))
    columns = [*WHO, "domain", "n", "value", "ci_low", "ci_high", "minus_own", "minus_low", "minus_high"]
    return pd.DataFrame(lines, columns=columns)


def save(path: Path, of: pd.DataFrame) -> None:
    """Write predictions as Parquet, numbers as float32."""
    buffer = io.BytesIO()
    smaller = of.astype({"reward": "float32", "truth": "float32", "step": "int16"})
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


def _tasks(rows: Iterable[Preference]) -> str:
    import hashlib

    return hashlib.sha256("\n".join(row.task for row in rows).encode()).hexdigest()


def _of(part: pd.DataFrame, column: str) -> np.ndarray:
    return part[column].to_numpy(dtype=float)
