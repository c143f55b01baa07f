"""Horizontal bar charts: one row a bar, grouped by name, so that long names stay legible.

A backbone has one color in all figures. How a number came to be shows in it: published bars are lighter, simulated ones
dotted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

NO_MODEL = "no model"
COLORS = {
    NO_MODEL: "0.62",
    "rules": "#6aaed6",
    "gpt-oss-20b": "#f0b04f",
    "Qwen3-14B": "#c99ac4",
    "Qwen3-30B-A3B-Instruct-2507": "#cdb84f",
    "Qwen3-30B-A3B-Thinking-2507": "#a0a0d8",
    "qwen2.5-coder-0.5b": "#7cc7ab",
    "qwen2.5-coder-1.5b": "#e58f86",
}
OTHERS = ("#b5896f", "#8aa84f", "#5f9ea0", "#d17fb0", "#7f8fb3", "#c0a16b")  # for all others, by their names
LIGHTER = 0.4  # what a published bar keeps of its color
EDGE = "0.45"
BREAK = 0.7  # between names, in rows
DOTS = "...."


def color(backbone: str, evidence: str = "measured") -> tuple[float, float, float]:
    """A backbone's color; settings behind its name, such as "(Low)", change nothing."""
    from matplotlib.colors import to_rgb

    name = backbone.split(" (")[0]
    # A checksum, since Python's own hash differs from process to process.
    red, green, blue = to_rgb(COLORS.get(name) or OTHERS[crc32(name.encode()) % len(OTHERS)])
    kept = LIGHTER if evidence == "published" else 1.0
    return 1 - kept * (1 - red), 1 - kept * (1 - green), 1 - kept * (1 - blue)


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
    known = [name if isinstance(name, str) and name not in ("", "none") else NO_MODEL for name in results["backbone"]]
    series = [f"{evidence} · {backbone}" for evidence, backbone in zip(results["evidence"], known, strict=True)]
    return results.assign(name=results[column], backbone=known, series=series)


def laid(frame: pd.DataFrame, names: Sequence[str]) -> list[Bar]:
    """Bars from top to bottom: by name, published first."""
    bars: list[Bar] = []
    y = 0.0
    for name in names:
        own = frame[frame["name"] == name].drop_duplicates("series").to_dict("records")
        for row in sorted(own, key=lambda row: row["evidence"] != "published"):
            bars.append(bar(row, y))
            y += 1
        y += BREAK if own else 0
    return bars


def bar(row: Mapping[str, Any], y: float) -> Bar:
    """The bar of a labelled row of a results table."""
    hatch = DOTS if row["evidence"] == "simulated" else ""
    return Bar(row["name"], row["series"], y, color(row["backbone"], row["evidence"]), hatch)


def values(frame: pd.DataFrame, metric: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    """Value and interval by name and series; empty cells are left out. Raises ValueError for two values of one bar."""
    cells: dict[tuple[str, str], tuple[float, float, float]] = {}
    for cell in frame[(frame["metric"] == metric) & frame["value"].notna()].to_dict("records"):
        key = cell["name"], cell["series"]
        if key in cells:
            raise ValueError(f"two values of {metric} for {key[0]}, {key[1]}; keep one of them")
        cells[key] = cell["value"], cell["ci_low"], cell["ci_high"]
    return cells


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
    middles = [sum(heights) / len(heights) for heights in places.values()]
    axes.set_yticks(middles, [textwrap.fill(name, room) for name in places], fontsize="small", parse_math=False)
    axes.tick_params(axis="y", length=0)


def legend(frame: pd.DataFrame, column: str = "method") -> list[Patch]:
    """A patch for each backbone, unless bars are named by it, and what tells published and simulated bars."""
    from matplotlib.patches import Patch

    backbones = [] if column == "backbone" else list(dict.fromkeys(frame["backbone"]))
    patches = [Patch(facecolor=color(name), edgecolor=EDGE, label=name) for name in backbones]
    there = set(frame["evidence"])
    if "published" in there:
        patches.append(Patch(facecolor=color(NO_MODEL, "published"), edgecolor=EDGE, label="lighter: published"))
    if "simulated" in there:
        patches.append(Patch(facecolor="white", edgecolor=EDGE, hatch=DOTS, label="dotted: simulated"))
    return patches
