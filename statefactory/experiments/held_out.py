"""The table of held-out pairs: the same method on the benchmark and on tasks that no rule was written on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lab.results import tables
from lab.runs import collecting
from statefactory.experiments import scores, scoring
from statefactory.experiments.monotonic import distances
from statefactory.experiments.predictions import Results, Setup
from statefactory.experiments.scoring import STANDARD, Scoring

if TYPE_CHECKING:
    import pandas as pd

BENCHMARK, HELD_OUT = "the benchmark", "held out"
SLICE = 12  # synthetic pairs of each domain where the limit is -1, as many as there are held out


def collect(setup: Setup, workers: int = 0, cluster: str = "") -> dict[str, Results]:
    """The run on the benchmark's pairs, which are seed 0's, and the one on held-out pairs of the setup's seed."""
    if setup.limit < 0 and setup.resolved().data == "synthetic":
        setup = replace(setup, limit=SLICE)
    setups = {BENCHMARK: replace(setup, seed=0), HELD_OUT: replace(setup, held_out=True)}
    return {name: collecting.collect(of, workers, cluster) for name, of in setups.items()}


def frame(runs: Mapping[str, Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """The rows of the monotonic baseline and of the runs' methods, each on either kind of pairs."""
    rows = []
    for name, results in runs.items():
        source = f"this run, {results.setup.data} data"
        timed = {domain: distances(pairs) for domain, pairs in results.pairs.items()}
        rows += scores.rows(f"Monotonic, {name}", "none", timed, source)
        for method in results.setup.methods:
            rows += scoring.rows(results, method, score, f"{scoring.title_of(results, method)}, {name}")
    return tables.table(rows)
