"""Rewards beside what a choice by them achieves: a scatter a world, never one over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn
from matplotlib.figure import Figure

from lab.results import plots

MARKS = {"predictor": "o", "placebo": "X", "oracle": "*"}


def draw_policy(points: pd.DataFrame, correlations: pd.DataFrame, chance: Mapping[str, Mapping[str, float]]) -> Figure:
    """Success against EPIC distance with 95 % intervals, a column a world and a row a way of choosing.

    points, correlations: of `statefactory.studies.reward_against_policy`. chance: way -> world -> what a random
    choice achieves, a dotted line. Predictors are discs, placebos crosses, the oracle a star; above each panel stands
    the rank correlation among the predictors alone.
    """
    worlds, whens = list(dict.fromkeys(points["world"])), list(dict.fromkeys(points["when"]))
    names = list(dict.fromkeys(points["method"]))
    colors = dict(zip(names, seaborn.color_palette("husl", len(names)), strict=True))
    figure, axes = plt.subplots(
        len(whens), len(worlds), figsize=(3.2 * len(worlds) + 3.2, 3.1 * len(whens) + 0.4), squeeze=False, sharey=True,
        sharex=True,
    )  # fmt: skip
    for row, before, when in zip(axes, axes[:1].tolist() + axes[:-1].tolist(), whens, strict=True):
        for panel, above, world in zip(row, before, worlds, strict=True):
            here = points[(points["when"] == when) & (points["world"] == world)]
            if here.empty:  # no trees are searched there
                panel.set_visible(False)
                above.tick_params(labelbottom=True)
                above.set_xlabel("EPIC distance")
                continue
            for point in here.itertuples():
                _mark(panel, point, colors[point.method])
            panel.axhline(chance.get(when, {}).get(world, float("nan")), color="0.5", linestyle=":", linewidth=1.2)
            panel.set_title(f"{world}, {when}\n{_said(correlations, world, when)}", fontsize="small")
            panel.set(xlim=(-0.04, 1.0), ylim=(-4, 104), xticks=(0, 0.2, 0.4, 0.6, 0.8))
    for panel in axes[-1]:
        panel.set_xlabel("EPIC distance")
    for row in axes:
        row[0].set_ylabel("success of the choice, %")
    handles = {name: handle for panel in axes.flat
               for handle, name in zip(*panel.get_legend_handles_labels(), strict=True)}  # fmt: skip
    figure.legend(handles.values(), handles, loc="outside right center", fontsize="x-small")
    plots.label_evidence(figure, points)
    return figure


def _mark(panel: Any, point: Any, color: Any) -> None:
    across = [[max(0, point.distance - point.distance_low)], [max(0, point.distance_high - point.distance)]]
    up = [[max(0, point.success - point.ci_low)], [max(0, point.ci_high - point.success)]]
    panel.errorbar(
        point.distance, point.success, up, across, fmt=MARKS[point.kind], color=color, label=point.method,
        markersize=9 if point.kind == "oracle" else 6, elinewidth=0.8, markeredgecolor="white", markeredgewidth=0.5,
    )  # fmt: skip


def _said(correlations: pd.DataFrame, world: str, when: str) -> str:
    rows = correlations[
        (correlations["world"] == world) & (correlations["when"] == when) & (correlations["among"] == "predictors")
    ]
    if not len(rows) or rows["rho"].isna().all():
        return "no rank correlation"
    row = rows.iloc[0]
    return f"ρ = {row['rho']:.2f} [{row['ci_low']:.2f}, {row['ci_high']:.2f}], p = {row['p']:.2f}, n = {row['n']}"
