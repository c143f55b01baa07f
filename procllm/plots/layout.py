"""Where the tasks and methods of a network lie, in inches from the top left: subtasks at the right, in their order.

Names are sentences, so they stand one below another. A task and all below it keep to a band of their own, and each
level to a column of its own: nothing can overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from lab.results.text import POINTS, most_width, wrapped_names
from procllm.network import Network

TASK, HEAD = 9.0, 8.0  # points
TASK_ROOM, HEAD_ROOM = 1.75, 1.15  # inches: of a line of text
TASK_LINES, HEAD_LINES = 4, 3
SPACING = 1.25  # of lines, in heights of the font
PAD, ROUND = 0.11, 0.16  # inches: around the text of a task, and beside that of a method
GAP, JOINT = 0.2, 0.26  # inches: between bands, and between columns


class Box(NamedTuple):
    """A text with a border, in inches; y grows downwards."""

    left: float
    top: float
    width: float
    height: float
    lines: tuple[str, ...]

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def middle(self) -> float:
        """Half-way down."""
        return self.top + self.height / 2

    def moved(self, right: float, down: float) -> Box:
        return self._replace(left=self.left + right, top=self.top + down)


class Node(NamedTuple):
    """A task of the tree. parent: its place among the nodes. oval: its method's, where that has subtasks."""

    name: str
    parent: int | None
    box: Box
    oval: Box | None

    def moved(self, right: float, down: float) -> Node:
        return self._replace(box=self.box.moved(right, down), oval=self.oval and self.oval.moved(right, down))


class Layout(NamedTuple):
    """Nodes as `Network.tree` lists them, and the size of them all."""

    nodes: tuple[Node, ...]
    width: float
    height: float

    def moved(self, right: float, down: float) -> Layout:
        """The same tree elsewhere."""
        return self._replace(nodes=tuple(node.moved(right, down) for node in self.nodes))


def laid_out(network: Network) -> Layout:
    """The tree of a network that was checked; a circle would be drawn for ever."""
    depths, names = zip(*network.tree(), strict=True)
    parents = _parents(depths)
    tasks = [_sized(name, TASK_ROOM, TASK, TASK_LINES, PAD) for name in names]
    # A task that is worked on as it is has no oval.
    methods = [network.find_first_relevant(name) for name in names]
    ovals = [_sized(method.head or " ", HEAD_ROOM, HEAD, HEAD_LINES, ROUND) if method and method.subtasks else None
             for method in methods]  # fmt: skip
    cells = list(zip(tasks, ovals, strict=True))
    bands = _bands(parents, [max(box.height for box in pair if box) for pair in cells])
    # Columns: tasks of the first level, their methods, tasks of the second, ...
    columns = _columns(depths, cells)
    nodes = tuple(
        Node(name, parent, columns[2 * depth].put(box, band), oval and columns[2 * depth + 1].put(oval, band))
        for name, depth, parent, (box, oval), band in zip(names, depths, parents, cells, bands, strict=True)
    )
    return Layout(nodes, columns[-1].left + columns[-1].width, bands[0].height)


class _Column(NamedTuple):
    left: float
    width: float

    def put(self, box: Box, band: _Band) -> Box:
        """A box as wide as the column, in the middle of its band."""
        top = band.top + (band.height - box.height) / 2
        return box._replace(left=self.left, width=self.width, top=top)


class _Band(NamedTuple):
    top: float
    height: float


def _parents(depths: Sequence[int]) -> list[int | None]:
    """Of each node, the last one before it that is a level higher."""
    latest: dict[int, int] = {}
    parents = []
    for number, depth in enumerate(depths):
        parents.append(latest.get(depth - 1))
        latest[depth] = number
    return parents


def _sized(text: str, room: float, size: float, most: int, pad: float) -> Box:
    lines = wrapped_names(text, room, size, most)
    across = max((most_width(line, size) for line in lines), default=0.0) + 2 * pad
    return Box(0, 0, max(across, 0.5), max(1, len(lines)) * size * SPACING / POINTS + 2 * 0.6 * PAD, lines)


def _bands(parents: Sequence[int | None], heights: Sequence[float]) -> list[_Band]:
    """A band as high as the node, or as its subtasks' bands with the gaps between them, if that is more."""
    needed = list(heights)
    below = [-GAP] * len(heights)  # of all subtasks
    for number in reversed(range(len(heights))):
        needed[number] = max(heights[number], below[number])
        if (parent := parents[number]) is not None:
            below[parent] += needed[number] + GAP
    tops = [0.0] * len(heights)
    free = [0.0] * len(heights)  # where the next subtask begins
    for number, parent in enumerate(parents):
        if parent is not None:
            tops[number] = free[parent]
            free[parent] += needed[number] + GAP
        free[number] = tops[number] + (needed[number] - below[number]) / 2
    return [_Band(top, height) for top, height in zip(tops, needed, strict=True)]


def _columns(depths: Sequence[int], cells: Sequence[tuple[Box, Box | None]]) -> list[_Column]:
    """Each as wide as its widest box."""
    widths: dict[int, float] = {}
    for depth, pair in zip(depths, cells, strict=True):
        for column, box in enumerate(pair, 2 * depth):
            if box:
                widths[column] = max(widths.get(column, 0.0), box.width)
    across = [widths[column] for column in sorted(widths)]
    lefts = accumulate((width + JOINT for width in across), initial=0.0)
    return [_Column(left, width) for left, width in zip(lefts, across, strict=False)]
