"""Floors and ceilings of benchmarks as numbers: headroom, and the two ends between which a method's score lies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from lab.results import plots
from lab.results.stored import CEILING as CEILING
from lab.results.stored import FLOOR as FLOOR

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
    found = {}
    for name, rows in panel.groupby("benchmark", sort=False):
        floors, ceilings = (rows[rows["role"] == role] for role in (FLOOR, CEILING))
        lower = (rows["better"] == "lower").any()
        best = floors.loc[floors["value"].idxmin() if lower else floors["value"].idxmax()]
        known = ceilings["value"].min() if lower else ceilings["value"].max()
        found[str(name)] = Ends(float(best["value"]), str(best["agent"]), float(known))
    return found


def draw(panel: pd.DataFrame) -> Figure:
    """The agents of each benchmark as dots with intervals, and a grey bar from its best floor to its ceiling.

    Benchmarks whose lower scores are the better ones have axes of their own.
    """
    import matplotlib.pyplot as plt
    import seaborn

    parts = [rows for _, rows in panel.groupby("better")]
    sizes = [rows["benchmark"].nunique() for rows in parts]
    floors = panel[panel["role"] == FLOOR]
    names = list(dict.fromkeys(floors["agent"]))
    colors = dict(zip(names, seaborn.color_palette(plots.PALETTE, len(names)), strict=True))
    shape = (8, 0.45 * sum(sizes) + 0.9 * len(sizes) + 0.8)
    figure, axes = plt.subplots(len(parts), 1, figsize=shape, height_ratios=sizes, squeeze=False)
    for axis, rows in zip(axes[:, 0], parts, strict=True):
        lines = list(dict.fromkeys(rows["benchmark"]))
        found = [ends(rows)[name] for name in lines]
        axis.barh(range(len(lines)), [e.ceiling - e.floor for e in found], 0.7, [e.floor for e in found], color="0.9")
        of = rows[rows["role"] == FLOOR]
        plots.dots_with_intervals(of, "benchmark", "value", "ci_low", "ci_high", "agent", axis, colors)
        axis.plot([e.ceiling for e in found], range(len(lines)), "|", color="black", markersize=16, label="ceiling")
        lower = (rows["better"] == "lower").all()
        axis.legend()
        axis.set(xlabel=f"{rows['metric'].iloc[0]}, lower is better" if lower else "score, %")
        axis.set_axisbelow(True)
        if not lower:
            axis.set_xlim(-2, 102)  # a dot at an end is to be seen whole
    plots.one_legend(figure, columns=5)
    plots.label_evidence(figure, panel.rename(columns={"engine": "backbone"}))
    return figure
