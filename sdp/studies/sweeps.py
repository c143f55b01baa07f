"""Sweeps over engines: scores and calls against noise, and against the two error rates of Validate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from lab.models.judges import Errors, errors_of
from lab.results import plots
from lab.results.statistics import wilson
from lab.runs.collecting import collect
from lab.runs.study import Metric, Study, register
from lab.runs.trial import Trial
from sdp.studies.conditions import SDP, WITHOUT_REPLAN, WITHOUT_VALIDATE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Undoing goes beyond the paper (A.2: retry only). It is included because only undoing can use what Validate finds here.
UNDOING = "undoing Replan (beyond the paper)"
STUDY = register(
    Study(
        name="sdp-sweeps",
        benchmarks=("TravelPlanner",),
        conditions=(
            SDP,
            WITHOUT_VALIDATE.but("without Validate"),
            WITHOUT_REPLAN.but("without Replan"),
            SDP.but(UNDOING, "policy.undo", 3),
        ),
        metrics=(Metric("Final Pass Rate", kind="rate"),),
        against=SDP.name,
        options={"trajectories": False},
    )
)


CERTIFY, REJECT = (0.0, 0.25, 0.5, 1.0), (0.2, 0.5)  # rates to try, each with the other at 0
PLAYED = (SDP.name, UNDOING)  # the conditions with a Validate that errs


def like(trial: Trial) -> Trial:
    """A trial of STUDY on the tasks of another trial on TravelPlanner."""
    return STUDY.trial(data=trial.data, limit=trial.limit, options=trial.options)


def numbers(sweep: pd.DataFrame, validators: pd.DataFrame) -> Iterator[tuple[str, float | None]]:
    """The expected numbers of `noise_sweep` and `validator_sweep`: name and value, None for a point not played."""
    by_noise = sweep.set_index(["condition", "keep"])["rate"].to_dict()
    by_validator = validators.set_index(["condition", "validator"])["rate"].to_dict()
    values = {"undoing Replan at p = 0.4": by_noise.get((UNDOING, 0.4))}
    values |= {
        f"{name}, Validate: {validator}": by_validator.get((name, validator))
        for name in PLAYED
        for validator in ("certify=1, reject=0", "Qwen3-4B")
    }
    yield from ((name, None if value is None else round(value, 2)) for name, value in values.items())


def erring(engine: str, errors: Errors) -> str:
    """An engine whose Validate errs at two rates. engine: without rates, such as "rules@0.8"."""
    return f"{engine}?certify={errors.certify:.4f}&reject={errors.reject:.4f}"


def swept(
    trial: Trial, points: Iterable[tuple[str, Mapping[str, Any]]], workers: int = 0, cluster: str = ""
) -> pd.DataFrame:
    """The share of full scores and the model calls per task, by point, benchmark and condition.

    points: engines, each with its own columns. Columns: dataset, condition, those of the point, rate, low, high
    (percent, Wilson), calls (mean per task), n, data, evidence.
    """
    rows = []
    for engine, columns in points:
        results = collect(trial.answered_by(engine), workers, cluster, show_progress=False)
        for dataset, condition in results.parts:
            scores = results.scores_of(dataset, condition).values()
            rate, low, high = (100 * end for end in wilson(sum(scores), len(scores)))
            rows.append(
                {"dataset": dataset, "condition": condition, **columns, "rate": rate, "low": low, "high": high,
                 "calls": results.mean(dataset, condition, "calls"), "n": len(scores), "data": results.setup.data}
            )  # fmt: skip
    return pd.DataFrame(rows).assign(evidence="simulated")


def noise_sweep(trial: Trial, keeps: Sequence[float]) -> pd.DataFrame:
    """Final pass rate and calls against p of `rules@p`. trial: of STUDY. Columns: those of `swept`, and keep (p)."""
    points = ((f"rules@{keep:g}", {"keep": keep}) for keep in keeps)
    return swept(trial, points).drop(columns="dataset").assign(backbone="rules@p")


def validator_sweep(
    trial: Trial,
    engine: str,
    judges: Sequence[str],
    certify: Sequence[float] = CERTIFY,
    reject: Sequence[float] = REJECT,
) -> pd.DataFrame:
    """Final pass rate and calls against the two error rates of Validate, with both kinds of Replan.

    trial: of STUDY. engine: see `erring`. certify, reject: each is tried with the other at 0. judges: names of
    published judges (lab/models/judges.py), which have both rates.
    Columns: those of `swept`, with validator, certify and reject (shares of wrong and of right steps).
    """
    validators = {f"certify={rate:g}, reject=0": Errors(rate, 0.0) for rate in certify}
    validators |= {f"certify=0, reject={rate:g}": Errors(0.0, rate) for rate in reject}
    validators |= {name: errors_of(name) for name in judges}
    both = replace(trial, methods=PLAYED)
    points = ((erring(engine, rates), {"validator": name, **rates._asdict()}) for name, rates in validators.items())
    return swept(both, points).drop(columns="dataset").assign(backbone=engine)


def draw_sweep(sweep: pd.DataFrame) -> Figure:
    """Final pass rate, and model calls per query, against p; one line per condition."""
    import matplotlib.pyplot as plt

    figure, (rates, calls) = plt.subplots(1, 2, figsize=(10, 4))
    plots.lines_with_bands(sweep, "keep", "rate", "condition", "low", "high", rates)
    plots.lines_with_bands(sweep, "keep", "calls", "condition", "calls", "calls", calls)
    rates.set(xlabel="probability of an answer being kept, p", ylabel="final pass rate, %", ylim=(-2, 102))
    calls.set(xlabel="probability of an answer being kept, p", ylabel="model calls a query", ylim=(0, None))
    calls.get_legend().remove()
    rates.get_legend().remove()
    figure.legend(*rates.get_legend_handles_labels(), loc="outside upper center", ncols=len(STUDY.conditions))
    plots.label_evidence(figure, sweep)
    return figure


def draw_validators(sweep: pd.DataFrame) -> Figure:
    """Final pass rate against false certification, with published judges; rate and calls against false rejection."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 4))
    words = {"certify": "false certification (wrong called right)", "reject": "false rejection (right called wrong)"}
    stepped = sweep["validator"].str.startswith("certify=")
    for axes, x, y in zip(panels, ("certify", "reject", "reject"), ("rate", "rate", "calls"), strict=True):
        rows = sweep[stepped & (sweep["reject" if x == "certify" else "certify"] == 0)].sort_values(x)
        low, high = ("low", "high") if y == "rate" else (y, y)
        plots.lines_with_bands(rows, x, y, "condition", low, high, axes)
        axes.get_legend().remove()
        axes.set(xlabel=words[x], ylabel="final pass rate, %" if y == "rate" else "model calls a query", ylim=(0, None))
    for axes in panels[:2]:
        axes.set_ylim(-2, 102)
    of_judges = sweep[~stepped & (sweep["condition"] == UNDOING)]
    panels[0].plot(of_judges["certify"], of_judges["rate"], "x", color="black", label="the same with a published judge")
    for judge in of_judges.itertuples():
        panels[0].annotate(judge.validator, (judge.certify, judge.rate), (4, 6), textcoords="offset points", fontsize=8)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    plots.label_evidence(figure, sweep)
    return figure
