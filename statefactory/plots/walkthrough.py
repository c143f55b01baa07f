"""A trajectory as one picture: rewards over the steps, how the goal's objects fit, and the matching of a step."""

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
# White to the blue of predicted rewards, for fits in [0, 1].
FITS = LinearSegmentedColormap.from_list("fit", ["#f4f7fa", "#9fc6e3", PREDICTED])
COLORS = {"anchored": "#9a4fa8", "added": "#9a4fa8", "rise": drawing.GREEN, "fall": drawing.RED}
SIGNS = {"anchored": "◆", "added": "◆", "rise": "▲", "fall": "▼"}
MARKERS = {"anchored": "D", "added": "D", "rise": "^", "fall": "v"}
WIDTH, LEFT, RIGHT, EDGE = 12.5, 2.0, 2.45, 0.2  # inches: of the figure, and of its margins
CURVE, CELL, LINE = 2.4, 0.34, 0.165  # inches: of the rewards, of a row of fits, and of a line of small text
ROW, GAP, PAD, HEAD = 0.22, 0.15, 0.09, 0.3  # inches, of the matching: a line, between boxes, in them, and above
# Its columns, as parts of the width: the goal's objects, those that they took, and others. Between the first two run
# the lines.
COLUMNS = {
    "The goal's objects": (0.0, 0.33),
    "The state objects that fit them best": (0.445, 0.745),
    "Other state objects": (0.775, 1.0),
}
ATTRIBUTES = 7  # of a state object that are shown; those that were compared always are
JUMPS = 6  # that get a flag: the largest
SIZE, SMALL = 9.5, 8.5  # points
TILT, LONGEST = radians(40), 2.4  # of the actions: how they are slanted, and inches
KEY = "◆ the goal is anchored to what was seen, or extended by it      ▲▼ largest changes of a goal object's fit"
RULE = "reward = mean of the fits;  fit = identity × mean of attributes;  on a line: similarity"


def draw_walkthrough(
    walked: Walkthrough, negative: Sequence[float] | np.ndarray = (), step: int = -1, note: str = ""
) -> Figure:
    """One trajectory, readable without its text.

    Above, the rewards over the steps with the truth, flags where the goal was anchored to an object or a fit jumped;
    under it a row of fits for each object of the goal, and the actions; below, which state objects the goal took at
    `step` (from 1; -1 for the last). A number on a line is a similarity. negative: the rewards of the pair's negative.
    note: how the numbers came to be.
    """
    index, wide = walked.index_of(step), (WIDTH - LEFT - RIGHT) / len(walked)
    xs = [LEFT + (number + 0.5) * wide for number in range(len(walked))]
    title = wrapped(f"Task: {walked.row.goal_description}", WIDTH - 2 * EDGE, SIZE + 2, 3)
    poles, actions, matching = _poles(walked, xs), _actions(walked, index, xs), _Matching(walked, index)
    top = 0.6 + 0.23 * len(title) + max([flag.bottom + LINE * len(flag.lines) for flag in poles], default=0.0)
    fits_top = top + CURVE + 0.1
    fits_bottom = fits_top + CELL * max(1, len(walked.parts))
    heading = fits_bottom + max(width(text, SMALL) for text in actions.values()) * sin(TILT) + 0.5
    canvas = Canvas(WIDTH, heading + 0.2 + matching.height + EDGE, note or " ")
    canvas.lines(EDGE, canvas.lines(EDGE, 0.25, title, SIZE + 2), [KEY], SMALL, color=QUIET)
    canvas.box(LEFT + index * wide, top, wide, CURVE, "#ededed", "none", boxstyle="square,pad=0", zorder=0)
    points = draw_rewards(canvas, walked, negative, xs, top, CURVE)
    _draw_flags(canvas, walked, poles, points, top)
    _draw_fits(canvas, walked, xs, fits_top, wide)
    canvas.box(LEFT + index * wide, fits_top, wide, fits_bottom - fits_top, "none", INK, boxstyle="square,pad=0")
    for number, text in actions.items():
        canvas.lines(xs[number - 1], fits_bottom + 0.08, [text], SMALL, rotation=np.degrees(TILT), ha="right", va="top",
                     rotation_mode="anchor")  # fmt: skip
    action = fitted(walked.row.actions[index], 4.6, SIZE + 1, bold=True)
    said = f"Step {index + 1}, {action}: reward {walked.rewards[index]:.2f}"
    canvas.lines(EDGE, heading, [said], SIZE + 1, fontweight="bold")
    canvas.lines(WIDTH - EDGE, heading, [RULE], SMALL, ha="right", color=QUIET)
    matching.draw(canvas, heading + 0.2)
    return canvas.figure


def draw_rewards(
    canvas: Canvas, walked: Walkthrough, negative: Sequence[float] | np.ndarray, xs: Sequence[float], top: float,
    height: float, size: float = SIZE,
) -> list[tuple[float, float]]:  # fmt: skip
    """Curves of the rewards, with their names at their ends; returns where the predicted ones are, in inches.

    xs: of the steps. size: of the names, in points.
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
    below = 0.0  # names stand one below the other
    for name, end in sorted(ends.items(), key=lambda item: item[1]):
        below = max(below, end)
        canvas.lines(right + 0.1, below, [name], size, color=curves[name][1], fontweight="bold")
        below += 1.4 * size / 72
    return [(x, at(reward)) for x, reward in zip(xs, walked.rewards, strict=True)]


def _poles(walked: Walkthrough, xs: Sequence[float]) -> list[Flag]:
    """Flags for every change of the goal and the largest jumps, in inches above the curve."""
    events = walked.events()
    largest = sorted((event for event in events if event.change), key=lambda event: -abs(event.change))[:JUMPS]
    shown = [event for event in events if not event.change or event in largest]
    by_step = {step: list(group) for step, group in groupby(shown, key=lambda event: event.step)}
    texts = [(xs[step - 1], _said(group, min(3.3, WIDTH - EDGE - xs[step - 1]))) for step, group in by_step.items()]
    return flags(texts, SMALL)


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
    """Step -> its numbered action, or several alike; a few where there is little room.

    What has a remark comes first, and the ends.
    """
    remarkable = {1, len(walked), index + 1, *(event.step for event in walked.events())}
    equal = [list(run) for _, run in groupby(enumerate(walked.row.actions, start=1), key=lambda numbered: numbered[1])]
    runs = [(run[0][0], run[-1][0], run[0][1]) for run in equal]
    chosen: dict[int, str] = {}
    for first, last, action in sorted(runs, key=lambda run: (remarkable.isdisjoint(range(run[0], run[1] + 1)), run[0])):
        if all(abs(xs[first - 1] - xs[other - 1]) >= 0.26 for other in chosen):
            numbers = str(first) if first == last else f"{first}–{last}"
            room = min(LONGEST, (xs[first - 1] - EDGE) / cos(TILT))
            chosen[first] = fitted(f"{numbers}  {action.replace(' the ', ' ')}", room, SMALL)
    return chosen


# --- the matching of one step -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Box:
    """An object as a box. lines: by which attribute each shows, "" for the identity. top: in inches below the heads.

    note: at the right of its first line.
    """

    lines: Mapping[str, str]
    top: float
    note: str = ""

    @property
    def height(self) -> float:
        return len(self.lines) * ROW + PAD

    def middle(self, key: str) -> float:
        """The height of a line's middle."""
        return self.top + PAD / 2 + (list(self.lines).index(key) + 0.5) * ROW


class _Matching:
    """Goal objects on the left, the state objects that they took, and the others, greyed.

    goal, taken, others: boxes from top to bottom; a state object stands where it was first taken. hidden: others that
    have no room.
    """

    def __init__(self, walked: Walkthrough, index: int) -> None:
        self.matches, state = walked.matches[index], walked.states[index]
        self.goal = _stacked([(_lines(match.goal, (), 10**6), _product(match)) for match in self.matches])
        compared: dict[Entity, dict[str, None]] = {}
        for match in self.matches:  # several goal objects may take the same state object
            if match.entity is not None:
                compared.setdefault(match.entity, {}).update(dict.fromkeys(offered for _, offered, _ in _ends(match)))
        boxes = _stacked([(_lines(entity, keys, ATTRIBUTES), "") for entity, keys in compared.items()])
        self.taken = dict(zip(compared, boxes, strict=True))
        others = _stacked([(_lines(entity, (), 3), "") for entity in state if entity not in compared])
        self.height = max(_bottom(self.goal), _bottom(boxes), min(_bottom(others), HEAD + 12 * ROW))
        fitting = [box for box in others if box.top + box.height <= self.height - ROW]
        self.others = fitting if _bottom(others) > self.height else others
        self.hidden = len(others) - len(self.others)

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw it over the whole width."""
        whole = WIDTH - 2 * EDGE
        columns = [(EDGE + left * whole, EDGE + right * whole) for left, right in COLUMNS.values()]
        for (left, _), head in zip(columns, COLUMNS, strict=True):
            canvas.lines(left, top + HEAD / 2, [head], SIZE, color=QUIET)
        for match, wanted in zip(self.matches, self.goal, strict=True):
            if match.entity is not None:
                for own, offered, similarity in [("", "", match.identity), *_ends(match)]:
                    start = columns[0][1], top + wanted.middle(own)
                    end = columns[1][0], top + self.taken[match.entity].middle(offered)
                    _join(canvas, start, end, similarity)
            _draw_box(canvas, wanted, top, columns[0], edge=FITS(match.score))
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
    """Where the next box would begin."""
    return boxes[-1].top + boxes[-1].height + GAP if boxes else HEAD


def _lines(entity: Entity, first: Iterable[str], room: int) -> dict[str, str]:
    """The lines of an object's box. first: the attributes that were compared, so that few lines cross."""
    own = {_key(a.name, a.value): f"{a.name}: {a.value}" if a.name else a.value for a in entity.attributes}
    compared = {key: own[key] for key in first}
    others = [key for key in own if key not in compared]
    spare = max(0, room - len(compared))
    more = {"more": f"… {len(others) - spare} more"} if len(others) > spare else {}
    return {"": entity.identity or "(no name)", **compared, **{key: own[key] for key in others[:spare]}, **more}


def _key(name: str, value: str) -> str:
    return f"{name}\n{value}"


def _ends(match: Match) -> list[tuple[str, str, float]]:
    """The goal's attributes and those that they were compared with, by their lines, and the similarity."""
    return [(_key(a.name, a.value), _key(a.aligned, a.found or ""), a.similarity)
            for a in match.attributes if a.aligned is not None]  # fmt: skip


def _product(match: Match) -> str:
    """How the fit comes about: identity times the mean of the attributes (Eq. 7)."""
    if match.entity is None or not match.attributes:
        return f"fit {match.score:.2f}"
    mean = sum(attribute.similarity for attribute in match.attributes) / len(match.attributes)
    return f"fit {match.score:.2f} = {match.identity:.2f} × {mean:.2f}"


def _join(canvas: Canvas, start: tuple[float, float], end: tuple[float, float], similarity: float) -> None:
    """Straight out of the box, where its number stands, then across."""
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
