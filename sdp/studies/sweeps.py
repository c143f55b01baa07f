"""Sweeps on TravelPlanner: final passes and calls against noise, and against the two error rates of Validate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from lab.models.judges import Errors, errors_of
from lab.results import plots
from lab.results.statistics import wilson
from lab.runs.collecting import collect
from sdp.experiments.travelplanner import Setup

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Undoing goes beyond the paper (A.2: retry only). It is there because it alone can act on what Validate finds here.
UNDOING = "undoing Replan (beyond the paper)"
CONDITIONS: dict[str, Callable[[Setup], Setup]] = {
    "SDP": lambda setup: setup,
    "without Validate": lambda setup: replace(setup, settings=replace(setup.settings, validate=False)),
    "without Replan": lambda setup: replace(setup, settings=replace(setup.settings, replan=False)),
    UNDOING: lambda setup: replace(setup, policy=replace(setup.policy, undo=3)),
}


def noise_sweep(base: Setup, keeps: Sequence[float], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """Final pass rate and model calls a query against p of `rules@p`, with and without Validate and Replan.

    Columns: condition, keep, rate, low, high (percent, Wilson), calls (mean a query), n.
    """
    import pandas as pd

    lines = []
    for keep, (name, change) in product(keeps, CONDITIONS.items()):
        setup = change(replace(base.answered_by(f"rules@{keep:g}"), trajectories=False))
        lines.append({"condition": name, "keep": keep} | _rate(setup, workers, cluster))
    return pd.DataFrame(lines).assign(data=base.decided().data, evidence="simulated", backbone="rules@p")


def validator_sweep(
    base: Setup,
    engine: str,
    certify: Sequence[float],
    reject: Sequence[float],
    judges: Sequence[str],
    workers: int = 0,
    cluster: str = "",
) -> pd.DataFrame:
    """Final pass rate and model calls a query against the two error rates of Validate, with both kinds of Replan.

    engine: noisy rules without rates of Validate, such as "rules@0.8". certify, reject: each is tried with the other at
    0. judges: names of published judges (lab/models/judges.py), which have both rates.
    Columns: condition, validator, certify, reject (shares of wrong and of right steps), rate, low, high, calls, n.
    """
    import pandas as pd

    validators = {f"certify={rate:g}, reject=0": Errors(rate, 0.0) for rate in certify}
    validators |= {f"certify=0, reject={rate:g}": Errors(0.0, rate) for rate in reject}
    validators |= {name: errors_of(name) for name in judges}
    lines = []
    for (validator, errors), name in product(validators.items(), ("SDP", UNDOING)):
        noisy = f"{engine}?certify={errors.certify:.4f}&reject={errors.reject:.4f}"
        setup = CONDITIONS[name](replace(base.answered_by(noisy), trajectories=False))
        lines.append({"condition": name, "validator": validator} | errors._asdict() | _rate(setup, workers, cluster))
    return pd.DataFrame(lines).assign(data=base.decided().data, evidence="simulated", backbone=engine)


def draw_sweep(sweep: pd.DataFrame) -> Figure:
    """Final pass rate, and model calls a query, against p; a line a condition."""
    import matplotlib.pyplot as plt

    figure, (rates, calls) = plt.subplots(1, 2, figsize=(10, 4))
    plots.lines_with_bands(sweep, "keep", "rate", "condition", "low", "high", rates)
    plots.lines_with_bands(sweep, "keep", "calls", "condition", "calls", "calls", calls)
    rates.set(xlabel="probability of an answer being kept, p", ylabel="final pass rate, %", ylim=(-2, 102))
    calls.set(xlabel="probability of an answer being kept, p", ylabel="model calls a query", ylim=(0, None))
    calls.get_legend().remove()
    rates.get_legend().remove()
    figure.legend(*rates.get_legend_handles_labels(), loc="outside upper center", ncols=len(CONDITIONS))
    plots.label_evidence(figure, sweep)
    return figure


def draw_validators(sweep: pd.DataFrame) -> Figure:
    """Final pass rate against false certification, with the published judges, and rate and calls against rejection."""
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


def _rate(setup: Setup, workers: int, cluster: str) -> dict[str, float]:
    """The final pass rate of a run in percent with its Wilson interval, its mean calls a query, and n."""
    run = collect(setup, workers, cluster, show_progress=False)
    rate, n = wilson(sum(v.final for v in run.verdicts), len(run.tasks)), len(run.tasks)
    values = {"rate": 100 * rate.value, "low": 100 * rate.low, "high": 100 * rate.high}
    return values | {"calls": run.total("calls") / n, "n": n}
