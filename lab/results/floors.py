"""Floors and ceilings of benchmarks as numbers: headroom, and the two ends between which a method's score lies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.models import engines
from lab.results import plots
from lab.results.stored import CEILING as CEILING
from lab.results.stored import FLOOR as FLOOR
from lab.results.stored import METHOD, Scores, Stored

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# role: "floor" or "ceiling". better: which scores are, "higher" or "lower". engine: "none" where nobody is asked.
COLUMNS = (
    "benchmark", "agent", "role", "metric", "better", "value", "ci_low", "ci_high", "n", "data", "evidence", "engine",
    "run",
)  # fmt: skip


class Ends(NamedTuple):
    """A benchmark's best floor, the agent that reaches it, and its ceiling; NaN for a ceiling that is not known."""

    floor: float
    agent: str
    ceiling: float


def headroom(value: float, floor: float, ceiling: float) -> float:
    """The share of the way from the best floor to the ceiling that a method goes: 0 is no better than no skill.

    Below 0 it is worse than an agent without skill, above 1 better than the ceiling. All three in one unit; lower
    scores may be the better ones. NaN where one of them is, or where floor and ceiling are the same.
    """
    return (value - floor) / (ceiling - floor) if ceiling != floor else math.nan


def ends(panel: pd.DataFrame) -> dict[str, Ends]:
    """Benchmark -> its two ends, from a table with the columns of COLUMNS that has a floor for each."""
    ends_of = {}
    for name, rows in panel.groupby("benchmark", sort=False):
        floors, ceilings = (rows[rows["role"] == role] for role in (FLOOR, CEILING))
        lower = (rows["better"] == "lower").any()
        best = floors.loc[floors["value"].idxmin() if lower else floors["value"].idxmax()]
        known = ceilings["value"].min() if lower else ceilings["value"].max()
        ends_of[str(name)] = Ends(float(best["value"]), str(best["agent"]), float(known))
    return ends_of


def of_models(stored: Stored) -> pd.DataFrame:
    """Every stored row of a real model with its headroom: a row a benchmark, condition and engine, as `standing`."""
    import pandas as pd

    rows = [
        {"run": scores.run, **standing(scores, stored)}
        for scores in stored.scores.values()
        if scores.role == METHOD
        and scores.evidence == "measured"
        and not engines.parse(scores.side.engine).kinds.isdisjoint(engines.MODELS)
    ]
    return pd.DataFrame(rows)


def standing(scores: Scores, stored: Stored, lower: bool = False) -> dict[str, Any]:
    """One row of a method between the best agent without skill and the ceiling, values in percent.

    lower: whether lower scores are the better ones.

    Both are means over the row's own tasks; where no agent without skill has played all of these, over the benchmark's
    tasks of the same data ("floor on": "other tasks"), and NaN where there are none.
    """
    same_data = [
        agent
        for side, agent in stored.scores.items()
        if side.benchmark == scores.side.benchmark and agent.role != METHOD and agent.data == scores.data
    ]
    whole = [agent for agent in same_data if scores.values.keys() <= agent.values.keys()]
    means = {
        role: {
            agent.side.condition: agent.mean(scores.values if whole else agent.values)
            for agent in whole or same_data
            if agent.role == role
        }
        for role in (FLOOR, CEILING)
    }
    best = (min if lower else max)(means[FLOOR], key=means[FLOOR].__getitem__, default="")
    value, floor = scores.mean(scores.values), means[FLOOR].get(best, math.nan)
    # No score of a row of a model is above 1, or below 0; without an expert it is the ceiling.
    ceiling = min(means[CEILING].values(), default=0.0) if lower else max(means[CEILING].values(), default=1.0)
    return {
        "benchmark": scores.side.benchmark, "method": scores.side.condition, "model": scores.side.engine,
        "value": 100 * value, "best floor": 100 * floor, "floor agent": best, "ceiling": 100 * ceiling,
        "headroom": headroom(value, floor, ceiling), "n": len(scores.values), "data": scores.data,
        "floor on": "the same tasks" if whole else "other tasks" if same_data else "",
    }  # fmt: skip


def draw(panel: pd.DataFrame) -> Figure:
    """The agents of each benchmark as dots with intervals, and a grey bar from its best floor to its ceiling.

    Behind the name of a benchmark that was not played on official data stands the data.
    Benchmarks whose lower scores are the better ones have axes of their own.
    """
    import matplotlib.pyplot as plt
    import seaborn

    synthetic = panel["benchmark"] + " (" + panel["data"] + ")"
    panel = panel.assign(benchmark=synthetic.where(panel["data"] != "official", panel["benchmark"]))
    parts = [rows for _, rows in panel.groupby("better")]
    sizes = [rows["benchmark"].nunique() for rows in parts]
    floors = panel[panel["role"] == FLOOR]
    names = list(dict.fromkeys(floors["agent"]))
    colors = dict(zip(names, seaborn.color_palette(plots.PALETTE, len(names)), strict=True))
    shape = (8, 0.45 * sum(sizes) + 0.9 * len(sizes) + 0.8)
    figure, axes = plt.subplots(len(parts), 1, figsize=shape, height_ratios=sizes, squeeze=False)
    for axis, rows in zip(axes[:, 0], parts, strict=True):
        lines = list(dict.fromkeys(rows["benchmark"]))
        both = [ends(rows)[name] for name in lines]
        axis.barh(range(len(lines)), [e.ceiling - e.floor for e in both], 0.7, [e.floor for e in both], color="0.9")
        dots = rows[rows["role"] == FLOOR]
        plots.dots_with_intervals(dots, "benchmark", "value", "ci_low", "ci_high", "agent", axis, colors)
        axis.plot([e.ceiling for e in both], range(len(lines)), "|", color="black", markersize=16, label="ceiling")
        lower = (rows["better"] == "lower").all()
        axis.legend()
        axis.set(xlabel=f"{rows['metric'].iloc[0]}, lower is better" if lower else "score, %")
        axis.set_axisbelow(True)
        if not lower:
            axis.set_xlim(-2, 102)  # a dot at an end is to be seen whole
    plots.one_legend(figure, columns=4)
    plots.label_evidence(figure, panel.rename(columns={"engine": "backbone"}))
    return figure
