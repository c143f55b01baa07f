"""A search tree as a picture: a box a node, with its visits and its value, and the chosen line through them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from matplotlib.figure import Figure

from lab.results import drawing
from lab.results.drawing import Canvas
from lab.results.text import width
from statefactory.planning.mcts import Node, best_line, in_order

COLUMN, GAP, ROW, BOX = 2.35, 0.45, 0.42, 0.34  # inches: a box's width, between columns, between rows, a box's height
EDGE, HEAD = 0.25, 0.75
LARGE, SIZE, SMALL = 13.0, 9.5, 8.5  # points
SIBLINGS = 4  # children that were not visited, shown at each node; the chosen line is always shown
CHOSEN, GAINED = drawing.ORANGE, drawing.BLUE


@dataclass
class DrawnNode:
    """A node as it is drawn. row: the middle of its box, in rows from the top. hidden: children that are not drawn.

    hidden_row: the row in which their number is drawn.
    """

    node: Node
    depth: int
    row: float = 0.0
    children: list[DrawnNode] = field(default_factory=list)
    hidden: list[Node] = field(default_factory=list)
    hidden_row: float = 0.0

    def all(self) -> Iterator[DrawnNode]:
        """This node and its drawn descendants."""
        yield self
        for child in self.children:
            yield from child.all()


def draw_tree(root: Node, title: str, evidence: str, most: int = 50, siblings: int = SIBLINGS) -> Figure:
    """A search tree from left to right.

    At most `most` nodes are drawn, the most visited ones first, and of a node's unvisited children the best `siblings`.
    The number of children left out is drawn below them. evidence: what kind of search it was.
    """
    line = {id(node) for node in best_line(root)} | {id(root)}
    kept = _kept(root, line, most, siblings)
    shown = _arranged(root, kept)
    nodes = list(shown.all())
    # What is left out is said where its nodes would stand.
    columns = 1 + max(drawn.depth + bool(drawn.hidden) for drawn in nodes)
    free = [0.5] * columns
    _laid_out(shown, free)
    wide = max(2 * EDGE + columns * COLUMN + (columns - 1) * GAP, 7.5)
    canvas = Canvas(wide, HEAD + (max(free) - 0.5) * ROW + EDGE, evidence)
    canvas.text(EDGE, 0.28, title, LARGE, wide - 2 * EDGE, fontweight="bold")
    subtitle = "visits, then value: mean gain over the state before; in orange the chosen action and what it leads to"
    canvas.text(EDGE, 0.55, subtitle, SMALL, wide - 2 * EDGE, color=drawing.QUIET)
    highest = max((abs(node.value) for node, _ in in_order(root)), default=0.0) or 1.0
    for drawn in nodes:
        _draw(canvas, drawn, line, highest, root.visits)
    return canvas.figure


def _kept(root: Node, line: set[int], most: int, siblings: int) -> set[int]:
    """The ids of the drawn nodes: always the chosen line, and with a child its parent."""
    wanted: list[tuple[tuple[bool, int, float], int, Node]] = []
    for number, (node, _) in enumerate(in_order(root)):
        ranked = sorted(node.children or (), key=lambda child: (child.visits, child.value), reverse=True)
        idle = [id(child) for child in ranked if not child.visits][siblings:]
        for child in ranked:
            if id(child) not in idle or id(child) in line:
                wanted.append(((id(child) in line, child.visits, child.value), -number, child))
    # A child has no more visits than its parent, and of equals the parent comes first: so none is kept without it.
    wanted.sort(key=lambda entry: (entry[0][0], entry[0][1], entry[1], entry[0][2]), reverse=True)
    return {id(root), *(id(node) for *_, node in wanted[: most - 1])} | line


def _arranged(node: Node, kept: set[int], depth: int = 0) -> DrawnNode:
    """The drawn nodes as a tree, the most visited child first."""
    ranked = sorted(node.children or (), key=lambda child: (child.visits, child.value), reverse=True)
    children = [_arranged(child, kept, depth + 1) for child in ranked if id(child) in kept]
    return DrawnNode(node, depth, children=children, hidden=[child for child in ranked if id(child) not in kept])


def _laid_out(shown: DrawnNode, free: list[float]) -> None:
    """Set the row of each node, as high as possible; a first child is level with its parent. free: next row by column.

    A node with children is below everything in their column, so that no two lines between columns cross.
    """
    shown.row = max(free[depth] for depth in _beside(shown))
    free[shown.depth] = shown.row + 1
    for child in shown.children:
        free[child.depth] = max(free[child.depth], shown.row)
        _laid_out(child, free)
    if shown.hidden:
        shown.hidden_row = max(free[shown.depth + 1] - 0.3, shown.row) if shown.children else shown.row
        free[shown.depth + 1] = shown.hidden_row + 0.9


def _beside(shown: DrawnNode) -> Iterator[int]:
    """The columns of a node, its first child, that child's first child, and so on."""
    yield shown.depth
    if shown.children:
        yield from _beside(shown.children[0])
    elif shown.hidden:
        yield shown.depth + 1


def _draw(canvas: Canvas, shown: DrawnNode, line: set[int], highest: float, visits: int) -> None:
    node, left, middle = shown.node, EDGE + shown.depth * (COLUMN + GAP), HEAD + shown.row * ROW
    chosen = id(node) in line
    edge = CHOSEN if chosen else drawing.FAINT
    canvas.box(left, middle - BOX / 2, COLUMN, BOX, "white", edge, linewidth=2.2 if chosen else 0.9)
    if node.value > 0 and shown.depth:  # the stronger the blue, the higher the value
        canvas.box(left, middle - BOX / 2, COLUMN, BOX, GAINED, "none", alpha=0.45 * node.value / highest)
    numbers = f"{node.visits} · {_signed(node.value)}" if shown.depth else f"{node.visits} · score {node.score:.2f}"
    room = COLUMN - 0.2 - width(numbers, SMALL) - 0.08
    action = node.action if shown.depth else "now"
    bold: dict[str, Any] = {"fontweight": "bold"} if chosen else {}
    canvas.text(left + 0.1, middle, action + (" (end)" if node.done else ""), SIZE, room, **bold)
    ink = drawing.INK if node.visits else drawing.QUIET
    canvas.lines(left + COLUMN - 0.1, middle, [numbers], SMALL, ha="right", color=ink)
    for child in shown.children:
        _join(canvas, (left + COLUMN, middle), child, id(child.node) in line, visits)
    if shown.hidden:
        _say_hidden(canvas, shown, left + COLUMN + GAP)


def _join(canvas: Canvas, start: tuple[float, float], child: DrawnNode, chosen: bool, visits: int) -> None:
    """The more visits, the thicker."""
    end = EDGE + child.depth * (COLUMN + GAP), HEAD + child.row * ROW
    bend = start[0] + GAP / 2
    canvas.axes.plot([start[0], bend, bend, end[0]], [start[1], start[1], end[1], end[1]], zorder=2 if chosen else 1,
                     color=CHOSEN if chosen else drawing.FAINT, linewidth=0.8 + 3 * child.node.visits / max(visits, 1),
                     solid_joinstyle="round")  # fmt: skip


def _say_hidden(canvas: Canvas, shown: DrawnNode, left: float) -> None:
    best = max(shown.hidden, key=lambda node: node.value)
    text = f"and {len(shown.hidden)} more, at best {_signed(best.value)}"
    canvas.text(left, HEAD + shown.hidden_row * ROW, text, SMALL, COLUMN, color=drawing.QUIET)


def _signed(value: float) -> str:
    """With two digits, and no zero below 0."""
    return f"{round(value, 2) + 0.0:+.2f}"
