"""The decomposition tree of a task network (figure 1 of the paper), at moments of an episode or as text.

Names of tasks are sentences, so tasks are drawn one below another. A task and its descendants have a horizontal band of
their own, and each level a column, so nothing overlaps. Lengths are inches from the top left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.printing import visible
from lab.results.drawing import SPACING, Canvas
from lab.results.text import POINTS, most_width, wrapped_names
from procllm.network import Network
from procllm.trajectory import Step, Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TASK, HEAD, WORD = 9.0, 8.0, 8.5  # font sizes in points: task, method, legend
TASK_ROOM, HEAD_ROOM = 1.75, 1.15  # width of a line of text, in a task and in a method
TASK_LINES, HEAD_LINES = 4, 3
PAD, ROUND = 0.11, 0.16  # around a task's text, and beside a method's
GAP, JOINT = 0.2, 0.26  # between bands, and between columns
MARGIN, BETWEEN = 0.2, 0.55  # around the figure, and between its parts
NARROWEST, WIDEST = 4.4, 14.0  # least width of a tree in a film, greatest of a row; a wider tree has its own row
TITLE, SUBTITLE, BELOW = 10.0, 8.0, 0.14  # points, points, and inches below them
SAMPLE, ROW, BEHIND, APART = (0.36, 0.19), 0.36, 0.13, 0.28  # legend: sample, row, gap before a word, gap after it
BADGE = 0.085  # the radius of a mark on a corner

# Blue and orange are distinct for all color vision; marks and borders show the same without color.
METHOD_FILL, METHOD, PRIMITIVE, ACTIVE_FILL = "#e3eef7", "#0173b2", "0.86", "#ffc971"
PENDING, VERIFIED, ACTIVE = "0.35", "#016b50", "#b84e00"
QUIET, STRONG = "0.55", ACTIVE  # edges, and edges on the path to the active task
# legend entry -> style of its sample, a task; "method" is drawn as a method
ENTRIES: dict[str, dict[str, bool]] = {
    "complex task": {}, "primitive task": {"primitive": True}, "method": {}, "verified": {"verified": True},
    "worked on": {"active": True}, "verified just now": {"verified": True, "active": True},
}  # fmt: skip


class State(NamedTuple):
    """verified: the verified tasks, in order. active: the task worked on, which may just have passed; "" for none."""

    verified: tuple[str, ...]
    active: str


class Box(NamedTuple):
    """A text with a border."""

    left: float
    top: float
    width: float
    height: float
    lines: tuple[str, ...]

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return self.top + self.height / 2


class Node(NamedTuple):
    """A task of the tree. parent: the index of its parent's node. oval: its method's box, if that has subtasks."""

    name: str
    parent: int | None
    box: Box
    oval: Box | None


class Layout(NamedTuple):
    """Nodes in the order of `Network.tree`, and the size of the whole tree."""

    nodes: tuple[Node, ...]
    width: float
    height: float


def state_at(trajectory: Trajectory, iteration: int) -> State:
    """The state after an iteration, from 1; 0 is before the first. Raises ValueError for any other number."""
    count = len(trajectory.steps)
    if not 0 <= iteration <= count:
        raise ValueError(f"{trajectory.instance} has no iteration {iteration}; it has 1 to {count}, and 0 before them")
    return state_after(trajectory.steps[:iteration])


def state_after(steps: Sequence[Step]) -> State:
    """The state after these steps of an episode, which may still be running."""
    return State(tuple(step.task for step in steps if step.outcome == "verified"), steps[-1].task if steps else "")


def to_text(network: Network, verified: Collection[str] = (), active: str = "") -> str:
    """The tree for a terminal, one indented line a task: [x] verified, [>] active, [ ] pending."""
    marks = {active: ">"} | dict.fromkeys(verified, "x")
    # Without newlines: the rest of a name would look like another task.
    names = [(depth, visible(" ".join(name.split())), marks.get(name, " ")) for depth, name in network.tree()]
    return "".join(f"{'    ' * depth}[{mark}] {name}\n" for depth, name, mark in names)


def tree(network: Network, verified: Collection[str] = (), active: str = "", title: str = "") -> Figure:
    """Figure 1: tasks as boxes, primitive ones in grey, methods as ovals, subtasks from top to bottom.

    verified, active: names of tasks, as in `State`. A subtask of two parents is drawn below each. A name too long for
    its box ends in an ellipsis; `to_text` shows it in full.
    """
    return _drawn(laid_out(network), [(State(tuple(verified), active), title, "")])


def film(network: Network, trajectory: Trajectory, moments: int | Sequence[int] = 4) -> Figure:
    """The tree at several moments of an episode; a title says after which iteration.

    moments: how many, evenly spread from the first iteration to the last, or a list of iterations. Raises ValueError
    for an iteration that the episode does not have.
    """
    count, panels = len(trajectory.steps), list[tuple[State, str, str]]()
    for iteration in spread(count, moments):
        state, title, subtitle = state_at(trajectory, iteration), f"iteration {iteration} of {count}", ""
        if iteration:
            step = trajectory.steps[iteration - 1]
            title += f": {step.task}"
            subtitle = f"{step.command or 'an answer that is no action'} → {step.outcome}"
        panels.append((state, title, subtitle))
    return _drawn(laid_out(network), panels)


def spread(count: int, moments: int | Sequence[int]) -> list[int]:
    """The iterations to show of `count`: `moments` of them, evenly spread from first to last, or the listed ones.

    A single one is the last. Raises ValueError if there is none.
    """
    if not isinstance(moments, int):
        listed = list(moments)
    elif moments < 1 or count < 1:
        listed = [0] * (moments >= 1)
    else:
        listed = sorted({count - round(index * (count - 1) / max(moments - 1, 1)) for index in range(moments)})
    if not listed:
        raise ValueError("No moment to show; give a number from 1, or a list of iterations")
    return listed


def laid_out(network: Network) -> Layout:
    """The layout of a validated network's tree; a cycle would never end."""

    @cache
    def cell(name: str) -> tuple[Box, Box | None, tuple[str, ...]]:
        """A task's box, its method's box, and its subtasks; a task without subtasks has no method box."""
        method = network.find_first_relevant(name)
        task = _sized(name, TASK_ROOM, TASK, TASK_LINES, PAD)
        if method is None or not method.subtasks:
            return task, None, ()
        return task, _sized(method.head or " ", HEAD_ROOM, HEAD, HEAD_LINES, ROUND), method.subtasks

    @cache
    def below(name: str) -> float:
        """The height of all subtasks' bands together."""
        subtasks = cell(name)[2]
        return sum(map(band, subtasks)) + GAP * (len(subtasks) - 1)

    @cache
    def band(name: str) -> float:
        return max(below(name), *(box.height for box in cell(name)[:2] if box))

    nodes, widths = list[Node](), dict[int, float]()

    def place(name: str, parent: int | None, depth: int, top: float) -> None:
        task, oval, subtasks = cell(name)
        middle, number = top + band(name) / 2, len(nodes)
        # Columns: tasks of the first level, their methods, tasks of the second, ...
        for column, box in enumerate((task, oval), 2 * depth):
            widths[column] = max(widths.get(column, 0.0), box.width if box else 0.0)
        moved = [box and box._replace(left=2 * depth + position, top=middle - box.height / 2)
               for position, box in enumerate((task, oval))]  # fmt: skip
        nodes.append(Node(name, parent, moved[0] or task, moved[1]))
        top += (band(name) - below(name)) / 2
        for subtask in subtasks:
            place(subtask, number, depth + 1, top)
            top += band(subtask) + GAP

    ((_, first), *_) = network.tree()
    place(first, None, 0, 0.0)
    used = sorted(column for column, width in widths.items() if width)
    lefts = {column: sum(widths[other] + JOINT for other in used if other < column) for column in used}

    def wide(box: Box) -> Box:
        """The box at the place of its column and with its width."""
        return box._replace(left=lefts[int(box.left)], width=widths[int(box.left)])

    boxes = tuple(node._replace(box=wide(node.box), oval=node.oval and wide(node.oval)) for node in nodes)
    return Layout(boxes, lefts[used[-1]] + widths[used[-1]], band(first))


def _sized(text: str, room: float, size: float, most: int, pad: float) -> Box:
    lines = wrapped_names(text, room, size, most)
    width = max((most_width(line, size) for line in lines), default=0.0) + 2 * pad
    return Box(0, 0, max(width, 0.5), max(1, len(lines)) * size * SPACING / POINTS + 2 * 0.6 * PAD, lines)


def _drawn(layout: Layout, panels: Sequence[tuple[State, str, str]]) -> Figure:
    """Draw panels (state, title, subtitle) in rows, and the legend below them."""
    room = max(layout.width, NARROWEST)
    titles = [(wrapped_names(title, room, TITLE, 2 if subtitle else 3), wrapped_names(subtitle, room, SUBTITLE, 1))
              for _, title, subtitle in panels]  # fmt: skip
    heights = [(TITLE * len(title) + SUBTITLE * len(subtitle)) * SPACING / POINTS for title, subtitle in titles]
    head = max(height + BELOW * bool(height) for height in heights)
    # As many columns as fit, but no more than rows of equal length need.
    most = max(1, int((WIDEST + BETWEEN) / (room + BETWEEN)))
    columns = ceil(len(panels) / ceil(len(panels) / most))
    bottom = MARGIN + ceil(len(panels) / columns) * (head + layout.height + BETWEEN)
    width = columns * (room + BETWEEN) - BETWEEN
    entries = list(_legend(width, any(state.active in state.verified for state, *_ in panels)))
    canvas = Canvas(width + 2 * MARGIN, bottom + entries[-1][1].top + ROW + MARGIN / 2)
    for number, ((state, *_), (title, subtitle)) in enumerate(zip(panels, titles, strict=True)):
        left = MARGIN + number % columns * (room + BETWEEN)
        top = MARGIN + number // columns * (head + layout.height + BETWEEN)
        y = canvas.lines(left, top + TITLE * SPACING / POINTS / 2, [*title], TITLE)
        canvas.lines(left, y - (TITLE - SUBTITLE) * SPACING / POINTS / 2, [*subtitle], SUBTITLE, color="0.4")
        _draw_tree(canvas, layout, state, left, top + head)
    for word, box in entries:
        sample = box._replace(left=box.left + MARGIN, top=box.top + bottom)
        if word == "method":
            _draw_method(canvas, sample)
        else:
            _draw_task(canvas, sample, **ENTRIES[word])
        canvas.lines(sample.right + BEHIND, sample.middle, [word], WORD)
    return canvas.figure


def _legend(room: float, just_verified: bool) -> Iterator[tuple[str, Box]]:
    """Legend entries and their samples, in rows of `room` inches. just_verified: include "verified just now"."""
    left = top = 0.0
    for word in list(ENTRIES)[: None if just_verified else -1]:
        width = SAMPLE[0] + BEHIND + most_width(word, WORD)
        if left and left + width > room:
            left, top = 0.0, top + ROW
        yield word, Box(left, top, *SAMPLE, ())
        left += width + APART


def _draw_tree(canvas: Canvas, layout: Layout, state: State, left: float, top: float) -> None:
    def moved(box: Box) -> Box:
        return box._replace(left=box.left + left, top=box.top + top)

    nodes = [node._replace(box=moved(node.box), oval=node.oval and moved(node.oval)) for node in layout.nodes]
    leading = set[int]()  # the active task's nodes, and their ancestors
    for number, node in reversed(list(enumerate(nodes))):
        if node.name == state.active or number in leading:
            leading |= {number} if node.parent is None else {number, node.parent}
    for number, node in enumerate(nodes):
        oval = None if node.parent is None else nodes[node.parent].oval
        if oval:  # from the parent's method, along a trunk half-way between the columns
            trunk, height = node.box.left - JOINT / 2, node.box.middle
            points = [(oval.right, oval.middle), (trunk, oval.middle), (trunk, height), (node.box.left, height)]
            _draw_edge(canvas, points, number in leading)
        _draw_task(canvas, node.box, not node.oval, node.name in state.verified, node.name == state.active)
        if node.oval:
            down = any(nodes[other].parent == number for other in leading)
            _draw_edge(canvas, [(node.box.right, node.box.middle), (node.oval.left, node.oval.middle)], down)
            _draw_method(canvas, node.oval)


def _draw_edge(canvas: Canvas, points: Sequence[tuple[float, float]], strong: bool) -> None:
    canvas.axes.plot(*zip(*points, strict=True), color=STRONG if strong else QUIET, linewidth=2.2 if strong else 1.0,
                     zorder=1 + strong, solid_joinstyle="round", solid_capstyle="butt")  # fmt: skip


def _draw_task(canvas: Canvas, box: Box, primitive: bool = False, verified: bool = False, active: bool = False) -> None:
    """Draw a task's box by its kind and state, with the mark of its state on the corner."""
    fill = ACTIVE_FILL if active else PRIMITIVE if primitive else "white"
    edge = ACTIVE if active else VERIFIED if verified else PENDING
    style: dict[str, Any] = {"linestyle": (0, (3.5, 2)) if verified else "solid"}
    _bordered(canvas, box, fill, edge, 0.06, TASK, linewidth=2.4 if active else 1.6 if verified else 1.0, **style)
    if verified or active:
        canvas.mark(box.right, box.top, "tick" if verified else "arrow", VERIFIED if verified else ACTIVE, BADGE)


def _draw_method(canvas: Canvas, box: Box) -> None:
    _bordered(canvas, box, METHOD_FILL, METHOD, min(box.height / 2, 0.2), HEAD, "italic", linewidth=1.0)


def _bordered(
    canvas: Canvas, box: Box, fill: str, edge: str, rounding: float, size: float, font: str = "normal", **style: Any
) -> None:
    boxstyle = f"round,pad=0,rounding_size={rounding}"
    canvas.box(box.left, box.top, box.width, box.height, fill, edge, boxstyle=boxstyle, **style)
    first = box.middle - (len(box.lines) - 1) / 2 * SPACING * size / POINTS
    canvas.lines(box.left + box.width / 2, first, [*box.lines], size, ha="center", style=font)
