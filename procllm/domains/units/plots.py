"""Plots of a Unit Movement problem, like figure A.1: where the units start, and where an answer sends them.

The target is in the middle; neighbours and outer places are on rings around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations, product
from math import cos, hypot, pi, sin, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from procllm.domains.units import SIDES, MovementProblem, after, held, read_moves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEAR, FAR = 1.15, 2.4  # radii of the rings of neighbours and of outer places
SPREAD = 0.5  # angle between the outer places of a section
CLEARANCE = 0.34  # desired distance of an edge from places that it does not join
PUSHES = tuple(side * step / 8 for step in range(20) for side in (1, -1))  # how far an edge's bend may be pushed aside

Sections = Mapping[str, Sequence[str]]
Edge = tuple[str, str]


class Point(NamedTuple):
    """A point of the plot; the target is at (0, 0)."""

    x: float
    y: float

    @property
    def radius(self) -> float:
        """The distance from the middle."""
        return hypot(*self)


def around(radius: float, angle: float) -> Point:
    """The point at a radius and an angle, in radians clockwise from the top."""
    return Point(radius * sin(angle), radius * cos(angle))


def sections_of(problem: MovementProblem) -> dict[str, tuple[str, ...]]:
    """Each neighbour of the target with its outer places."""
    taken = {problem.target, *problem.neighbours}
    sections = {}
    for neighbour in problem.neighbours:
        sections[neighbour] = tuple(place for place in problem.network[neighbour] if place not in taken)
        taken |= set(sections[neighbour])
    return sections


def edges_of(problem: MovementProblem) -> Iterator[Edge]:
    """Each edge once."""
    order = {place: number for number, place in enumerate(problem.network)}
    for place, adjacent in problem.network.items():
        yield from ((place, other) for other in adjacent if order[place] < order[other])


def arranged(problem: MovementProblem) -> dict[str, tuple[str, ...]]:
    """Neighbour -> its outer places, both in the order that makes edges between outer places shortest."""
    sections = sections_of(problem)
    outer = {place for places in sections.values() for place in places}
    edges = [edge for edge in edges_of(problem) if outer.issuperset(edge)]
    return min(_arrangements(sections), key=lambda arrangement: _length(arrangement, edges))


def _arrangements(sections: Sections) -> Iterator[dict[str, tuple[str, ...]]]:
    first, *others = sections
    for permutation in permutations(others):
        if permutation[0] > permutation[-1]:
            continue  # the mirror image of another order
        order = (first, *permutation)
        for inner in product(*(permutations(sections[neighbour]) for neighbour in order)):
            yield dict(zip(order, inner, strict=True))


def _length(sections: Sections, edges: Sequence[Edge]) -> int:
    """The sum of all edges' lengths, in positions along the outer ring."""
    slot = {place: number for number, place in enumerate(place for places in sections.values() for place in places)}
    spans = (abs(slot[start] - slot[end]) for start, end in edges)
    return sum(min(span, len(slot) - span) for span in spans)


def points_of(problem: MovementProblem, sections: Sections) -> dict[str, Point]:
    """Place -> its point."""
    points = {problem.target: Point(0.0, 0.0)}
    for number, (neighbour, outer) in enumerate(sections.items()):
        angle = 2 * pi * number / len(sections)
        points[neighbour] = around(NEAR, angle)
        for index, name in enumerate(outer):
            points[name] = around(FAR, angle + SPREAD * (index - (len(outer) - 1) / 2))
    return points


def bend(one: Point, other: Point, points: Collection[Point]) -> Point:
    """The control point of the curve between two places: the straightest curve that keeps its distance from all others.

    If none does, the one that keeps the largest distance.
    """
    others = [point for point in points if point not in (one, other)]
    middle, across = Point((one.x + other.x) / 2, (one.y + other.y) / 2), Point(one.y - other.y, other.x - one.x)
    length = across.radius
    controls = [Point(middle.x + push * across.x / length, middle.y + push * across.y / length) for push in PUSHES]
    candidates: list[tuple[float, Point]] = []
    for control in controls:
        candidates.append((_clearance(one, control, other, others), control))
        if candidates[-1][0] >= CLEARANCE:
            return control
    return max(candidates)[1]


def _clearance(one: Point, control: Point, other: Point, others: Sequence[Point]) -> float:
    """The least distance of the curve from other places, or from leaving the outer ring, where the names are."""
    curve = [_on_curve(one, control, other, number / 24) for number in range(1, 24)]
    inside = CLEARANCE + min(0.0, FAR + 0.06 - max(point.radius for point in curve))
    return min(inside, *(hypot(point.x - obstacle.x, point.y - obstacle.y) for point in curve for obstacle in others))


def _on_curve(one: Point, control: Point, other: Point, along: float) -> Point:
    """The point of a quadratic Bézier curve at `along`, from 0 to 1."""
    first, second, third = (1 - along) ** 2, 2 * along * (1 - along), along**2
    return Point(
        first * one.x + second * control.x + third * other.x, first * one.y + second * control.y + third * other.y
    )


BEFORE, AFTER = "#0173b2", "#d55e00"  # blue and vermilion of the suite's palette, distinct for all color vision
INK, GREY, EDGE, SHADE = "0.15", "0.45", "0.70", "0.96"
SIZE, SMALL = 10.0, 8.5  # points
PAPER = "0.98"  # between the page and SHADE
PLACE, RIM = 0.07, 0.34  # radius of an empty place; distance from a neighbour to its name
WIDE, HIGH = FAR + 1.1, FAR + 0.55  # half the plot's width and height


def draw(problem: MovementProblem, answer: str | None = None) -> Figure:
    """Plot the places around the target, and how many units are at each before and after the answer's moves.

    answer: as the checker reads it; None plots only the start. Raises BadAnswer for impossible moves.
    """
    import matplotlib.pyplot as plt

    places = None if answer is None else after(problem, read_moves(answer))
    sections = arranged(problem)
    points = points_of(problem, sections)
    figure, axes = plt.subplots(figsize=(8.4, 8.0))
    axes.set(xlim=(-WIDE, WIDE), ylim=(-HIGH, HIGH), aspect="equal")
    axes.axis("off")
    _draw_sections(axes, len(sections))
    _draw_edges(axes, problem, points)
    if places is not None:
        _draw_moves(axes, problem, points, places)
    _draw_places(axes, problem, points, places)
    _draw_names(axes, problem, points, places)
    _draw_call_signs(axes, problem, points)
    figure.suptitle(_title(problem, places), fontsize=SIZE + 1.5, color=INK)
    _draw_legend(figure, problem, places is not None)
    return figure


def _title(problem: MovementProblem, places: Mapping[str, str] | None) -> str:
    title = f"Surround {problem.target}: {problem.need} or more units at {SIDES} of the places next to it"
    if places is None:
        return title
    return f"{title}\nHeld after the moves: {', '.join(held(problem, places.values())) or 'none'}"


def _draw_sections(axes: Axes, count: int) -> None:
    """Draw a pale wedge for each neighbour with its outer places."""
    from matplotlib.patches import Wedge

    half = 180 / count
    for number in range(count):
        middle = 90 - 2 * half * number
        axes.add_patch(Wedge((0, 0), FAR + 0.1, middle - half + 1.5, middle + half - 1.5, color=SHADE, linewidth=0))


def _draw_edges(axes: Axes, problem: MovementProblem, points: Mapping[str, Point]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    for start, end in (map(points.__getitem__, edge) for edge in edges_of(problem)):
        curve = Path([start, bend(start, end, points.values()), end], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=EDGE, linewidth=1.2, zorder=1))


def _draw_moves(axes: Axes, problem: MovementProblem, points: Mapping[str, Point], places: Mapping[str, str]) -> None:
    """Draw an arrow for units that move together, wider for more units, and dashed if it follows no edge."""
    from matplotlib.patches import FancyArrowPatch

    flows = Counter((problem.units[unit], place) for unit, place in places.items() if problem.units[unit] != place)
    for (start, end), units in flows.items():
        edge = end in problem.network[start]
        style: dict[str, Any] = {} if edge else {"linestyle": (0, (2.2, 1.6)), "connectionstyle": "arc3,rad=0.12"}
        arrow = FancyArrowPatch(
            points[start], points[end], arrowstyle="-|>", mutation_scale=13, color=AFTER, alpha=0.75,
            linewidth=1.2 + 0.25 * units, shrinkA=22, shrinkB=24, zorder=2, **style,
        )  # fmt: skip
        axes.add_patch(arrow)


def _draw_places(
    axes: Axes, problem: MovementProblem, points: Mapping[str, Point], places: Mapping[str, str] | None
) -> None:
    """Draw a dot for each place, a star for the target, and discs with the numbers of units before and after."""
    enough = held(problem, places.values()) if places else []
    for place, point in points.items():
        _disc(axes, point, PLACE, "white", GREY)
        counts = _there(problem, place, places)
        right = point.x - _half(counts)  # two discs are side by side
        for color, units in counts.items():
            at, right = Point(right + _radius(units), point.y), right + 2 * _radius(units)
            _disc(axes, at, _radius(units), color, INK if place in enough and color == AFTER else "white")
            style: dict[str, Any] = {"color": "white", "fontsize": SIZE, "fontweight": "bold"}
            axes.text(*at, str(units), ha="center", va="center_baseline", zorder=5, **style)
    # The target is in the middle; see `points_of`.
    axes.plot(0, 0, marker="*", markersize=26, color=INK, markeredgecolor="white", zorder=4)


def _there(problem: MovementProblem, place: str, places: Mapping[str, str] | None) -> dict[str, int]:
    """Colour -> how many units are at a place before and after; zeros are left out."""
    phases = {BEFORE: problem.units, AFTER: places or {}}
    counts = {color: sum(at == place for at in unit_places.values()) for color, unit_places in phases.items()}
    return {color: units for color, units in counts.items() if units}


def _half(there: Mapping[str, int]) -> float:
    """Half the width of the discs at a place."""
    return sum(map(_radius, there.values())) or PLACE


def _radius(units: int) -> float:
    """The radius of a disc. Its area grows with the units, and one unit leaves room for its number."""
    return 0.11 + 0.035 * sqrt(units)


def _disc(axes: Axes, at: Point, radius: float, color: str, rim: str) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle(at, radius, facecolor=color, edgecolor=rim, linewidth=2 if rim == INK else 1.2, zorder=4))


def _draw_names(
    axes: Axes, problem: MovementProblem, points: Mapping[str, Point], places: Mapping[str, str] | None
) -> None:
    for place, point in points.items():
        inner = point.radius < (NEAR + FAR) / 2
        position, side = _name_inside(point) if inner else _name_outside(point, _half(_there(problem, place, places)))
        _write(axes, position, place, side, fontsize=SIZE, fontweight="bold" if inner else "normal", color=INK)


def _name_inside(point: Point) -> tuple[Point, str]:
    """Position and alignment of the name of the target or a neighbour, where no arrow comes in."""
    if point.radius < NEAR / 2:
        return Point(0.0, -RIM), "center"
    if abs(point.x) < abs(point.y):
        return Point(point.x + RIM, point.y), "left"
    inward = -0.12 if point.x < 0 else 0.12
    return Point(point.x + inward, point.y + RIM + 0.16), "left" if point.x < 0 else "right"


def _name_outside(point: Point, half: float) -> tuple[Point, str]:
    """Position and alignment of an outer place's name, off the ring. half: half the width of its discs."""
    if abs(point.x) < 0.3:
        return Point(point.x, point.y + (RIM if point.y > 0 else -RIM)), "center"
    side = 1 if point.x > 0 else -1
    return Point(point.x + side * (half + 0.08), point.y * 1.05), "left" if side > 0 else "right"


def _draw_call_signs(axes: Axes, problem: MovementProblem, points: Mapping[str, Point]) -> None:
    """Write under a neighbour's name how many units of each call sign start in its section."""
    for neighbour in problem.neighbours:
        section_units = (unit for unit, place in problem.units.items() if place in problem.network[neighbour])
        signs = Counter(unit.rpartition("_")[0] for unit in section_units)
        position, side = _name_inside(points[neighbour])
        text = ", ".join(f"{units} × {sign}" for sign, units in signs.items())
        _write(axes, Point(position.x, position.y - 0.18), text, side, fontsize=SMALL, color=BEFORE)


def _write(axes: Axes, at: Point, text: str, side: str, **look: Any) -> None:
    """Write a text with an outline, so that edges behind it leave it readable."""
    from matplotlib.patheffects import withStroke

    outline = [withStroke(linewidth=3, foreground=PAPER)]
    axes.text(*at, text, ha=side, va="center", zorder=6, path_effects=outline, **look)


def _draw_legend(figure: Figure, problem: MovementProblem, moved: bool) -> None:
    from matplotlib.lines import Line2D

    def disc(color: str, rim: str, label: str) -> Line2D:
        width = 2 if rim == INK else 1
        return Line2D([], [], marker="o", linestyle="", label=label, markersize=11, color=color,
                      markeredgecolor=rim, markeredgewidth=width)  # fmt: skip

    handles = [disc(BEFORE, "white", "units at the start")]
    if moved:
        handles += [disc(AFTER, "white", "units after the moves"), disc(AFTER, INK, f"{problem.need} or more: held")]
        handles += [Line2D([], [], color=AFTER, alpha=0.75, linewidth=2.5, label="moves (dashed: along no edge)")]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=SMALL + 0.5, frameon=False)
