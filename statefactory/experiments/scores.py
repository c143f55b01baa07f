"""A predictor's row of Table 1: EPIC distances a domain and overall, with intervals, beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lab.results import tables
from statefactory.benchmark.domains import BY_NAME
from statefactory.epic import overall

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Distances = Mapping[str, "np.ndarray"]

METRIC = "EPIC distance, {}"
OVERALL = METRIC.format("Overall")


def metric(domain: str) -> str:
    """The metric of a domain, as in `data/published/statefactory_tables.csv`."""
    return METRIC.format(BY_NAME[domain].title)


def metrics() -> list[str]:
    """Those of the five domains in the order of the paper's Table 1, then Overall."""
    order = ("alfworld", "scienceworld", "webshop", "blocksworld", "textworld")
    return [*(metric(domain) for domain in order), OVERALL]


def rows(
    method: str, backbone: str, distances: Distances, source: str = "this run", evidence: str = "measured"
) -> list[tables.Row]:
    """The rows of a predictor. distances: domain -> one value a pair. Overall needs all five domains."""
    found = [tables.mean_row(method, backbone, metric(name), values, evidence, source)
             for name, values in distances.items()]  # fmt: skip
    if set(distances) == set(BY_NAME):
        mean = overall(distances)
        n = sum(len(values) for values in distances.values())
        found.append(
            tables.row(
                method,
                backbone,
                OVERALL,
                mean.value,
                evidence=evidence,
                source=source,
                n=n,
                interval=(mean.low, mean.high),
            )
        )
    return found


def published(methods: Sequence[str]) -> list[tables.Row]:
    """The rows of Table 1 that the paper reports for these methods."""
    table = tables.published("Table 1", paper="statefactory")
    return table[table["method"].isin(methods)].to_dict("records")


def beside(results: Sequence[tables.Row], methods: Sequence[str]) -> pd.DataFrame:
    """Published and measured rows for reading, three decimals."""
    return tables.side_by_side(tables.table([*published(methods), *results]), metrics(), decimals=3)
