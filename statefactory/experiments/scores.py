"""Rows of Table 1: EPIC distances per domain and overall, with intervals, and the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lab.results import tables
from lab.results.outcomes import Outcomes
from statefactory import trust
from statefactory.benchmark.domains import BY_NAME
from statefactory.epic import overall
from statefactory.trust import Flags

Distances = Mapping[str, "np.ndarray"]

METRIC = "EPIC distance, {}"
OVERALL = METRIC.format("Overall")


def metric(domain: str) -> str:
    """The metric of a domain, as in `data/published/statefactory_tables.csv`."""
    return METRIC.format(BY_NAME[domain].title)


def metrics() -> list[str]:
    """The metrics of the five domains, in the order of the paper's Table 1, then Overall."""
    order = ("alfworld", "scienceworld", "webshop", "blocksworld", "textworld")
    return [*(metric(domain) for domain in order), OVERALL]


def rows(
    method: str, backbone: str, distances: Distances, source: str = "this run", evidence: str = "measured",
    outcomes: Mapping[str, Outcomes] | None = None, flags: Mapping[str, Sequence[Flags]] | None = None,
) -> list[tables.Row]:  # fmt: skip
    """The rows of a predictor: one per domain, and Overall if all five domains are given.

    distances: domain -> one value per pair, at most 1. outcomes: domain -> counts of failed and unmeasured pairs.
    flags: domain -> flags of each pair's steps, which are counted.
    """
    outcomes_by_domain: Mapping[str, Outcomes] = outcomes or {}
    distances = {name: values for name, values in distances.items() if len(values)}  # none yet of a stopped run
    common: dict[str, Any] = {"evidence": evidence, "source": source}
    rows = [
        tables.mean_row(
            method, backbone, metric(name), values, **common, outcomes=outcomes_by_domain.get(name), top=1.0
        )
        for name, values in distances.items()
    ]
    if flags:
        rows = [row | trust.cells(flags[name]) for row, name in zip(rows, distances, strict=True)]
    if set(distances) == set(BY_NAME):
        mean, n = overall(distances), sum(len(values) for values in distances.values())
        failed, not_measured = (
            sum(getattr(outcome, name) for outcome in outcomes_by_domain.values())
            for name in ("failed", "not_measured")
        )
        total_outcomes = Outcomes(n, failed, not_measured) if outcomes_by_domain else None
        # Overall is the mean of the domains' means; so its bounds are means of the domains' bounds.
        domain_bounds = [
            (row["bound_low"], row["bound_high"]) if row["not_measured"] else (row["value"],) * 2 for row in rows
        ]
        low, high = (sum(limits) / len(domain_bounds) for limits in zip(*domain_bounds, strict=True))
        bounds = (low, high) if total_outcomes and total_outcomes.not_measured else None
        rows.append(
            tables.row(
                method,
                backbone,
                OVERALL,
                mean.value,
                **common,
                n=n,
                interval=(mean.low, mean.high),
                outcomes=total_outcomes,
                bounds=bounds,
            )  # fmt: skip
            | (trust.cells(pair for pairs in flags.values() for pair in pairs) if flags else {})
        )
    return rows


def published(methods: Sequence[str]) -> list[tables.Row]:
    """The published rows of Table 1 for these methods."""
    table = tables.published("Table 1", paper="statefactory")
    return table[table["method"].isin(methods)].to_dict("records")
