"""Table 6: each mechanism removed, by Appendix C's replay and by running again; sweeps of noise and of validators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from lab.models.judges import Errors, errors_of
from lab.results import plots, tables
from lab.results.statistics import wilson
from sdp.ablation import ABLATIONS, replayed
from sdp.experiments import benchmark
from sdp.experiments.travelplanner import Results, Setup, collect

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Table 6's columns in the paper's order, and the metric each is scored by.
BENCHMARKS = {
    "TravelPlanner": "Final Pass Rate",
    "AssistantBench": "Accuracy",
    "ScienceWorld": "ScienceWorld score",
    "HotpotQA": "HotpotQA F1",
    "MuSiQue": "MuSiQue F1",
}
FULL = "full"
# Undoing goes beyond the paper (A.2: retry only). It is there because it alone can act on what Validate finds here.
UNDOING = "undoing Replan (beyond the paper)"
CONDITIONS: dict[str, Callable[[Setup], Setup]] = {
    "SDP": lambda setup: setup,
    "without Validate": lambda setup: replace(setup, settings=replace(setup.settings, validate=False)),
    "without Replan": lambda setup: replace(setup, settings=replace(setup.settings, replan=False)),
    UNDOING: lambda setup: replace(setup, policy=replace(setup.policy, undo=3)),
}


class Ablated(NamedTuple):
    """A benchmark's runs: the full loop, and the loop without each mechanism, by its name."""

    full: Results
    without: dict[str, Results]


def collect_travelplanner(setup: Setup, workers: int = 0, cluster: str = "") -> Ablated:
    """Run the full loop and each ablation on the same queries."""
    setups = {a.name: replace(setup, settings=a.without(setup.settings)) for a in ABLATIONS}
    without = {name: collect(ablated, workers, cluster) for name, ablated in setups.items()}
    return Ablated(collect(setup, workers, cluster), without)


def rows(ablated: Ablated, benchmark: str = "TravelPlanner") -> list[tables.Row]:
    """Full, replayed and re-run scores in percent, as rows of a results table."""
    full = _scores(ablated.full)
    found = [_row(FULL, ablated.full, benchmark, list(full.values()))]
    for ablation in ABLATIONS:
        trajectories = {trajectory.task: trajectory for trajectory in ablated.full.trajectories}
        # A failed episode has no trajectory to replay; its score of 0 stays in the mean.
        replay = [replayed(ablation, trajectories[t], s) if t in trajectories else 0.0 for t, s in full.items()]
        again = ablated.without[ablation.name]
        found.append(_row(f"{ablation.name}, replay", ablated.full, benchmark, replay, "this run, Appendix C"))
        found.append(_row(f"{ablation.name}, run again", again, benchmark, list(_scores(again).values())))
    return found


def layout(results: pd.DataFrame) -> pd.DataFrame:
    """Table 6's shape: a row a condition and backbone, a column a benchmark; what nobody could recover stays empty."""
    import pandas as pd

    published = tables.published("Table 6 ablation", "sdp")
    names = {metric: benchmark for benchmark, metric in BENCHMARKS.items()} | {name: name for name in BENCHMARKS}
    published = published[published["metric"].isin(names)]
    # The paper's own ablated scores are replay estimates (Appendix C), so they stand beside ours of that kind.
    methods = {ablation.name: f"{ablation.name}, replay" for ablation in ABLATIONS}
    published = published.assign(metric=published["metric"].map(names), method=published["method"].replace(methods))
    order = [FULL, *(f"{ablation.name}, {way}" for ablation in ABLATIONS for way in ("replay", "run again"))]
    whole = pd.concat([published, results], ignore_index=True)
    return tables.side_by_side(
        whole.sort_values("method", key=lambda m: m.map(order.index), kind="stable"), list(BENCHMARKS)
    )


def comparisons(ablated: Ablated) -> pd.DataFrame:
    """Each run without a mechanism against the full loop, task by task: difference in points, and whether by chance.

    p (Holm): McNemar's, for all rows together. verdict: of a real model; the paper's claim is that each removal costs.
    """
    return benchmark.comparisons(ablated.full, ablated.without, 100, claimed=-1)


def noise_sweep(base: Setup, keeps: Sequence[float], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """Final pass rate and model calls a query against p of `rules@p`, with and without Validate and Replan.

    Columns: condition, keep, rate, low, high (percent, Wilson), calls (mean a query), n.
    """
    import pandas as pd

    lines = []
    for keep, (name, change) in product(keeps, CONDITIONS.items()):
        setup = change(replace(base.answered_by(f"rules@{keep:g}"), trajectories=False))
        lines.append({"condition": name, "keep": keep} | _rate(setup, workers, cluster))
    return pd.DataFrame(lines).assign(evidence="simulated", backbone="rules@p")


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
    return pd.DataFrame(lines).assign(evidence="simulated", backbone=engine)


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


def _scores(results: Results) -> dict[str, float]:
    return {task: 100 * final for task, final in results.finals.items()}


def _row(method: str, run: Results, metric: str, scores: Sequence[float], source: str = "this run") -> tables.Row:
    about = (run.evidence, source)
    if set(scores) <= {0.0, 100.0}:  # a rate, which a bootstrap would call certain where all tasks agree
        passes = sum(score > 0 for score in scores)
        return tables.rate_row(method, run.backbone, metric, passes, len(scores), *about, run.outcomes())
    return tables.mean_row(method, run.backbone, metric, scores, *about, outcomes=run.outcomes(), top=100.0)
