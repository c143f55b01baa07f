"""Scatter plots of reward quality against the success of choices by these rewards, one per world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lab.results import plots

MARKS = {"predictor": "o", "placebo": "X", "oracle": "*"}


def draw_policy(points: pd.DataFrame, correlations: pd.DataFrame, chance: Mapping[str, Mapping[str, float]]) -> Figure:
    """Success against EPIC distance with 95 % intervals, one column per world and one row per way of choosing.

    points, correlations: from `statefactory.studies.reward_against_policy`. chance: way of choosing -> world -> success
    of a random choice, drawn as a dotted line. Discs are predictors, crosses placebos, the star is the oracle. The
    panels' titles have the rank correlation among predictors only.
    """
    worlds, whens = list(dict.fromkeys(points["world"])), list(dict.fromkeys(points["when"]))
    names = list(dict.fromkeys(points["method"]))
    colors = dict(zip(names, plt.get_cmap("turbo")(np.linspace(0, 1, len(names))), strict=True))
    figure, axes = plt.subplots(
        len(whens), len(worlds), figsize=(3.2 * len(worlds) + 3.2, 3.1 * len(whens) + 0.4), squeeze=False, sharey=True,
        sharex=True,
    )  # fmt: skip
    for row, previous_row, when in zip(axes, axes[:1].tolist() + axes[:-1].tolist(), whens, strict=True):
        for panel, upper_panel, world in zip(row, previous_row, worlds, strict=True):
            panel_points = points[(points["when"] == when) & (points["world"] == world)]
            if panel_points.empty:  # no tree search in this world
                panel.set_visible(False)
                upper_panel.tick_params(labelbottom=True)
                upper_panel.set_xlabel("EPIC distance")
                continue
            for point in panel_points.itertuples():
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
    x_error = [[max(0, point.distance - point.distance_low)], [max(0, point.distance_high - point.distance)]]
    y_error = [[max(0, point.success - point.ci_low)], [max(0, point.ci_high - point.success)]]
    panel.errorbar(
        point.distance, point.success, y_error, x_error, fmt=MARKS[point.kind], color=color, label=point.method,
        markersize=9 if point.kind == "oracle" else 6, elinewidth=0.8, markeredgecolor="white", markeredgewidth=0.5,
    )  # fmt: skip


def _said(correlations: pd.DataFrame, world: str, when: str) -> str:
    rows = correlations[
        (correlations["world"] == world) & (correlations["when"] == when) & (correlations["among"] == "predictors")
    ]
    if not len(rows) or rows["rho"].isna().all():
        return "no rank correlation"
    row = rows.iloc[0]
    # Resampling a single task gives no interval.
    interval = "" if pd.isna(row["ci_low"]) else f" [{row['ci_low']:.2f}, {row['ci_high']:.2f}]"
    return f"ρ = {row['rho']:.2f}{interval}, p = {row['p']:.2f}, n = {row['n']}"
