"""The suite's key figure: horizontal dots with 95 % intervals, one line per method or claim.

A hollow diamond with its number is a published value, a tick the strongest null model, a hollow dot the placebo. The
colour shows who answered. A value from fewer than FEW tasks says little, so its dot is small.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Any

from lab.models import engines
from lab.results import tables
from lab.results.plots import FEW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, TALLEST = 8.0, 4.5, 6.4  # inches: a figure is displayed 800 px wide
POINTS = 9.5  # size of the smallest text
INCHES_A_LINE, BESIDE_LINES = 0.25, 1.5
LETTERS, LABEL_LETTERS = 78, (52, 30, 24)  # in a line: of the figure; of a label beside one, two or three panels
SMALL_TEXT: dict[str, Any] = {"fontsize": POINTS - 1, "color": "0.15"}
APART = 0.22  # distance between dots of a line, in lines
LARGE = 7.0  # billions of parameters from which a model counts as large
NOBODY, RULES, SIMULATED, SMALL, BIG = WHO = ("nobody", "rules (no model)", "simulated", "small model", "large model")
COLORS = dict(zip(WHO, ("0.45", "#0173b2", "#de8f05", "#02795a", "#7b4fb5"), strict=True))
PAPER, NULL, PLACEBO = "published", "strongest null model", "placebo"
NULL_MODEL = "null model"  # the label of the line that has it alone
MARKS: dict[str, dict[str, Any]] = {
    PAPER: {"marker": "D", "markerfacecolor": "white", "markeredgecolor": "0.15", "markersize": 7},
    NULL: {"marker": "|", "color": "#c1440e", "markersize": 15, "markeredgewidth": 2.5},
    PLACEBO: {"marker": "o", "markerfacecolor": "white", "markeredgecolor": "#c1440e", "markersize": 7},
}


@dataclass(frozen=True)
class Dot:
    """A value of ours. low, high: its interval, NaN for none. who: one of WHO. n: number of tasks, 0 without a sample.

    name: of the model that answered. data: "official" or "synthetic"; "" if its table does not tell.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    who: str = RULES
    n: int = 0
    name: str = ""
    data: str = ""


@dataclass(frozen=True)
class Line:
    """A line of the figure, values in the dots' unit. paper: one value per model. null, placebo: None if unknown.

    note: text below the tick of the null model. models: of the paper's values, written beside them if they differ.
    """

    label: str
    dots: tuple[Dot, ...] = ()
    paper: tuple[float, ...] = ()
    null: float | None = None
    placebo: float | None = None
    note: str = ""
    models: tuple[str, ...] = ()


def who(engine: str, evidence: str = "measured") -> str:
    """Who answered, as one of WHO, from an engine's label and the evidence of its numbers."""
    if evidence == "simulated":
        return SIMULATED
    if engine in ("", "none"):
        return NOBODY
    parsed = engines.parse(engine.removesuffix(tables.WITH_WORLD))
    if parsed.kinds.isdisjoint(engines.MODELS):
        return NOBODY if parsed.name in engines.NULLS else RULES
    return BIG if billions(engine) >= LARGE else SMALL


def billions(model: str) -> float:
    """A model's parameters in billions, from the size in its name ("1.5b", "135M"); infinite if the name has none."""
    sizes = re.findall(r"(\d+(?:\.\d+)?)\s*([bm])\b", model.lower())
    return max((float(size) / (1000 if unit == "m" else 1) for size, unit in sizes), default=math.inf)


def draw(panels: Sequence[tuple[str, Sequence[Line]]], title: str, zero: bool = False, decimals: int = 1) -> Figure:
    """A figure with a panel for each (label of the x axis, lines). title: the finding. zero: draw a line at 0.

    Panels about the same methods stand side by side and share their rows, others one below the other.
    """
    import matplotlib.pyplot as plt

    labels = [[line.label for line in lines] for _, lines in panels]
    columns = len(panels) if all({*labels[0]} & {*others} for others in labels) else 1
    shared = sorted(dict.fromkeys(chain(*labels)), key=lambda label: label == NULL_MODEL)
    rows = [shared] * len(panels) if columns > 1 else labels
    counts = [max(len(names), 1) for names in rows[::columns]]
    height = BESIDE_LINES + INCHES_A_LINE * sum(counts) + 0.6 * (len(counts) - 1)
    figure, grid = plt.subplots(
        len(counts), columns, figsize=(WIDTH, min(max(HEIGHT, height), TALLEST)), squeeze=False, height_ratios=counts,
        layout="constrained",
    )  # fmt: skip
    for axes, (label, lines), names in zip(grid.flat, panels, rows, strict=True):
        for line in lines:
            _draw_line(axes, names.index(line.label), line, decimals)
        axes.set(ylim=(len(names) - 0.4, -0.6), xlabel=fill(label, LETTERS // columns))
        first = axes in grid[:, 0]
        axes.set_yticks(
            range(len(names)),
            [fill(name, LABEL_LETTERS[columns - 1]) for name in names] if first else [],
            fontsize=POINTS,
        )
        axes.tick_params(axis="x", labelsize=POINTS)
        axes.xaxis.label.set_size(POINTS)
        axes.locator_params(axis="x", nbins=9 // columns + 2)
        axes.grid(axis="y", visible=False)
        axes.margins(x=0.08 * columns)
        if zero:
            axes.axvline(0, color="0.6", linewidth=1, zorder=0)
    figure.suptitle(title, fontsize=POINTS + 2, wrap=True)
    _legend(figure, [line for _, lines in panels for line in lines])
    return figure


def _draw_line(axes: Axes, row: int, line: Line, decimals: int) -> None:
    for index, dot in enumerate(line.dots):
        y = row + APART * (index - (len(line.dots) - 1) / 2)
        color, size = COLORS[dot.who], 4 if 0 < dot.n < FEW else 7
        if not math.isnan(dot.low):
            axes.plot([dot.low, dot.high], [y, y], color=color, linewidth=1.8, zorder=2)
        axes.plot(dot.value, y, "o", color=color, markersize=size, zorder=3)
    # Draw the placebo a little lower, so that it does not hide the dot.
    for name, value, y in ((NULL, line.null, row), (PLACEBO, line.placebo, row + APART)):
        if value is not None:
            axes.plot(value, y, linestyle="none", zorder=4, **MARKS[name])
    if line.note and line.null is not None:
        axes.annotate(line.note, (line.null, row), (0, -16), textcoords="offset points", ha="center", **SMALL_TEXT)
    several = len({*line.paper}) > 1
    for index, value in enumerate(line.paper):
        model = f" {line.models[index]}" if several and line.models else ""
        axes.plot(value, row, linestyle="none", zorder=4, **MARKS[PAPER])
        axes.annotate(
            f"{value:.{decimals}f}{model}", (value, row), (0, -15 if index % 2 else 7), textcoords="offset points",
            ha="center", **SMALL_TEXT,
        )  # fmt: skip


def _legend(figure: Figure, lines: Sequence[Line]) -> None:
    """A legend with only the colours and marks of this figure."""
    from matplotlib.lines import Line2D

    colors = {dot.who for line in lines for dot in line.dots}
    handles = [
        Line2D([], [], marker="o", color=COLORS[name], markersize=7, linewidth=1.8, label=name)
        for name in WHO
        if name in colors
    ]
    attributes = {PAPER: "paper", NULL: "null", PLACEBO: "placebo"}
    handles += [
        Line2D([], [], linestyle="none", label=name, **MARKS[name])
        for name, attribute in attributes.items()
        if any(getattr(line, attribute) not in (None, ()) for line in lines)
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=POINTS)
