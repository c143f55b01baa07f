"""Methods compared on the same tasks, in points: differences with their intervals, exact tests, Holm's correction.

Runs are `lab.runs.study_results.Results`, which this module does not import: they compare by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from lab.results.statistics import Comparison, compare, holm, smallest_difference
from lab.results.verdicts import FEWEST

if TYPE_CHECKING:
    import pandas as pd


def comparisons(runs: Sequence[Any], against: str) -> pd.DataFrame:
    """Returns each method less one of them on the same tasks, in points or the study's own scale; Holm's correction
    within each dataset.

    runs: of one study, that differ in their seed alone; a task counts once, by its mean. p is exact McNemar's where
    every score is 0 or 1, else that of paired sign flips. smallest: the difference that so many tasks would have shown,
    by the spread of these differences and by the fewest that have to differ.
    """
    import pandas as pd

    first, rows = runs[0], list[dict[str, Any]]()
    scale = first.of_study.scale
    for dataset in (name for name in first.setup.datasets if against in first.setup.methods_of(name)):
        base = _pooled(runs, dataset, against)
        others = [method for method in first.setup.methods_of(dataset) if method != against]
        compared = {method: compare(_pooled(runs, dataset, method), base) for method in others}
        adjusted = holm([c.p for c in compared.values()])
        for (method, c), p in zip(compared.items(), adjusted, strict=True):
            difference, low, high = (scale * end for end in c.difference)
            rows.append(
                {"dataset": dataset, "method": method, "n": c.n, f"less {against}": difference, "low": low,
                 "high": high, "gained": c.wins, "lost": c.losses, "p": c.p, "p (Holm)": p,
                 "smallest": smallest(c, scale),
                 "calls": first.mean(dataset, method, "calls"),
                 "tokens in": first.mean(dataset, method, "tokens_in"),
                 "evidence": first.evidence, "backbone": first.backbone_of(dataset, method, against)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def primary(runs: Iterable[Any], method: str, against: str) -> pd.DataFrame:
    """One method less another on the same tasks, in points: a line for each dataset of each run that has both.

    p as in `comparisons`; Holm's correction over the lines of a backbone, since they are the primary comparisons of one
    document. smallest: as in `comparisons`.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for run in (run for run in runs if {method, against} <= {*run.setup.methods}):
        for dataset in run.setup.datasets:
            c = compare(run.scores_of(dataset, method), run.scores_of(dataset, against))
            difference, low, high = (100 * end for end in c.difference)
            rows.append(
                {"backbone": run.backbone, "dataset": dataset, "n": c.n, method: 100 * c.mean_a,
                 against: 100 * c.mean_b, "difference": difference, "low": low, "high": high, "gained": c.wins,
                 "lost": c.losses, "smallest": smallest(c), "p": c.p, "evidence": run.evidence}
            )  # fmt: skip
    table = pd.DataFrame(rows)
    if len(table):
        table["p (Holm)"] = table.groupby("backbone")["p"].transform(holm)
    return table


def contrasts(runs: Iterable[Any], pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Pairs of methods on the same tasks, in points: a row a run, pair, and dataset on which both have played.

    p as in `comparisons`; Holm's correction over all rows, since they are of one document.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for run, pair in product(runs, pairs):
        for dataset in (name for name in run.setup.datasets if {*pair} <= {*run.setup.methods_of(name)}):
            first, second = (run.scores_of(dataset, method) for method in pair)
            c = compare(first, second)
            difference, low, high = (100 * end for end in c.difference)
            rows.append(
                {"dataset": dataset, "compared": " − ".join(pair), "difference": difference, "ci_low": low,
                 "ci_high": high, "only the first": c.wins, "only the second": c.losses, "p": c.p, "p (Holm)": c.p,
                 "n": c.n, "evidence": run.evidence, "backbone": run.backbone}
            )  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(**{"p (Holm)": holm(table["p"])}) if rows else table


def smallest(c: Comparison, scale: float = 100) -> float:
    """The difference that a comparison would have shown, by default in points."""
    return scale * max(smallest_difference(c.difference), FEWEST / c.n)


def _pooled(runs: Sequence[Any], dataset: str, method: str) -> dict[str, float]:
    """Task -> its mean score over the runs: official and stored tasks are the same under every seed, and count once."""
    scores = defaultdict[str, list[float]](list)
    for run in runs:
        for task, score in run.scores_of(dataset, method).items():
            scores[task].append(score)
    return {task: sum(values) / len(values) for task, values in scores.items()}
