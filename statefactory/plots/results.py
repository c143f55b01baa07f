"""Figures of EPIC distances: Table 1 and the ablations of Figure 5, with published and our values.

Bars are horizontal, so that long names stay legible, and grouped by name. A backbone has the same color in all figures.
Published bars are lighter, simulated ones dotted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple
from zlib import crc32

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from lab.results import plots
from statefactory.experiments.scores import METRIC, OVERALL, metrics

SUPERVISED = ("Supervised RM", "VLWM-critic", "Ridge on embeddings")  # prefixes of methods that were trained
EVERYWHERE = ", trained on all domains"
TRIPLETS = "Triplet accuracy"
BEST, WORST = "#c0392b", "#1f4e9c"
WIDTH = 13.0
LETTERS = 19  # of a bar's name on a line
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
OTHERS = ("#b5896f", "#8aa84f", "#5f9ea0", "#d17fb0", "#7f8fb3", "#c0a16b")  # for other backbones, chosen by name
LIGHTER = 0.4  # share of its color that a published bar keeps
EDGE = "0.45"
BREAK = 0.7  # gap between names, in rows
DOTS = "...."


class Bar(NamedTuple):
    """Position and style of a bar, which has a name and a series. color, edge: colors of matplotlib."""

    name: str
    series: str
    y: float
    color: str | tuple[float, ...]
    hatch: str = ""
    edge: str = EDGE


class Panel(NamedTuple):
    """One panel of Figure 5. column: of the results table, names the bars."""

    title: str
    column: Literal["method", "backbone"] = "method"
    metric: str = OVERALL


PANELS: Mapping[str, Panel] = {
    "representation": Panel("(a) Representation"),
    "goal": Panel("(b) Source of the goal"),
    "backbone": Panel("(c) Backbone", "backbone"),
    "embedding": Panel("(d) Embedding"),
    "triplets": Panel("(e) Embedding, triplets", metric=TRIPLETS),
}


def draw_table1(results: pd.DataFrame) -> Figure:
    """The EPIC distances of Table 1, one column per domain: zero-shot methods as bars, colored by backbone.

    Published bars are lighter; ours have 95 % intervals. Supervised methods are marks in the last rows, with a line for
    the paper's model that was trained on all domains.
    results: a results table with the metrics of `statefactory.experiments.scores.metrics`.
    Raises ValueError if it has no zero-shot method.
    """
    distances = results[results["metric"].isin(metrics())]
    trained = distances["method"].str.startswith(SUPERVISED)
    if trained.all():
        raise ValueError("no EPIC distance of a zero-shot method among the results")
    frame = _labelled(distances[~trained], "method")
    rows = _families(frame)
    marks = distances[trained].reset_index(drop=True)
    family = marks["method"].str.split(" ").str[0].replace("VLWM-critic", "Supervised")
    marks["group"] = family + marks["evidence"].map({"published": ", published"}).fillna(", ours")
    supervised_rows = {name: rows[-1].y + 1 + BREAK + index for index, name in enumerate(marks["group"].unique())}
    figure, axes = _columns(distances, len(rows) + 1 + len(supervised_rows))
    for panel, metric in zip(axes, _present(distances), strict=True):
        _draw(panel, rows, frame, metric, decimals=3)
        _draw_supervised(panel, marks[marks["metric"] == metric], supervised_rows)
    names = {row.y: row.name for row in rows} | {y: name for name, y in supervised_rows.items()}
    axes[0].set_yticks(list(names), list(names.values()), fontsize="small")
    figure.legend(handles=_table1_legend(frame, trained.any()), loc="outside upper left", ncols=6, fontsize="small")
    return _finished(figure, axes, results)


def draw_ablations(panels: Mapping[str, pd.DataFrame]) -> Figure:
    """Figure 5: the Overall value of every setting, published and ours, with intervals.

    panels: name in PANELS -> results table; panels may be missing. Bars with the same name are adjacent, so our rows
    should have the paper's names. Of the bars with the same evidence and backbone, the best is hatched in red and the
    worst in blue. Raises ValueError for a name that is not in PANELS.
    """
    unknown = [name for name in panels if name not in PANELS]
    if unknown:
        raise ValueError(f"no panel {unknown[0]!r} in Figure 5; choose from {', '.join(PANELS)}")
    frames = {}
    for name, panel in PANELS.items():
        if name in panels:
            panel_rows = panels[name][(panels[name]["metric"] == panel.metric) & panels[name]["value"].notna()]
            frames[name] = _labelled(panel_rows, panel.column)
    figure, axes = plt.subplots(2, 3, figsize=(WIDTH, 7.6), layout="constrained")
    panel_axes = list(axes.flat)
    for cell, (name, frame) in zip(panel_axes, frames.items(), strict=False):
        _draw_panel(cell, frame, PANELS[name])
    for cell in panel_axes[len(frames) :]:
        cell.axis("off")
    methods = [frame for name, frame in frames.items() if PANELS[name].column == "method"]
    panel_axes[len(frames)].legend(
        handles=_ablation_legend(pd.concat(methods or frames.values())), loc="center", fontsize="small", frameon=False
    )
    return _finished(figure, [], pd.concat(frames.values()))


def _draw_panel(axes: Axes, frame: pd.DataFrame, panel: Panel) -> None:
    rows = _laid(frame, list(dict.fromkeys(frame["name"])))
    _draw(axes, _hatched(rows, frame, panel.metric), frame, panel.metric)
    _name_rows(axes, rows)
    better = "higher" if panel.metric == TRIPLETS else "lower"
    axes.set_title(panel.title, loc="left")
    axes.set_xlabel(f"{panel.metric.removesuffix(', Overall')} ({better} is better)", fontsize="small")


def _hatched(rows: Sequence[Bar], frame: pd.DataFrame, metric: str) -> list[Bar]:
    """Mark the best and the worst bar of each evidence and backbone, unless there is only one value."""
    marked: dict[tuple[str, str], str] = {}
    for series, part in frame[frame["metric"] == metric].groupby("series"):
        low, high = (part.loc[index, "name"] for index in (part["value"].idxmin(), part["value"].idxmax()))
        best, worst = (high, low) if metric == TRIPLETS else (low, high)
        # A single value is not a best one. Bars of different backbones are not compared: more than the setting differs.
        if best != worst:
            marked |= {(best, series): BEST, (worst, series): WORST}
    edges = [marked.get((row.name, row.series)) for row in rows]
    return [
        row._replace(hatch=row.hatch + "////", edge=edge) if edge else row
        for row, edge in zip(rows, edges, strict=True)
    ]


def _ablation_legend(frame: pd.DataFrame) -> list[Artist]:
    marks = [Patch(facecolor="white", edgecolor=color, hatch="////", label=f"the {word} of its evidence and backbone")
             for word, color in (("best", BEST), ("worst", WORST))]  # fmt: skip
    return [*_legend(frame), *marks]


def _families(frame: pd.DataFrame) -> list[Bar]:
    """A bar for each method, backbone and evidence; methods of a family are adjacent, published values first."""
    bars: list[Bar] = []
    records = frame.drop_duplicates(["name", "series"]).to_dict("records")
    y = 0.0
    for family in dict.fromkeys(record["name"].split(",")[0] for record in records):
        family_rows = [record for record in records if record["name"].split(",")[0] == family]
        for record in sorted(family_rows, key=lambda record: record["evidence"] != "published"):
            bars.append(_bar(record, y))
            y += 1
        y += BREAK
    return bars


def _draw_supervised(axes: Axes, trained: pd.DataFrame, places: Mapping[str, float]) -> None:
    for row in trained.to_dict("records"):
        marker, color = ("x", "0.45") if row["method"] == "VLWM-critic" else ("|", "0.45")
        if row["method"].endswith(EVERYWHERE):
            marker, color = "D", "0.2"
            if row["evidence"] == "published":
                axes.axvline(row["value"], color="0.2", linewidth=0.8, linestyle=":", zorder=0)
        axes.plot(row["value"], places[row["group"]], marker=marker, color=color, markersize=5, linestyle="none")
    if len(trained):
        axes.set_ylim(max(places.values()) + 0.8, -0.7)
        axes.set_xlim(0, max(axes.get_xlim()[1], trained["value"].max() * 1.08))


def _table1_legend(frame: pd.DataFrame, trained: bool) -> list[Artist]:
    marks = (("D", "0.2", "supervised, all domains"), ("|", "0.45", "supervised, one domain"),
             ("x", "0.45", "VLWM-critic"))  # fmt: skip
    lines = [Line2D([], [], marker=marker, color=color, linestyle="none", label=text) for marker, color, text in marks]
    return [*_legend(frame), *(lines if trained else [])]


def _present(frame: pd.DataFrame) -> list[str]:
    present = set(frame.loc[frame["value"].notna(), "metric"])
    return [metric for metric in metrics() if metric in present]


def _columns(frame: pd.DataFrame, rows: float) -> tuple[Figure, list[Axes]]:
    """A figure with one panel per metric, titled by its domain. rows: sets the height."""
    present = _present(frame)
    figure, axes = plt.subplots(1, len(present), figsize=(WIDTH, 1.5 + 0.27 * rows), sharey=True, squeeze=False,
                                layout="constrained")  # fmt: skip
    for panel, metric in zip(axes[0], present, strict=True):
        panel.set_title(metric.removeprefix(METRIC.format("")), fontweight="bold" if metric == OVERALL else "normal")
        panel.set_xlabel("EPIC distance", fontsize="x-small")
        panel.tick_params(axis="y", length=0)
    return figure, list(axes[0])


def _finished(figure: Figure, alike: Sequence[Axes], results: pd.DataFrame) -> Figure:
    """Give the axes `alike` the same scale, and add the evidence line, wrapped between its parts."""
    for axes in alike:
        axes.set_xlim(0, max(panel.get_xlim()[1] for panel in alike))
    parts = plots.evidence_line(results).replace(" ", "\N{NO-BREAK SPACE}").replace(";\N{NO-BREAK SPACE}", "; ")
    figure.supxlabel(textwrap.fill(parts, 170), x=0.995, ha="right", fontsize="x-small", color="0.35")
    return figure


def _color(backbone: str, evidence: str = "measured") -> tuple[float, float, float]:
    """A backbone's color. Settings after its name, such as "(Low)", are ignored."""
    name = backbone.split(" (")[0]
    # A checksum, since Python's hash of a string differs between processes.
    red, green, blue = to_rgb(COLORS.get(name) or OTHERS[crc32(name.encode()) % len(OTHERS)])
    share = LIGHTER if evidence == "published" else 1.0
    return 1 - share * (1 - red), 1 - share * (1 - green), 1 - share * (1 - blue)


def _labelled(results: pd.DataFrame, column: str) -> pd.DataFrame:
    """Add a name, from `column`, and a series, which combines evidence and backbone."""
    backbones = [
        name if isinstance(name, str) and name not in ("", "none") else NO_MODEL for name in results["backbone"]
    ]
    series = [f"{evidence} · {backbone}" for evidence, backbone in zip(results["evidence"], backbones, strict=True)]
    return results.assign(name=results[column], backbone=backbones, series=series)


def _laid(frame: pd.DataFrame, names: Sequence[str]) -> list[Bar]:
    """Bars from top to bottom, in order of `names`, published values first."""
    bars: list[Bar] = []
    y = 0.0
    for name in names:
        records = frame[frame["name"] == name].drop_duplicates("series").to_dict("records")
        for record in sorted(records, key=lambda record: record["evidence"] != "published"):
            bars.append(_bar(record, y))
            y += 1
        y += BREAK if records else 0
    return bars


def _bar(row: Mapping[str, Any], y: float) -> Bar:
    """The bar of a labelled row of a results table, at height `y`."""
    hatch = DOTS if row["evidence"] == "simulated" else ""
    return Bar(row["name"], row["series"], y, _color(row["backbone"], row["evidence"]), hatch)


def _values(frame: pd.DataFrame, metric: str) -> dict[tuple[str, str], tuple[float, float, float]]:
    """(Name, series) -> (value, lower, upper bound), without empty cells. Raises ValueError for two values of a bar."""
    cells: dict[tuple[str, str], tuple[float, float, float]] = {}
    for cell in frame[(frame["metric"] == metric) & frame["value"].notna()].to_dict("records"):
        key = cell["name"], cell["series"]
        if key in cells:
            raise ValueError(f"two values of {metric} for {key[0]}, {key[1]}; keep one of them")
        cells[key] = cell["value"], cell["ci_low"], cell["ci_high"]
    return cells


def _draw(axes: Axes, bars: Sequence[Bar], frame: pd.DataFrame, metric: str, decimals: int = 2) -> None:
    """Draw bars with intervals, labelled with their values."""
    values = _values(frame, metric)
    for bar in (bar for bar in bars if (bar.name, bar.series) in values):
        value, low, high = values[bar.name, bar.series]
        axes.barh(bar.y, value, 0.86, color=bar.color, edgecolor=bar.edge, hatch=bar.hatch, linewidth=0.7)
        # Published values have no intervals.
        end = value if np.isnan(high) else high
        if not np.isnan(high):
            whisker = [[max(0, value - low)], [max(0, high - value)]]
            axes.errorbar(value, bar.y, xerr=whisker, fmt="none", ecolor="0.2", elinewidth=1.2, capsize=2.5)
        axes.annotate(f"{value:.{decimals}f}", (end, bar.y), (4, 0), textcoords="offset points", va="center",
                      fontsize="x-small", color="0.25")  # fmt: skip
    ends = [value if np.isnan(high) else high for value, _, high in values.values()]
    axes.set(xlim=(0, max(ends, default=1) * 1.28), ylim=(max([bar.y for bar in bars], default=0) + 0.7, -0.7))
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color="0.92")
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", labelsize="x-small")


def _name_rows(axes: Axes, bars: Sequence[Bar]) -> None:
    """Label the bars with their names, vertically centred and wrapped."""
    heights_by_name: dict[str, list[float]] = {}
    for bar in bars:
        heights_by_name.setdefault(bar.name, []).append(bar.y)
    middles = [sum(heights) / len(heights) for heights in heights_by_name.values()]
    axes.set_yticks(
        middles, [textwrap.fill(name, LETTERS) for name in heights_by_name], fontsize="small", parse_math=False
    )
    axes.tick_params(axis="y", length=0)


def _legend(frame: pd.DataFrame) -> list[Patch]:
    """Legend of the backbones, and of published and simulated bars."""
    patches = [Patch(facecolor=_color(name), edgecolor=EDGE, label=name) for name in frame["backbone"].unique()]
    evidence = set(frame["evidence"])
    if "published" in evidence:
        patches.append(Patch(facecolor=_color(NO_MODEL, "published"), edgecolor=EDGE, label="lighter: published"))
    if "simulated" in evidence:
        patches.append(Patch(facecolor="white", edgecolor=EDGE, hatch=DOTS, label="dotted: simulated"))
    return patches
