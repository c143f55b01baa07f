"""A trajectory as one picture: rewards over the steps, how the goal's objects fit, and the matching of a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import cos, radians, sin
from typing import TYPE_CHECKING

from lab.results.text import Flag, fitted, flags, width, wrapped, write
from statefactory.plots.matching import GREY, INK, arranged, draw_matching
from statefactory.walkthrough import Event, Walkthrough

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

PREDICTED, TRUTH, NEGATIVE = "#0173b2", "0.3", "#d55e00"
COLORS = {"anchored": "#9a4fa8", "added": "#9a4fa8", "rise": "#027d5b", "fall": "#c1440e"}
SIGNS = {"anchored": "◆", "added": "◆", "rise": "▲", "fall": "▼"}
WIDTH, LEFT, RIGHT = 12.5, 2.0, 2.45  # inches: of the figure, and of its margins
CURVE, CELL, EDGE, LINE = 2.4, 0.34, 0.2, 0.165  # inches: heights, the margin, and a line of small text
JUMPS = 6  # that get a flag: the largest
SIZE, SMALL = 9.5, 8.5
TILT = 40  # degrees, of the actions
KEY = "◆ the goal is anchored to what was seen, or extended by it      ▲▼ largest changes of a goal object's fit"
RULE = "reward = mean of the fits;  fit = identity × mean of attributes;  on a line: similarity"


def draw_walkthrough(
    walked: Walkthrough, negative: Sequence[float] | np.ndarray | None = None, step: int = -1, note: str = ""
) -> Figure:
    """One trajectory, readable without its text.

    Above, the rewards over the steps with the truth, flags where the goal was anchored to an object or a fit jumped;
    under it a row of fits for each object of the goal, and the actions; below, which state objects the goal took at
    `step` (from 1; -1 for the last). A number on a line is a similarity. negative: the rewards of the pair's negative.
    note: how the numbers came to be.
    """
    import matplotlib.pyplot as plt

    index = walked.index_of(step)
    panel = arranged(walked.matches[index], walked.states[index])
    poles = _poles(walked)
    title = wrapped(f"Task: {walked.row.goal_description}", WIDTH - 2 * EDGE, SIZE + 2, 3)
    actions = _actions(walked, index)
    top = 0.3 + 0.23 * len(title) + 0.3 + max([flag.bottom + LINE * len(flag.lines) for flag in poles], default=0.0)
    strip, labels = CELL * max(1, len(walked.parts)), _tall(actions.values())
    height = top + CURVE + 0.1 + strip + labels + 0.45 + panel.height + 2 * EDGE
    figure = plt.figure(figsize=(WIDTH, height), layout="constrained")
    figure.set_layout_engine("none")  # "none" from the start would be forgotten when the figure is first saved
    tops = _StackedAxes(figure, height)
    _draw_title(tops, title)
    tops.skip(top)
    curve = tops.axes(CURVE)
    _draw_curve(curve, walked, negative)
    _draw_flags(curve, walked, poles)
    tops.skip(0.1)
    fits = tops.axes(strip)
    _draw_fits(fits, walked, actions, colormap())
    curve.axvspan(index + 0.5, index + 1.5, color="0.93", zorder=0)
    fits.axvspan(index + 0.5, index + 1.5, facecolor="none", edgecolor=INK, linewidth=1.2, zorder=4)
    tops.skip(labels)
    _draw_heading(tops, walked, index)
    draw_matching(tops.axes(panel.height, EDGE, EDGE), walked.matches[index], panel, colormap())
    figure.text(1 - EDGE / WIDTH, 0.12 / height, fitted(note, WIDTH - 2 * EDGE, SMALL), fontsize=SMALL, color=GREY,
                ha="right", va="center", parse_math=False)  # fmt: skip
    return figure


def colormap() -> Colormap:
    """White to the blue of predicted rewards, for fits in [0, 1]."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("fit", ["#f4f7fa", "#9fc6e3", PREDICTED])


class _StackedAxes:
    """Axes from top to bottom, with heights in inches."""

    def __init__(self, figure: Figure, height: float) -> None:
        self.figure, self.height, self.top = figure, height, 0.0

    def skip(self, height: float) -> None:
        self.top += height

    def axes(self, height: float, left: float = LEFT, right: float = RIGHT) -> Axes:
        self.top += height
        box = (left / WIDTH, 1 - self.top / self.height, (WIDTH - left - right) / WIDTH, height / self.height)
        return self.figure.add_axes(box)


def _inches(walked: Walkthrough) -> float:
    """How wide a step is."""
    return (WIDTH - LEFT - RIGHT) / len(walked)


def _poles(walked: Walkthrough) -> list[Flag]:
    """Flags for every change of the goal and the largest jumps, in inches above the curve."""
    events = walked.events()
    largest = sorted((event for event in events if event.change), key=lambda event: -abs(event.change))[:JUMPS]
    shown = [event for event in events if not event.change or event in largest]
    by_step = [(step, list(group)) for step, group in groupby(shown, key=lambda event: event.step)]
    places = [((step - 0.5) * _inches(walked), group) for step, group in by_step]
    return flags([(x, _said(group, min(3.3, WIDTH - LEFT - EDGE - x))) for x, group in places], SMALL)


def _said(events: Sequence[Event], room: float) -> list[str]:
    """A line an event; objects that changed for one reason share it."""
    lines: dict[tuple[str, str], list[str]] = {}
    for event in events:
        change = [f"{event.change:+.2f}".replace("-", "−")] if event.change else []
        lines.setdefault((SIGNS[event.kind], event.text), []).extend(change)
    texts = []
    for (sign, text), changes in lines.items():
        after = f" ({', '.join(changes)})" if changes else ""
        texts.append(fitted(f"{sign} {text}", room - width(after, SMALL), SMALL) + after)
    return texts


def _draw_curve(axes: Axes, walked: Walkthrough, negative: Sequence[float] | np.ndarray | None) -> None:
    steps = range(1, len(walked) + 1)
    ends: list[tuple[float, str, str]] = []
    if negative is not None and len(negative):
        axes.plot(range(1, len(negative) + 1)[: len(walked)], negative[: len(walked)], color=NEGATIVE, linewidth=1.5,
                  alpha=0.45)  # fmt: skip
        ends.append((float(negative[: len(walked)][-1]), "predicted for the negative", NEGATIVE))
    axes.plot(steps, walked.row.shaped, color=TRUTH, linewidth=1.4, linestyle=(0, (4, 2)))
    axes.plot(steps, walked.rewards, color=PREDICTED, linewidth=2.4, marker="o",
              markersize=4.5 if _inches(walked) > 0.12 else 0)  # fmt: skip
    # Labels at the ends of the curves stand in for a legend, which would cover them.
    ends += [(float(walked.rewards[-1]), "predicted reward", PREDICTED), (walked.row.shaped[-1], "ground truth", TRUTH)]
    axes.set(xlim=(0.5, len(walked) + 0.5), ylim=(-0.04, 1.06), ylabel="reward")
    axes.set_xticks([])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.tick_params(labelsize=SMALL)
    axes.yaxis.label.set_fontsize(SIZE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, axis="y", color="0.9")
    for height, (_, label, color) in zip(_spread([end[0] for end in ends], 0.085), ends, strict=True):
        write(axes, len(walked) + 0.5 + 0.08 / _inches(walked), height, label, SIZE, color=color, va="center")


def _spread(heights: Sequence[float], least: float) -> list[float]:
    """Heights moved down until neighbours are `least` apart, in their order from the top."""
    moved = list(heights)
    ordered = sorted(range(len(moved)), key=lambda number: -moved[number])
    for above, below in zip(ordered, ordered[1:], strict=False):
        moved[below] = min(moved[below], moved[above] - least)
    return moved


def _draw_flags(axes: Axes, walked: Walkthrough, poles: Sequence[Flag]) -> None:
    unit = 1.1 / CURVE  # of the axes' height, in an inch
    kinds = {event.step: event.kind for event in reversed(walked.events())}
    for flag in poles:
        step = round(flag.x / _inches(walked) + 0.5)
        bottom = 1.06 + flag.bottom * unit
        top = bottom + LINE * len(flag.lines) * unit
        color = COLORS[kinds[step]]
        axes.plot([step, step], [walked.rewards[step - 1], top], color=color, linewidth=0.9, clip_on=False, zorder=1)
        for number, line in enumerate(flag.lines):
            kind = next(kind for kind, sign in SIGNS.items() if line.startswith(sign))
            write(axes, step + 0.06 / _inches(walked), top - (number + 0.5) * LINE * unit, line, SMALL,
                  color=COLORS[kind], va="center")  # fmt: skip
        marker = {"◆": "D", "▲": "^", "▼": "v"}[flag.lines[0][0]]
        axes.plot(step, walked.rewards[step - 1], marker=marker, markersize=7, color=color, markeredgecolor="white")


def _draw_fits(axes: Axes, walked: Walkthrough, actions: Mapping[int, str], colors: Colormap) -> None:
    import numpy as np

    values = np.array([part.fits for part in walked.parts] or [[np.nan] * len(walked)])
    axes.imshow(values, cmap=colors, vmin=0, vmax=1, aspect="auto", interpolation="nearest",
                extent=(0.5, len(walked) + 0.5, len(values) - 0.5, -0.5))  # fmt: skip
    names = [fitted(part.name or "(whole text)", LEFT - 0.35, SIZE) for part in walked.parts] or ["(no goal)"]
    axes.set_yticks(range(len(values)), names, fontsize=SIZE, parse_math=False)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set_xticks(np.arange(0.5, len(walked)), minor=True)
    axes.set_yticks(np.arange(-0.5, len(values)), minor=True)
    axes.grid(visible=True, which="minor", color="white", linewidth=min(1.2, 4 * _inches(walked)))
    axes.tick_params(which="minor", length=0)
    write(axes, len(walked) + 0.5 + 0.08 / _inches(walked), (len(values) - 1) / 2, "fit of each goal object", SIZE,
          color=PREDICTED, va="center")  # fmt: skip
    if _inches(walked) >= 0.38:
        for (row, column), value in np.ndenumerate(values):
            if not np.isnan(value):
                write(axes, column + 1, row, f"{value:.2f}", SMALL, color="white" if value > 0.6 else INK, ha="center",
                      va="center")  # fmt: skip
    axes.set_xticks(list(actions), list(actions.values()), fontsize=SMALL, rotation=TILT, ha="right",
                    rotation_mode="anchor", parse_math=False)  # fmt: skip


def _actions(walked: Walkthrough, index: int) -> dict[int, str]:
    """Step -> its numbered action, or several alike; on two lines where there is room, and a few where there is little.

    What has a remark comes first, and the ends.
    """
    remarkable = {1, len(walked), index + 1, *(event.step for event in walked.events())}
    equal = [list(run) for _, run in groupby(enumerate(walked.row.actions, start=1), key=lambda numbered: numbered[1])]
    runs = [(run[0][0], run[-1][0], run[0][1]) for run in equal]
    lines, most = (2, 1.8) if _inches(walked) >= 0.46 else (1, 3.0)
    chosen: dict[int, str] = {}
    for first, last, action in sorted(runs, key=lambda run: (remarkable.isdisjoint(range(run[0], run[1] + 1)), run[0])):
        if all(abs(first - other) * _inches(walked) >= 0.26 for other in chosen):
            numbers = str(first) if first == last else f"{first}–{last}"
            room = min(most, (LEFT - EDGE + (first - 0.5) * _inches(walked)) / cos(radians(TILT)))
            chosen[first] = "\n".join(wrapped(f"{numbers}  {action.replace(' the ', ' ')}", room, SMALL, lines))
    return chosen


def _tall(actions: Iterable[str]) -> float:
    """The height that the slanted actions take, in inches."""
    sizes = [(max(width(line, SMALL) for line in text.split("\n")), text.count("\n") + 1) for text in actions]
    tilt = radians(TILT)
    return max(long * sin(tilt) + lines * LINE * cos(tilt) for long, lines in sizes) + 0.15


def _draw_heading(tops: _StackedAxes, walked: Walkthrough, index: int) -> None:
    axes = tops.axes(0.45, left=EDGE, right=EDGE)
    axes.axis("off")
    axes.set(xlim=(0, WIDTH - 2 * EDGE), ylim=(0, 1))
    action = fitted(walked.row.actions[index], 4.6, SIZE + 1, bold=True)
    write(axes, 0, 0.6, f"Step {index + 1}, {action}: reward {walked.rewards[index]:.2f}", SIZE + 1, va="center",
          fontweight="bold")  # fmt: skip
    write(axes, WIDTH - 2 * EDGE, 0.6, RULE, SMALL, color=GREY, ha="right", va="center")


def _draw_title(tops: _StackedAxes, lines: Sequence[str]) -> None:
    for number, line in enumerate([*lines, KEY]):
        size, color = (SIZE + 2, INK) if line != KEY else (SMALL, GREY)
        at = 1 - (0.25 + 0.23 * number) / tops.height
        tops.figure.text(EDGE / WIDTH, at, line, fontsize=size, color=color, parse_math=False, va="center")
