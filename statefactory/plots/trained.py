"""Figures of reward models: heat maps of training against test domain, and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from lab.results import plots
from statefactory.experiments.scores import METRIC, metrics

TRAINED = ", trained on "
Point = tuple[int, float, float]  # step, loss, accuracy
SMOOTHED = 20  # window of the moving average, in points
RANGE = (0.1, 0.75)  # of the color scale: from near the best value to above a constant predictor's .707


def draw_matrix(panels: Mapping[str, pd.DataFrame]) -> Figure:
    """Heat maps with a row per training domain and a column per test domain; in-domain cells are framed.

    panels: title -> results table, whose methods are named "..., trained on ...". Other methods have a row of their
    own, with their full name. Intervals, if any, are printed below the values. Raises ValueError if `panels` is empty.
    """
    if not panels:
        raise ValueError("no panel to draw; give a results table by its title")
    names = [metric.removeprefix(METRIC.format("")) for metric in metrics()]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(1.2 + 5.4 * len(panels), 4.6), layout="constrained", squeeze=False
    )
    for panel, (title, rows) in zip(axes[0], panels.items(), strict=True):
        cells = rows[rows["metric"].isin(metrics())].assign(
            row=rows["method"].map(lambda method: method.partition(TRAINED)[2] or method),
            column=rows["metric"].str.removeprefix(METRIC.format("")),
        )
        order = list(dict.fromkeys(cells["row"]))
        values = cells.pivot(index="row", columns="column", values="value").loc[order, names]
        labelled = cells.assign(text=[_cell(row) for row in cells.itertuples()])
        texts = labelled.pivot(index="row", columns="column", values="text").loc[order, names].fillna("")
        panel.imshow(values, cmap="viridis_r", vmin=RANGE[0], vmax=RANGE[1], aspect="auto")
        for (row, column), value in np.ndenumerate(values.to_numpy()):
            color = "white" if value > sum(RANGE) / 2 else "black"
            panel.text(column, row, texts.iat[row, column], ha="center", va="center", fontsize=8, color=color)
        for column, name in enumerate(names):
            if name in order:
                corner = column - 0.5, order.index(name) - 0.5
                panel.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor="#c0392b", linewidth=2))
        panel.set(xticks=range(len(names)), xticklabels=names, yticks=range(len(order)), yticklabels=order)
        panel.grid(visible=False)
        panel.set(title=title, xlabel="tried on", ylabel="trained on")
        panel.tick_params(axis="x", rotation=35)
        panel.tick_params(axis="y", rotation=0)
    everything = pd.concat(list(panels.values()), ignore_index=True)
    figure.supxlabel(plots.evidence_line(everything), x=0.995, ha="right", fontsize="x-small", color="0.35")
    return figure


def _cell(row: object) -> str:
    value, low, high = (getattr(row, name) for name in ("value", "ci_low", "ci_high"))
    inside = f".{round(1000 * value):03d}" if value < 1 else f"{value:.3f}"
    return inside if low != low else f"{inside}\n[{low:.2f}, {high:.2f}]".replace("0.", ".")


def draw_learning(curves: Mapping[str, Sequence[Point]]) -> Figure:
    """Smoothed loss and accuracy of trainings, by name. A single training also shows the raw points, in a pale line."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for name, points in curves.items():
        frame = pd.DataFrame(points, columns=["step", "loss", "accuracy"]).set_index("step")
        smooth = frame.rolling(min(SMOOTHED, max(len(frame) // 5, 1)), min_periods=1).mean()
        for panel, column in zip(axes, frame, strict=True):
            (line,) = panel.plot(smooth.index, smooth[column], label=name)
            if len(curves) == 1:
                panel.plot(frame.index, frame[column], color=line.get_color(), alpha=0.25, linewidth=0.8)
    axes[0].set(xlabel="step", ylabel="loss")
    axes[1].set(xlabel="step", ylabel="comparisons in order", ylim=(0, 1.03))
    if len(curves) > 1:
        axes[1].legend(loc="lower right", fontsize="small")
    figure.supxlabel("measured", x=0.995, ha="right", fontsize="x-small", color="0.35")
    return figure
