"""The four panels of the paper's Figure 3, from the tables of `sdp.anatomy`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from lab.results import plots
from sdp import anatomy

PUBLISHED = "published (other models)"
PROGRESS = [anatomy.ALL, anatomy.STALLED]
CALIBRATION = [anatomy.CERTIFIED, anatomy.FORCED, anatomy.NEITHER, anatomy.AGREEMENT]


def draw_anatomy(
    depth: pd.DataFrame,
    replans: pd.DataFrame,
    progress: pd.DataFrame,
    calibration: pd.DataFrame,
    published: pd.DataFrame,
    benchmarks: Sequence[str],
) -> Figure:
    """Cascade depth, score by Replans, progress of failed episodes and calibration of Validate, a bar a benchmark.

    Each frame: the columns of `sdp.anatomy` in percent, with `benchmark`, `evidence` and `backbone`. Bars of fewer than
    ten are hollow and say their n. published: rows of a results table with the benchmark as `metric`, and `of`, drawn
    as diamonds at the bars that they are about; of a range both ends. benchmarks: all that a figure can have, so that
    each has its colour in every one.
    """
    import seaborn

    colors = dict(zip(benchmarks, seaborn.color_palette(plots.PALETTE, len(benchmarks)), strict=True))
    figure, panels = plt.subplots(2, 2, figsize=(11, 8))
    shown = {
        "(a) cascade depth": (depth, "certifying actions, %", sorted(depth["of"].unique())),
        "(b) score by Replans": (replans, "score, %", sorted(replans["of"].unique())),
        "(c) progress of failed episodes": (progress, "certified of the plan or the hops, %", PROGRESS),
        "(d) calibration of Validate": (calibration, "right answers, or agreement, %", CALIBRATION),
    }
    for axes, (title, (frame, label, order)) in zip(panels.flat, shown.items(), strict=True):
        rows = frame[frame["of"].isin(order) & (frame["denominator"] > 0)]
        # One benchmark may lack a depth, say, that others have: bars would stand in the order in which they come.
        rows = rows.sort_values("of", key=lambda names, order=order: names.map(order.index), kind="stable")
        axes.set(title=title, xlabel="", ylabel=label, ylim=(0, 104))
        if rows.empty:  # a loop that never fails, say, has no panel (c)
            axes.text(0.5, 0.5, "no such episodes", transform=axes.transAxes, ha="center")
            axes.set(xticks=[], yticks=[])
            continue
        plots.bars_with_intervals(
            rows, "of", "share", "low", "high", hue="benchmark", axes=axes, colors=colors, n="denominator"
        )
        axes.set(xlabel="", ylabel=label)
        _mark(axes, list(dict.fromkeys(rows["of"])), published)
    plots.one_legend(figure)
    runs = calibration[calibration["of"] == anatomy.AGREEMENT]
    plots.label_evidence(figure, runs.rename(columns={"denominator": "n"}))
    return figure


def _mark(axes: Axes, categories: list[str], published: pd.DataFrame) -> None:
    """Diamonds at the published values of the bars that are there."""
    containers = [container for container in axes.containers if isinstance(container, BarContainer)]
    bars = {container.get_label(): container for container in containers}
    label = PUBLISHED
    for row in published.to_dict("records"):
        if row["metric"] not in bars or row["of"] not in categories:
            continue
        bar = bars[row["metric"]][categories.index(row["of"])]
        values = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", row["text"])]
        middle = [bar.get_x() + bar.get_width() / 2] * len(values)
        axes.plot(middle, values, "D", color="black", markersize=5, linestyle="none", label=label, clip_on=False)
        label = "_"  # one entry in the legend
