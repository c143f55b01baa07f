"""The layout of a network of places on a page: the target in the middle, neighbours and outer places on rings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations, product
from math import cos, hypot, pi, sin
from typing import NamedTuple

from procllm.domains.units.request import MovementProblem

NEAR, FAR = 1.15, 2.4  # radius of the neighbours' ring and of the outer places'
SPREAD = 0.5  # angle between the outer places of a section
CLEARANCE = 0.34  # of an edge from places that it does not join
PUSHES = tuple(side * step / 8 for step in range(20) for side in (1, -1))  # how far an edge's bend may be pushed aside

Sections = Mapping[str, Sequence[str]]
Edge = tuple[str, str]


class Point(NamedTuple):
    """A place on the page; the target is at (0, 0)."""

    x: float
    y: float

    @property
    def radius(self) -> float:
        """The distance from the middle."""
        return hypot(*self)


def around(radius: float, angle: float) -> Point:
    """The point at an angle, clockwise from the top."""
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
    for place, beside in problem.network.items():
        yield from ((place, other) for other in beside if order[place] < order[other])


def arranged(problem: MovementProblem) -> dict[str, tuple[str, ...]]:
    """The sections, and the outer places in each, in the order that makes edges between outer places shortest."""
    sections = sections_of(problem)
    outer = {place for places in sections.values() for place in places}
    edges = [edge for edge in edges_of(problem) if outer.issuperset(edge)]
    return min(_arrangements(sections), key=lambda each: _length(each, edges))


def _arrangements(sections: Sections) -> Iterator[dict[str, tuple[str, ...]]]:
    first, *others = sections
    for rest in permutations(others):
        if rest[0] > rest[-1]:
            continue  # the mirror image of another order
        order = (first, *rest)
        for inner in product(*(permutations(sections[neighbour]) for neighbour in order)):
            yield dict(zip(order, inner, strict=True))


def _length(sections: Sections, edges: Sequence[Edge]) -> int:
    """How many places the edges span on the outer ring, in all."""
    slot = {place: number for number, place in enumerate(place for places in sections.values() for place in places)}
    spans = (abs(slot[one] - slot[other]) for one, other in edges)
    return sum(min(span, len(slot) - span) for span in spans)


def points_of(problem: MovementProblem, sections: Sections) -> dict[str, Point]:
    """Place -> point."""
    points = {problem.target: Point(0.0, 0.0)}
    for number, (neighbour, outer) in enumerate(sections.items()):
        angle = 2 * pi * number / len(sections)
        points[neighbour] = around(NEAR, angle)
        for place, name in enumerate(outer):
            points[name] = around(FAR, angle + SPREAD * (place - (len(outer) - 1) / 2))
    return points


def bend(one: Point, other: Point, points: Collection[Point]) -> Point:
    """The control point of the curve between two places: as straight as it can be while it keeps clear of the others.

    Where none does, the one that comes nearest to it.
    """
    others = [point for point in points if point not in (one, other)]
    middle, across = Point((one.x + other.x) / 2, (one.y + other.y) / 2), Point(one.y - other.y, other.x - one.x)
    length = across.radius
    controls = [Point(middle.x + push * across.x / length, middle.y + push * across.y / length) for push in PUSHES]
    fits: list[tuple[float, Point]] = []
    for control in controls:
        fits.append((_clearance(one, control, other, others), control))
        if fits[-1][0] >= CLEARANCE:
            return control
    return max(fits)[1]


def _clearance(one: Point, control: Point, other: Point, others: Sequence[Point]) -> float:
    """How near the curve comes to other places, or to leaving the outer ring, where the names are."""
    curve = [_on_curve(one, control, other, number / 24) for number in range(1, 24)]
    inside = CLEARANCE + min(0.0, FAR + 0.06 - max(point.radius for point in curve))
    return min(inside, *(hypot(point.x - place.x, point.y - place.y) for point in curve for place in others))


def _on_curve(one: Point, control: Point, other: Point, along: float) -> Point:
    """The point of a quadratic curve, along: from 0 to 1."""
    first, second, third = (1 - along) ** 2, 2 * along * (1 - along), along**2
    return Point(
        first * one.x + second * control.x + third * other.x, first * one.y + second * control.y + third * other.y
    )
