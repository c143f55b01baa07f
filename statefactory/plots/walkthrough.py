"""Figure of a trajectory: rewards over the steps, fits of the goal's objects, and the matching at one step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import cos, radians, sin
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from lab.results import drawing
from lab.results.drawing import INK, QUIET, Canvas
from lab.results.text import Flag, fitted, flags, width, wrapped
from statefactory.routing import Match
from statefactory.state import Entity
from statefactory.walkthrough import Event, Walkthrough

PREDICTED, TRUTH, NEGATIVE = drawing.BLUE, QUIET, drawing.ORANGE
# Color map for fits in [0, 1], from white to the blue of predicted rewards.
FITS = LinearSegmentedColormap.from_list("fit", ["#f4f7fa", "#9fc6e3", PREDICTED])
COLORS = {"anchored": "#9a4fa8", "added": "#9a4fa8", "rise": drawing.GREEN, "fall": drawing.RED}
SIGNS = {"anchored": "◆", "added": "◆", "rise": "▲", "fall": "▼"}
MARKERS = {"anchored": "D", "added": "D", "rise": "^", "fall": "v"}
WIDTH, LEFT, RIGHT, EDGE = 12.5, 2.0, 2.45, 0.2  # inches: of the figure, and of its margins
CURVE, CELL, LINE = 2.4, 0.34, 0.165  # inches: of the rewards, of a row of fits, and of a line of small text
ROW, GAP, PAD, HEAD = 0.22, 0.15, 0.09, 0.3  # inches, in the matching: line height, gap between boxes, padding, header
# Left and right edge of the matching's columns, as shares of the width. Lines connect the first two columns.
COLUMNS = {
    "The goal's objects": (0.0, 0.33),
    "The state objects that fit them best": (0.445, 0.745),
    "Other state objects": (0.775, 1.0),
}
ATTRIBUTES = 7  # most attributes drawn per state object; compared ones are always drawn
JUMPS = 6  # number of largest jumps that get a flag
SIZE, SMALL = 9.5, 8.5  # points
TILT, LONGEST = radians(40), 2.4  # angle and largest length (inches) of the actions' labels
KEY = "◆ the goal is anchored to what was seen, or extended by it      ▲▼ largest changes of a goal object's fit"
RULE = "reward = mean of the fits;  fit = identity × mean of attributes;  on a line: similarity"


def draw_walkthrough(
    walked: Walkthrough, negative: Sequence[float] | np.ndarray = (), step: int = -1, note: str = ""
) -> Figure:
    """Draw a trajectory so that it can be understood without its full text.

    Top: predicted and true rewards over the steps, with flags where the goal was anchored to an object or a fit jumped.
    Middle: a row of fits for each goal object, and the actions. Bottom: the state objects that match the goal objects
    at `step` (from 1; -1 for the last); numbers on lines are similarities.
    negative: rewards of the pair's negative. note: origin of the numbers.
    """
    index, step_width = walked.index_of(step), (WIDTH - LEFT - RIGHT) / len(walked)
    xs = [LEFT + (number + 0.5) * step_width for number in range(len(walked))]
    title = wrapped(f"Task: {walked.row.goal_description}", WIDTH - 2 * EDGE, SIZE + 2, 3)
    event_flags, actions, matching = _poles(walked, xs), _actions(walked, index, xs), _Matching(walked, index)
    top = 0.6 + 0.23 * len(title) + max([flag.bottom + LINE * len(flag.lines) for flag in event_flags], default=0.0)
    fits_top = top + CURVE + 0.1
    fits_bottom = fits_top + CELL * max(1, len(walked.parts))
    heading = fits_bottom + max(width(text, SMALL) for text in actions.values()) * sin(TILT) + 0.5
    canvas = Canvas(WIDTH, heading + 0.2 + matching.height + EDGE, note or " ")
    canvas.lines(EDGE, canvas.lines(EDGE, 0.25, title, SIZE + 2), [KEY], SMALL, color=QUIET)
    canvas.box(LEFT + index * step_width, top, step_width, CURVE, "#ededed", "none", boxstyle="square,pad=0", zorder=0)
    points = draw_rewards(canvas, walked, negative, xs, top, CURVE)
    _draw_flags(canvas, walked, event_flags, points, top)
    _draw_fits(canvas, walked, xs, fits_top, step_width)
    canvas.box(
        LEFT + index * step_width, fits_top, step_width, fits_bottom - fits_top, "none", INK, boxstyle="square,pad=0"
    )
    for number, text in actions.items():
        canvas.lines(xs[number - 1], fits_bottom + 0.08, [text], SMALL, rotation=np.degrees(TILT), ha="right", va="top",
                     rotation_mode="anchor")  # fmt: skip
    action = fitted(walked.row.actions[index], 4.6, SIZE + 1, bold=True)
    caption = f"Step {index + 1}, {action}: reward {walked.rewards[index]:.2f}"
    canvas.lines(EDGE, heading, [caption], SIZE + 1, fontweight="bold")
    canvas.lines(WIDTH - EDGE, heading, [RULE], SMALL, ha="right", color=QUIET)
    matching.draw(canvas, heading + 0.2)
    return canvas.figure


def draw_rewards(
    canvas: Canvas, walked: Walkthrough, negative: Sequence[float] | np.ndarray, xs: Sequence[float], top: float,
    height: float, size: float = SIZE,
) -> list[tuple[float, float]]:  # fmt: skip
    """Draw the reward curves with their names; returns the positions of the predicted rewards, in inches.

    xs: positions of the steps, in inches. size: of the names, in points.
    """
    margin = (xs[-1] - xs[0]) / max(1, len(xs) - 1) / 2 if len(xs) > 1 else 0.3
    left, right = xs[0] - margin, xs[-1] + margin

    def at(reward: float) -> float:
        return top + height * (0.96 - 0.92 * reward)

    for level in (0, 0.5, 1):
        canvas.axes.plot([left, right], [at(level)] * 2, color="#e4e4e4", linewidth=0.9, zorder=0)
        canvas.lines(left - 0.08, at(level), [f"{level:g}"], size - 1, ha="right", color=QUIET)
    curves: dict[str, tuple[Sequence[float] | np.ndarray, str, dict[str, Any]]] = {
        "random actions": (list(negative)[: len(xs)], NEGATIVE, {"linewidth": 1.8}),
        "truth": (walked.row.shaped, TRUTH, {"linewidth": 1.6, "linestyle": (0, (4, 2))}),
        "predicted": (walked.rewards, PREDICTED,
                      {"linewidth": 2.6, "marker": "o", "markersize": 5 if margin > 0.06 else 0}),
    }  # fmt: skip
    ends: dict[str, float] = {}
    for name, (rewards, color, style) in curves.items():
        if len(rewards):
            ends[name] = at(rewards[-1])
            canvas.axes.plot(xs[: len(rewards)], [at(reward) for reward in rewards], color=color, zorder=3, **style)
    below = 0.0  # lowest free height, so that names do not overlap
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        below = max(below, end)
        canvas.lines(right + 0.1, below, [name], size, color=curves[name][1], fontweight="bold")
        below += 1.4 * size / 72
    return [(x, at(reward)) for x, reward in zip(xs, walked.rewards, strict=True)]


def _poles(walked: Walkthrough, xs: Sequence[float]) -> list[Flag]:
    """Flags for every change of the goal and the largest jumps of fits, positioned in inches above the curve."""
    events = walked.events()
    largest = sorted((event for event in events if event.change), key=lambda event: -abs(event.change))[:JUMPS]
    reported = [event for event in events if not event.change or event in largest]
    by_step = {step: list(group) for step, group in groupby(reported, key=lambda event: event.step)}
    texts = [(xs[step - 1], _said(group, min(3.3, WIDTH - EDGE - xs[step - 1]))) for step, group in by_step.items()]
    return flags(texts, SMALL)


def _said(events: Sequence[Event], room: float) -> list[str]:
    """One line per event; events with the same reason share a line."""
    lines: dict[tuple[str, str], list[str]] = {}
    for event in events:
        change = [f"{event.change:+.2f}".replace("-", "−")] if event.change else []
        lines.setdefault((SIGNS[event.kind], event.text), []).extend(change)
    texts = []
    for (sign, text), changes in lines.items():
        suffix = f" ({', '.join(changes)})" if changes else ""
        texts.append(fitted(f"{sign} {text}", room - width(suffix, SMALL), SMALL) + suffix)
    return texts


def _draw_flags(
    canvas: Canvas, walked: Walkthrough, poles: Sequence[Flag], points: Sequence[tuple[float, float]], top: float
) -> None:
    kinds = {event.step: event.kind for event in reversed(walked.events())}
    at_x = {x: (kinds.get(step, "rise"), y) for step, (x, y) in enumerate(points, 1)}
    colors = {SIGNS[kind]: color for kind, color in COLORS.items()}
    for flag in poles:
        kind, y = at_x[flag.x]
        high = top - flag.bottom - LINE * len(flag.lines)
        canvas.axes.plot([flag.x] * 2, [y, high], color=COLORS[kind], linewidth=0.9, zorder=1)
        for number, line in enumerate(flag.lines):
            canvas.lines(flag.x + 0.06, high + (number + 0.5) * LINE, [line], SMALL, color=colors[line[0]])
        canvas.axes.plot(flag.x, y, marker=MARKERS[kind], markersize=7, color=COLORS[kind], markeredgecolor="white",
                         zorder=4)  # fmt: skip


def _draw_fits(canvas: Canvas, walked: Walkthrough, xs: Sequence[float], top: float, wide: float) -> None:
    fits = np.array([part.fits for part in walked.parts] or [[np.nan] * len(walked)])
    edges = [[LEFT + wide * n for n in range(len(xs) + 1)], [top + CELL * n for n in range(len(fits) + 1)]]
    canvas.axes.pcolormesh(*edges, np.ma.masked_invalid(fits), cmap=FITS, vmin=0, vmax=1, edgecolors="white",
                           linewidth=min(1.2, 4 * wide), zorder=1)  # fmt: skip
    middles = [top + CELL * (row + 0.5) for row in range(len(fits))]
    for part, y in zip(walked.parts, middles, strict=False):
        canvas.lines(LEFT - 0.12, y, [fitted(part.name or "(whole text)", LEFT - 0.35, SIZE)], SIZE, ha="right")
    if not walked.parts:
        canvas.lines(LEFT - 0.12, middles[0], ["(no goal)"], SIZE, ha="right")
    canvas.lines(WIDTH - RIGHT + 0.1, sum(middles) / len(middles), ["fit of each goal object"], SIZE, color=PREDICTED)
    for (row, column), fit in np.ndenumerate(fits):
        if wide >= 0.38 and not np.isnan(fit):
            color = "white" if fit > 0.6 else INK
            canvas.lines(xs[column], middles[row], [f"{fit:.2f}"], SMALL, color=color, ha="center")


def _actions(walked: Walkthrough, index: int, xs: Sequence[float]) -> dict[int, str]:
    """First step of each run of equal actions -> its label. Some are omitted if there is little room.

    Steps with an event, the selected step and both ends take precedence.
    """
    remarkable = {1, len(walked), index + 1, *(event.step for event in walked.events())}
    equal = [list(run) for _, run in groupby(enumerate(walked.row.actions, start=1), key=lambda numbered: numbered[1])]
    runs = [(run[0][0], run[-1][0], run[0][1]) for run in equal]
    chosen: dict[int, str] = {}
    for first, last, action in sorted(runs, key=lambda run: (remarkable.isdisjoint(range(run[0], run[1] + 1)), run[0])):
        if all(abs(xs[first - 1] - xs[step - 1]) >= 0.26 for step in chosen):
            numbers = str(first) if first == last else f"{first}–{last}"
            room = min(LONGEST, (xs[first - 1] - EDGE) / cos(TILT))
            chosen[first] = fitted(f"{numbers}  {action.replace(' the ', ' ')}", room, SMALL)
    return chosen


# --- the matching of one step -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Box:
    """An object as a box. lines: attribute key -> text, with "" for the identity. top: inches from the matching's top.

    note: right of its first line.
    """

    lines: Mapping[str, str]
    top: float
    note: str = ""

    @property
    def height(self) -> float:
        return len(self.lines) * ROW + PAD

    def middle(self, key: str) -> float:
        """The vertical centre of a line."""
        return self.top + PAD / 2 + (list(self.lines).index(key) + 0.5) * ROW


class _Matching:
    """Three columns of boxes: goal objects, the state objects that match them, and the other state objects in grey.

    goal, taken, others: boxes from top to bottom; matched state objects in order of their first match. hidden: number
    of other objects without room.
    """

    def __init__(self, walked: Walkthrough, index: int) -> None:
        self.matches, state = walked.matches[index], walked.states[index]
        self.goal = _stacked([(_lines(match.goal, (), 10**6), _product(match)) for match in self.matches])
        compared: dict[Entity, dict[str, None]] = {}
        for match in self.matches:  # several goal objects may match the same state object
            if match.entity is not None:
                compared.setdefault(match.entity, {}).update(dict.fromkeys(offered for _, offered, _ in _ends(match)))
        boxes = _stacked([(_lines(entity, keys, ATTRIBUTES), "") for entity, keys in compared.items()])
        self.taken = dict(zip(compared, boxes, strict=True))
        other_boxes = _stacked([(_lines(entity, (), 3), "") for entity in state if entity not in compared])
        self.height = max(_bottom(self.goal), _bottom(boxes), min(_bottom(other_boxes), HEAD + 12 * ROW))
        fitting = [box for box in other_boxes if box.top + box.height <= self.height - ROW]
        self.others = fitting if _bottom(other_boxes) > self.height else other_boxes
        self.hidden = len(other_boxes) - len(self.others)

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw the matching over the full width."""
        full_width = WIDTH - 2 * EDGE
        columns = [(EDGE + left * full_width, EDGE + right * full_width) for left, right in COLUMNS.values()]
        for (left, _), head in zip(columns, COLUMNS, strict=True):
            canvas.lines(left, top + HEAD / 2, [head], SIZE, color=QUIET)
        for match, goal_box in zip(self.matches, self.goal, strict=True):
            if match.entity is not None:
                for key, state_key, similarity in [("", "", match.identity), *_ends(match)]:
                    start = columns[0][1], top + goal_box.middle(key)
                    end = columns[1][0], top + self.taken[match.entity].middle(state_key)
                    _join(canvas, start, end, similarity)
            _draw_box(canvas, goal_box, top, columns[0], edge=FITS(match.score))
        for box in self.taken.values():
            _draw_box(canvas, box, top, columns[1], edge=QUIET)
        for box in self.others:
            _draw_box(canvas, box, top, columns[2], "white", drawing.FAINT, QUIET, SMALL)
        if self.hidden or not self.others:
            text = f"… and {self.hidden} more" if self.hidden else "none"
            canvas.lines(columns[2][0], top + _bottom(self.others) + ROW / 2, [text], SMALL, color=QUIET)


def _stacked(contents: Sequence[tuple[Mapping[str, str], str]]) -> list[_Box]:
    boxes: list[_Box] = []
    for lines, note in contents:
        boxes.append(_Box(lines, _bottom(boxes), note))
    return boxes


def _bottom(boxes: Sequence[_Box]) -> float:
    """The top of the next box."""
    return boxes[-1].top + boxes[-1].height + GAP if boxes else HEAD


def _lines(entity: Entity, first: Iterable[str], room: int) -> dict[str, str]:
    """The lines of an object's box. first: keys of compared attributes, listed first so that few lines cross."""
    texts = {_key(a.name, a.value): f"{a.name}: {a.value}" if a.name else a.value for a in entity.attributes}
    compared = {key: texts[key] for key in first}
    uncompared = [key for key in texts if key not in compared]
    spare = max(0, room - len(compared))
    ellipsis_line = {"more": f"… {len(uncompared) - spare} more"} if len(uncompared) > spare else {}
    return {
        "": entity.identity or "(no name)",
        **compared,
        **{key: texts[key] for key in uncompared[:spare]},
        **ellipsis_line,
    }


def _key(name: str, value: str) -> str:
    return f"{name}\n{value}"


def _ends(match: Match) -> list[tuple[str, str, float]]:
    """(Key of a goal attribute, key of the state attribute compared with it, similarity) of each compared attribute."""
    return [(_key(a.name, a.value), _key(a.aligned, a.found or ""), a.similarity)
            for a in match.attributes if a.aligned is not None]  # fmt: skip


def _product(match: Match) -> str:
    """The fit as a formula: identity similarity times the mean of the attributes' (Eq. 7)."""
    if match.entity is None or not match.attributes:
        return f"fit {match.score:.2f}"
    mean = sum(attribute.similarity for attribute in match.attributes) / len(match.attributes)
    return f"fit {match.score:.2f} = {match.identity:.2f} × {mean:.2f}"


def _join(canvas: Canvas, start: tuple[float, float], end: tuple[float, float], similarity: float) -> None:
    """Draw a line with its similarity: first straight out of the box, below the number, then across."""
    bend, strength = (start[0] + 0.45, start[1]), min(max(similarity, 0.0), 1.0)
    canvas.axes.plot(*zip(start, bend, end, strict=True), color=FITS(0.15 + 0.85 * strength), zorder=1,
                     linewidth=0.5 + 3 * strength, solid_joinstyle="round")  # fmt: skip
    canvas.lines(start[0] + 0.22, start[1], [f"{similarity:.2f}"], SMALL, ha="center", zorder=3,
                 bbox={"boxstyle": "round,pad=0.12", "facecolor": "white", "edgecolor": "none"})  # fmt: skip


def _draw_box(
    canvas: Canvas, box: _Box, top: float, edges: tuple[float, float], fill: str = drawing.PALE, edge: Any = QUIET,
    ink: str = INK, size: float = SIZE,
) -> None:  # fmt: skip
    left, right = edges
    canvas.box(left, top + box.top, right - left, box.height, fill, edge, zorder=2)
    for key, text in box.lines.items():
        style: dict[str, Any] = {"fontweight": "bold"} if not key else {}
        room = right - left - 2 * PAD - (width(box.note, SMALL) + PAD if not key and box.note else 0)
        canvas.text(left + PAD, top + box.middle(key), text, size, room, color=ink, **style)
    canvas.lines(right - PAD, top + box.middle(""), [box.note], SMALL, ha="right", color=ink)
