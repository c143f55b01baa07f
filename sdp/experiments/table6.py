"""Table 6: each mechanism removed, by Appendix C's replay and by running again; and the noise sweep beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from lab.results import plots, tables
from lab.results.statistics import compare, holm, wilson
from lab.results.verdicts import direction_verdict
from sdp.ablation import ABLATIONS, replayed
from sdp.adapters.travelplanner.adapter import Policy
from sdp.experiments.travelplanner import Results, Setup, collect
from sdp.loop import Settings

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
CONDITIONS = {
    "SDP": (Settings(), Policy()),
    "without Validate": (Settings(validate=False), Policy()),
    "without Replan": (Settings(replan=False), Policy()),
    "undoing Replan": (Settings(), Policy(undo=3)),
}


class Ablated(NamedTuple):
    """A benchmark's runs: the full loop, and the loop without each mechanism, by its name."""

    full: Results
    without: dict[str, Results]


def collect_travelplanner(
    engine: str,
    data: str = "auto",
    limit: int = 0,
    seed: int = 0,
    workers: int = 0,
    levels: Sequence[str] = ("medium", "hard"),
    cluster: str = "",
    engines: Mapping[str, str] | None = None,
) -> Ablated:
    """Run the full loop and each ablation on the same queries."""
    setup = Setup(engine=engine, engines=engines or {}, data=data, levels=tuple(levels), limit=limit, seed=seed)
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
    import pandas as pd

    full, lines = ablated.full, []
    compared = {name: compare(run.finals, full.finals) for name, run in ablated.without.items()}
    adjusted = holm([c.p for c in compared.values()])
    for (name, c), p in zip(compared.items(), adjusted, strict=True):
        d, verdict = c.difference, str(direction_verdict(c, -1, p)) if full.by_a_model else ""
        numbers = (c.n, 100 * d.value, 100 * d.low, 100 * d.high, c.wins, c.losses, c.p_value, c.mcnemar, p)
        lines.append((name, *numbers, verdict))
    counts = ["n", "difference", "low", "high", "gained", "lost"]
    columns = ["condition", *counts, "p (permutation)", "p (McNemar)", "p (Holm)", "verdict"]
    return pd.DataFrame(lines, columns=columns).assign(evidence=full.evidence, backbone=full.backbone)


def noise_sweep(
    keeps: Sequence[float], data: str = "auto", limit: int = 0, seed: int = 0, workers: int = 0, cluster: str = ""
) -> pd.DataFrame:
    """Final pass rate and model calls a query against p of `rules@p`, with and without Validate and Replan.

    Columns: condition, keep, rate, low, high (percent), calls (mean a query), n.
    """
    import pandas as pd

    lines = []
    for keep, (name, (settings, policy)) in product(keeps, CONDITIONS.items()):
        base = Setup(engine=f"rules@{keep:g}", data=data, limit=limit, seed=seed, trajectories=False)
        setup = replace(base, settings=settings, policy=policy)
        run = collect(setup, workers, cluster, show_progress=False)
        rate = wilson(sum(v.final for v in run.verdicts), len(run.tasks))
        calls = run.total("calls") / len(run.tasks)
        lines.append((name, keep, 100 * rate.value, 100 * rate.low, 100 * rate.high, calls, len(run.tasks)))
    table = pd.DataFrame(lines, columns=["condition", "keep", "rate", "low", "high", "calls", "n"])
    return table.assign(evidence="simulated", backbone="rules@p")


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


def _scores(results: Results) -> dict[str, float]:
    return {task: 100 * final for task, final in results.finals.items()}


def _row(method: str, run: Results, metric: str, scores: Sequence[float], source: str = "this run") -> tables.Row:
    about = (run.evidence, source)
    if set(scores) <= {0.0, 100.0}:  # a rate, which a bootstrap would call certain where all tasks agree
        passes = sum(score > 0 for score in scores)
        return tables.rate_row(method, run.backbone, metric, passes, len(scores), *about, run.outcomes())
    return tables.mean_row(method, run.backbone, metric, scores, *about, outcomes=run.outcomes(), top=100.0)
