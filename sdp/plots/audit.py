"""Pictures of the audit of Validate: the two error rates of judges, and what such rates do to SDP's score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure

from lab.models.judges import Errors
from lab.results import plots
from sdp.studies.validate_surface import DATASETS, VERDICTS, between

FINE = 101  # points of an axis between which a colour is interpolated
MARKS = ("X", "P", "^", "s")


def draw_rates(rows: pd.DataFrame, metrics: Sequence[str], ours: str) -> Figure:
    """A dot and its interval for each judge, a panel a metric, in the order of the first metric.

    rows: a results table; a metric that it lacks has no panel. ours: the method whose dots are coloured.
    """
    metrics = [metric for metric in metrics if (rows["metric"] == metric).any()]
    first = rows[rows["metric"] == metrics[0]].sort_values("value", ascending=False)
    order = {key: line for line, key in enumerate(zip(first["method"], first["backbone"], strict=True))}
    size = (2.6 + 3.2 * len(metrics), 1.4 + 0.27 * len(order))
    figure, panels = plt.subplots(1, len(metrics), figsize=size, sharey=True, squeeze=False)
    for axes, metric in zip(panels[0], metrics, strict=True):
        for row in rows[rows["metric"] == metric].itertuples():
            line, color = order[row.method, row.backbone], "C1" if row.method == ours else "C0"
            axes.plot([row.ci_low, row.ci_high], [line, line], color=color, linewidth=1.6)
            axes.plot(row.value, line, "o", color=color, markersize=5)
        axes.set(xlabel=metric, xlim=(-2, 102))
        axes.grid(axis="y", visible=False)
    names = [f"{ours}: {backbone}" if method == ours else backbone for method, backbone in order]
    panels[0][0].set_yticks(range(len(order)), names, fontsize="small")
    judges = rows["method"] != ours
    plots.label_evidence(figure, rows.assign(backbone=rows["backbone"].mask(judges, "published judges")))
    return figure


def draw_surface(
    surface: pd.DataFrame, errors: Mapping[str, Mapping[str, Errors]], named: Sequence[str] = ()
) -> Figure:
    """SDP's score over both error rates, a column a dataset and a row a kind of verdicts.

    Dots were played; colours between them are interpolated. errors: what a group of judges is -> their rates, drawn as
    one kind of mark; those outside of the grid are left out. named: judges of the first group that are labelled.
    """
    shape = (len(VERDICTS), len(DATASETS))
    figure, panels = plt.subplots(*shape, figsize=(10.5, 8.6), sharex=True, sharey=True, squeeze=False)
    levels = np.linspace(0, 100, 21).tolist()
    for line, verdicts in zip(panels, VERDICTS, strict=True):
        for axes, dataset in zip(line, DATASETS, strict=True):
            rows = surface[(surface["dataset"] == dataset) & (surface["verdicts"] == verdicts)]
            colors = _filled(axes, rows, levels)
            axes.plot(rows["certify"], rows["reject"], "o", color="white", markeredgecolor="0.2", label="played",
                      clip_on=False)  # fmt: skip
            _mark(axes, errors, float(rows["reject"].max()), named)
            axes.set_title(f"{dataset}, {verdicts}")
    for axes in panels[-1]:
        axes.set_xlabel("false certification (of wrong steps)")
    for line in panels:
        line[0].set_ylabel("false rejection (of right steps)")
    figure.colorbar(colors, ax=panels.ravel().tolist(), label="exact match, %, interpolated")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    plots.label_evidence(figure, surface)
    return figure


def _filled(axes: Axes, rows: pd.DataFrame, levels: Sequence[float]) -> QuadContourSet:
    """Bands of equal score, bilinear between the played points."""
    ends = [(float(rows[name].min()), float(rows[name].max())) for name in ("certify", "reject")]
    certify, reject = np.meshgrid(*(np.linspace(low, high, FINE) for low, high in ends), indexing="ij")
    return axes.contourf(certify, reject, between(rows)(np.stack([certify, reject], axis=-1)), levels, cmap="viridis")


def _mark(axes: Axes, errors: Mapping[str, Mapping[str, Errors]], most: float, named: Sequence[str]) -> None:
    for mark, (group, judges) in zip(MARKS, errors.items(), strict=False):
        inside = {name: rates for name, rates in judges.items() if rates.reject <= most}
        points = [*zip(*inside.values(), strict=True)] or [(), ()]
        color = "red" if mark == MARKS[0] else "white"
        axes.plot(*points, mark, color=color, markeredgecolor="0.1", markeredgewidth=0.6, markersize=7, label=group)
    for name, rates in next(iter(errors.values()), {}).items():
        if name in named and rates.reject <= most:
            axes.annotate(name, rates, (3, 7), textcoords="offset points", fontsize=8, color="white", rotation=28)
