"""Held-out pairs: the same methods on the benchmark and on tasks that no rule was written on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from lab.runs.study import register
from lab.runs.study_results import Results
from statefactory.benchmark import DOMAINS
from statefactory.benchmark.domains import acted
from statefactory.experiments import scores
from statefactory.studies import table1
from statefactory.studies.table1 import MONOTONIC, STATEFACTORY, label

BENCHMARK, HELD_OUT = "the benchmark", "held out"
STUDY = register(
    replace(
        table1.STUDY,
        name="statefactory-held-out",
        conditions=(MONOTONIC, STATEFACTORY),
        limits={"synthetic": dict.fromkeys(DOMAINS, table1.SLICE)},  # of both kinds of pairs
    )
)


def run(seed: int = 0, **settings: Any) -> dict[str, Results]:
    """Run the study on the benchmark's pairs, always of seed 0, and on held-out pairs of the seed.

    settings: other arguments of `Study.run`. For data="published", held-out pairs use the worlds' data instead.
    """
    held_out_settings = settings | {"data": acted(settings.get("data", "auto"))}
    held_out = STUDY.run(seed=seed, options={"held_out": True}, **held_out_settings)
    return {BENCHMARK: STUDY.run(**settings), HELD_OUT: held_out}


def frame(runs: Mapping[str, Results]) -> pd.DataFrame:
    """The rows of all runs, whose methods name the kind of pairs."""
    named = ((run, {name: f"{label(run, name)}, {pairs}" for name in run.setup.methods}) for pairs, run in runs.items())
    return pd.concat([run.frame(names=names) for run, names in named], ignore_index=True)


def accepted(rows: pd.DataFrame) -> pd.DataFrame:
    """StateFactory's rows of `frame` whose values are regression numbers, with names in a column `figure`."""
    ours = rows[rows["method"].str.startswith(STATEFACTORY.name)]
    pairs = ours["method"].str.rsplit(", ", n=1).str[-1]
    metric = ours["metric"].str.removeprefix(scores.METRIC.format(""))
    selected = (pairs == HELD_OUT) | (ours["metric"] == scores.OVERALL)
    return ours.assign(figure=STATEFACTORY.name + ", " + pairs + ", " + metric)[selected]
