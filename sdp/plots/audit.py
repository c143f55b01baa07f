"""Pictures of the audit of Validate: the two error rates of judges, and what such rates do to SDP's score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lab.models.judges import Errors
from lab.results import plots

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FINE = 101  # points of an axis between which a colour is interpolated


def draw_rates(rows: pd.DataFrame, metrics: Sequence[str], ours: str) -> Figure:
    """A dot and its interval for each judge, a panel a metric, in the order of the first metric.

    rows: a results table. ours: the method whose dots are coloured.
    """
    import matplotlib.pyplot as plt

    first = rows[rows["metric"] == metrics[0]].sort_values("value", ascending=False)
    order = {key: place for place, key in enumerate(zip(first["method"], first["backbone"], strict=True))}
    size = (4.2 * len(metrics), 1.2 + 0.27 * len(order))
    figure, panels = plt.subplots(1, len(metrics), figsize=size, sharey=True, squeeze=False)
    for axes, metric in zip(panels[0], metrics, strict=True):
        for row in rows[rows["metric"] == metric].itertuples():
            place, color = order[row.method, row.backbone], "C1" if row.method == ours else "C0"
            axes.plot([row.ci_low, row.ci_high], [place, place], color=color, linewidth=1.6)
            axes.plot(row.value, place, "o", color=color, markersize=5)
        axes.set(xlabel=metric, xlim=(-2, 102))
        axes.grid(axis="y", visible=False)
    names = [f"{ours}: {backbone}" if method == ours else backbone for method, backbone in order]
    panels[0][0].set_yticks(range(len(order)), names, fontsize="small")
    plots.label_evidence(figure, rows)
    return figure


def draw_surface(surface: pd.DataFrame, errors: Mapping[str, Errors], named: Sequence[str] = ()) -> Figure:
    """SDP's score over both error rates, a panel a dataset: dots were played, colours between them are interpolated.

    errors: judges, drawn as crosses; those outside of the grid are left out. named: those that are labelled.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    datasets = list(dict.fromkeys(surface["dataset"]))
    figure, panels = plt.subplots(1, len(datasets), figsize=(5.6 * len(datasets), 4.6), sharey=True, squeeze=False)
    levels = np.linspace(0, 100, 21)
    for axes, dataset in zip(panels[0], datasets, strict=True):
        played = surface[surface["dataset"] == dataset]
        colors = _filled(axes, played, levels)
        axes.plot(played["certify"], played["reject"], "o", color="white", markeredgecolor="0.2", label="played")
        _judges(axes, errors, played["reject"].max(), named)
        axes.set(title=dataset, xlabel="false certification (wrong steps certified)")
    panels[0][0].set_ylabel("false rejection (right steps rejected)")
    figure.colorbar(colors, ax=panels[0].tolist(), label="exact match, %, interpolated between played points")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    plots.label_evidence(figure, surface)
    return figure


def _filled(axes: Axes, played: pd.DataFrame, levels: Sequence[float]) -> object:
    """Bands of equal score, bilinear between the played points."""
    import numpy as np
    from scipy.interpolate import RegularGridInterpolator

    grid = played.pivot(index="certify", columns="reject", values="score")
    ends = [axis.to_numpy(float) for axis in (grid.index, grid.columns)]
    fine = np.meshgrid(*(np.linspace(each.min(), each.max(), FINE) for each in ends), indexing="ij")
    scores = RegularGridInterpolator(tuple(ends), grid.to_numpy(float))(np.stack(fine, axis=-1))
    return axes.contourf(*fine, scores, levels=levels, cmap="viridis")


def _judges(axes: Axes, errors: Mapping[str, Errors], most: float, named: Sequence[str]) -> None:
    inside = {name: one for name, one in errors.items() if one.reject <= most}
    rates = [*zip(*inside.values(), strict=True)] or [(), ()]
    axes.plot(*rates, "x", color="red", markersize=6, label="rates of published judges and of recorded models")
    for name in named:
        if name in inside:
            axes.annotate(name, inside[name], (3, 7), textcoords="offset points", fontsize=8, color="white",
                          rotation=28)  # fmt: skip
