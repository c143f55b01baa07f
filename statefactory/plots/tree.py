"""Figure of a search tree: a box per node with visits and value, and the chosen line highlighted."""

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
MOST = 50  # drawn nodes
SIBLINGS = 4  # unvisited children drawn per node, besides the chosen line, which is always drawn
CHOSEN, GAINED = drawing.ORANGE, drawing.BLUE


@dataclass
class DrawnNode:
    """A node with its position in the figure.

    row: vertical centre of its box, in rows from the top. hidden: children that are not drawn. hidden_row: row in which
    their number is printed.
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


def draw_tree(root: Node, title: str, evidence: str) -> Figure:
    """Draw a search tree from left to right.

    At most MOST nodes are drawn, the most visited ones first; of a node's unvisited children only the best SIBLINGS.
    The number of omitted children is printed below their siblings. evidence: origin of the search.
    """
    line = {id(node) for node in best_line(root)} | {id(root)}
    drawn_ids = _kept(root, line)
    tree = _arranged(root, drawn_ids)
    nodes = list(tree.all())
    # The number of hidden nodes is printed in their column.
    columns = 1 + max(drawn_node.depth + bool(drawn_node.hidden) for drawn_node in nodes)
    free_rows = [0.5] * columns
    _laid_out(tree, free_rows)
    figure_width = max(2 * EDGE + columns * COLUMN + (columns - 1) * GAP, 7.5)
    canvas = Canvas(figure_width, HEAD + (max(free_rows) - 0.5) * ROW + EDGE, evidence)
    canvas.text(EDGE, 0.28, title, LARGE, figure_width - 2 * EDGE, fontweight="bold")
    subtitle = "visits, then value: mean gain over the state before; in orange the chosen action and what it leads to"
    canvas.text(EDGE, 0.55, subtitle, SMALL, figure_width - 2 * EDGE, color=drawing.QUIET)
    highest = max((abs(node.value) for node, _ in in_order(root)), default=0.0) or 1.0
    for drawn_node in nodes:
        _draw(canvas, drawn_node, line, highest, root.visits)
    return canvas.figure


def _kept(root: Node, line: set[int]) -> set[int]:
    """The id() of the nodes to draw. Includes the chosen line, and the parent of every drawn node."""
    entries: list[tuple[tuple[bool, int, float], int, Node]] = []
    for index, (node, _) in enumerate(in_order(root)):
        ranked = sorted(node.children or (), key=lambda child: (child.visits, child.value), reverse=True)
        omitted = [id(child) for child in ranked if not child.visits][SIBLINGS:]
        for child in ranked:
            if id(child) not in omitted or id(child) in line:
                entries.append(((id(child) in line, child.visits, child.value), -index, child))
    # A child has at most its parent's visits, and in ties the parent comes first. So no child is kept without it.
    entries.sort(key=lambda entry: (entry[0][0], entry[0][1], entry[1], entry[0][2]), reverse=True)
    return {id(root), *(id(node) for *_, node in entries[: MOST - 1])} | line


def _arranged(node: Node, kept: set[int], depth: int = 0) -> DrawnNode:
    """The nodes to draw as a tree; the most visited child comes first."""
    ranked = sorted(node.children or (), key=lambda child: (child.visits, child.value), reverse=True)
    children = [_arranged(child, kept, depth + 1) for child in ranked if id(child) in kept]
    return DrawnNode(node, depth, children=children, hidden=[child for child in ranked if id(child) not in kept])


def _laid_out(shown: DrawnNode, free: list[float]) -> None:
    """Set the row of each node, as high as possible. A first child is on its parent's row.

    free: the next free row of each column. A node with children is placed below all nodes in the children's column, so
    that no two lines cross.
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
    if node.value > 0 and shown.depth:  # a stronger blue means a higher value
        canvas.box(left, middle - BOX / 2, COLUMN, BOX, GAINED, "none", alpha=0.45 * node.value / highest)
    numbers = f"{node.visits} · {_signed(node.value)}" if shown.depth else f"{node.visits} · score {node.score:.2f}"
    room = COLUMN - 0.2 - width(numbers, SMALL) - 0.08
    action = node.action if shown.depth else "now"
    bold: dict[str, Any] = {"fontweight": "bold"} if chosen else {}
    canvas.text(left + 0.1, middle, action + (" (end)" if node.done else ""), SIZE, room, **bold)
    text_color = drawing.INK if node.visits else drawing.QUIET
    canvas.lines(left + COLUMN - 0.1, middle, [numbers], SMALL, ha="right", color=text_color)
    for child in shown.children:
        _join(canvas, (left + COLUMN, middle), child, id(child.node) in line, visits)
    if shown.hidden:
        _say_hidden(canvas, shown, left + COLUMN + GAP)


def _join(canvas: Canvas, start: tuple[float, float], child: DrawnNode, chosen: bool, visits: int) -> None:
    """Draw the line to a child; its width grows with the child's visits."""
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
    """Format a value with sign and two decimals, without negative zero."""
    return f"{round(value, 2) + 0.0:+.2f}"
