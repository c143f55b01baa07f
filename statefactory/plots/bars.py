"""Horizontal bar charts: one row a bar, grouped by name, so that long names stay legible."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

PALETTE = ("#6aaed6", "#f0b04f", "#8fd0b8", "#c99ac4", "#d8c26a", "#a0a0d8")
PUBLISHED = "0.87"
EDGE = "0.45"
BREAK = 0.7  # between names, in rows


class Bar(NamedTuple):
    """Where a name's bar of a series lies, and how it looks. color, edge: as matplotlib has them."""

    name: str
    series: str
    y: float
    color: str | tuple[float, ...]
    hatch: str = ""
    edge: str = EDGE


def labelled(results: pd.DataFrame, column: str) -> pd.DataFrame:
    """Results with a name, from `column`, and a series: how the number came to be, and with which backbone."""
    backbones = [f" · {name}" if isinstance(name, str) and name else "" for name in results["backbone"]]
    series = results["evidence"] + (" · backbone as named" if column == "backbone" else backbones)
    series = series.where(results["evidence"] != "published", "published")
    return results.assign(name=results[column], series=series)


def colors(series: Sequence[str]) -> dict[str, str]:
    """A grey for what is published, and a color for each other series, in the order given."""
    own = [name for name in dict.fromkeys(series) if name != "published"]
    return {"published": PUBLISHED} | {name: PALETTE[number % len(PALETTE)] for number, name in enumerate(own)}


def laid(frame: pd.DataFrame, names: Sequence[str], look: Mapping[str, str]) -> list[Bar]:
    """Bars from top to bottom: by name, published first. look: series -> color."""
    bars: list[Bar] = []
    y = 0.0
    for name in names:
        there = set(frame.loc[frame["name"] == name, "series"])
        for series in (series for series in look if series in there):
            bars.append(Bar(name, series, y, look[series]))
            y += 1
        y += BREAK if there else 0
    return bars


def values(frame: pd.DataFrame, metric: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Value and interval by name and series; empty cells are left out. Raises ValueError for two values of one bar."""
    found: dict[tuple[str, str], tuple[float, float, float]] = {}
    for cell in frame[(frame["metric"] == metric) & frame["value"].notna()].to_dict("records"):
        key = cell["name"], cell["series"]
        if key in found:
            raise ValueError(f"two values of {metric} for {key[0]}, {key[1]}; keep one of them")
        found[key] = cell["value"], cell["ci_low"], cell["ci_high"]
    return found


def draw(axes: Axes, bars: Sequence[Bar], frame: pd.DataFrame, metric: str, decimals: int = 2) -> None:
    """Bars with their intervals, and their values behind them."""
    import numpy as np

    known = values(frame, metric)
    for bar in (bar for bar in bars if (bar.name, bar.series) in known):
        value, low, high = known[bar.name, bar.series]
        axes.barh(bar.y, value, 0.86, color=bar.color, edgecolor=bar.edge, hatch=bar.hatch, linewidth=0.7)
        # Published values come without intervals.
        end = value if np.isnan(high) else high
        if not np.isnan(high):
            whisker = [[max(0, value - low)], [max(0, high - value)]]
            axes.errorbar(value, bar.y, xerr=whisker, fmt="none", ecolor="0.2", elinewidth=1.2, capsize=2.5)
        axes.annotate(f"{value:.{decimals}f}", (end, bar.y), (4, 0), textcoords="offset points", va="center",
                      fontsize="x-small", color="0.25")  # fmt: skip
    ends = [value if np.isnan(high) else high for value, _, high in known.values()]
    axes.set(xlim=(0, max(ends, default=1) * 1.28), ylim=(max([bar.y for bar in bars], default=0) + 0.7, -0.7))
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color="0.92")
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", labelsize="x-small")


def name_rows(axes: Axes, bars: Sequence[Bar], room: int = 26) -> None:
    """The names, each in the middle of its bars, on lines of `room` characters."""
    places: dict[str, list[float]] = {}
    for bar in bars:
        places.setdefault(bar.name, []).append(bar.y)
    middles = [sum(of) / len(of) for of in places.values()]
    axes.set_yticks(middles, [textwrap.fill(name, room) for name in places], fontsize="small", parse_math=False)
    axes.tick_params(axis="y", length=0)


def legend(look: Mapping[str, str], bars: Sequence[Bar]) -> list[Patch]:
    """A patch for each series that has a bar."""
    from matplotlib.patches import Patch

    there = {bar.series for bar in bars}
    return [Patch(facecolor=color, edgecolor=EDGE, label=name) for name, color in look.items() if name in there]
