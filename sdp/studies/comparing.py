"""Two runs on the same tasks, and the columns that several tables of SDP share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from lab.results.statistics import Comparison, compare, holm
from lab.runs import experiment
from lab.runs.study_results import Results, smallest
from sdp.studies.conditions import SDP


def labels(results: experiment.Results[Any]) -> dict[str, str]:
    """Three columns: the data, the evidence and the backbone of a run."""
    return {"data": results.setup.data, "evidence": results.evidence, "backbone": results.backbone}


def points(c: Comparison) -> dict[str, float]:
    """The columns of a paired comparison, in points: the difference with its interval; gained and lost: tasks."""
    difference, low, high = (100 * end for end in c.difference)
    ends = {"n": c.n, "difference": difference, "low": low, "high": high}
    return {**ends, "gained": c.wins, "lost": c.losses, "p": c.p}


def between(first: Results, second: Results, named: Callable[[Results], str]) -> pd.DataFrame:
    """SDP's scores in two runs on the tasks of both, first less second in points, a row a dataset.

    named: what a run is called. Each run's column is its mean in percent. p (Holm): for all rows together. smallest:
    the difference that so many tasks would have shown.
    """
    lines: list[dict[str, Any]] = []
    for dataset in first.setup.datasets:
        before, after = (run.scores_of(dataset, SDP.name) for run in (first, second))
        shared = sorted(before.keys() & after.keys())
        c = compare({task: before[task] for task in shared}, {task: after[task] for task in shared})
        means = {named(first): 100 * c.mean_a, named(second): 100 * c.mean_b}
        lines.append({"dataset": dataset, **means, **points(c), "smallest": smallest(c)})
    adjusted = holm([line["p"] for line in lines])
    return pd.DataFrame(lines).assign(**{"p (Holm)": adjusted}, data=first.setup.data, evidence=first.evidence)
