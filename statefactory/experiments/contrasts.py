"""Paired contrasts: whether StateFactory is nearer to the true rewards than the other methods, on the same pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.models.replay import RecordingMiss
from lab.results.statistics import Comparison, compare, holm
from lab.runs.collecting import collect
from statefactory.experiments import scoring
from statefactory.experiments.predictions import Results, Setup
from statefactory.experiments.scores import Distances
from statefactory.experiments.scoring import STANDARD, Scoring

if TYPE_CHECKING:
    import pandas as pd

OURS = "statefactory"
COLUMNS = ["compared", "difference", "ci_low", "ci_high", "first farther", "second farther", "p", "p (Holm)", "n"]


def replays(names: Sequence[str]) -> Iterator[Results]:
    """The runs of recordings, served again; those that cannot be here are left out, and said."""
    for name in names:
        try:
            yield collect(Setup(engine=f"replay:{name}"), show_progress=False)
        except (RecordingMiss, MissingData) as error:
            progress.say(f"{name} has no contrasts here: {error}")


def contrasts(runs: Iterable[Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """StateFactory against every other method of each run: the difference of overall EPIC distances, below 0 if nearer.

    p (Holm): for all rows together.
    """
    import pandas as pd

    found = []
    for run in runs:
        others = [name for name in run.setup.methods if name != OURS]
        if others and OURS in run.setup.methods:
            ours = scoring.distances(run, OURS, score)
            found += [(run, name, compared(ours, scoring.distances(run, name, score))) for name in others]
    adjusted = holm([result.p for *_, result in found])
    lines = []
    for (run, name, result), p in zip(found, adjusted, strict=True):
        title = f"{scoring.title_of(run, OURS)} − {scoring.title_of(run, name)}"
        numbers = (*result.difference, result.wins, result.losses, result.p, p, result.n)
        lines.append((title, *numbers, run.evidence, run.backbone))
    return pd.DataFrame(lines, columns=[*COLUMNS, "evidence", "backbone"])


def compared(first: Distances, second: Distances) -> Comparison:
    """Two methods pair by pair. Each domain counts the same, as in Overall, however many pairs it has."""
    pairs = sum(len(values) for values in first.values())

    def weighted(distances: Distances) -> dict[str, float]:
        return {
            f"{domain}/{place}": float(value) * pairs / (len(distances) * len(values))
            for domain, values in distances.items()
            for place, value in enumerate(values)
        }

    return compare(weighted(first), weighted(second))
