"""The decomposition tree of a task network (figure 1 of the paper), the film of an episode along it, and plain text.

Names are sentences, so they stand one below another. A task and all below it keep to a band of their own, and each
level to a column of its own: nothing can overlap. Lengths are inches from the top left.
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

TASK, HEAD, WORD = 9.0, 8.0, 8.5  # points: of a task, of a method, and of the legend
TASK_ROOM, HEAD_ROOM = 1.75, 1.15  # of a line of text
TASK_LINES, HEAD_LINES = 4, 3
PAD, ROUND = 0.11, 0.16  # around the text of a task, and beside that of a method
GAP, JOINT = 0.2, 0.26  # between bands, and between columns
MARGIN, BETWEEN = 0.2, 0.55  # around the figure, and between its parts
NARROWEST, WIDEST = 4.4, 14.0  # one tree of a film, and a row of them; a wider tree has a row of its own
TITLE, SUBTITLE, BELOW = 10.0, 8.0, 0.14  # points, points, and inches below them
SAMPLE, ROW, BEHIND, APART = (0.36, 0.19), 0.36, 0.13, 0.28  # legend: a sample, a row, from it to its word, to the next
BADGE = 0.085  # the radius of a mark on a corner

# Blue and orange differ for every kind of color vision; marks and borders say the same without color.
METHOD_FILL, METHOD, PRIMITIVE, ACTIVE_FILL = "#e3eef7", "#0173b2", "0.86", "#ffc971"
PENDING, VERIFIED, ACTIVE = "0.35", "#016b50", "#b84e00"
QUIET, STRONG = "0.55", ACTIVE  # edges, and those that lead to the task worked on
# word -> how the legend's sample looks; "method" is drawn as one
ENTRIES: dict[str, dict[str, bool]] = {
    "complex task": {}, "primitive task": {"primitive": True}, "method": {}, "verified": {"verified": True},
    "worked on": {"active": True}, "verified just now": {"verified": True, "active": True},
}  # fmt: skip


class State(NamedTuple):
    """verified: tasks that passed, in that order. active: the one worked on, "" for none; it may have just passed."""

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
        """Half-way down."""
        return self.top + self.height / 2


class Node(NamedTuple):
    """A task of the tree. parent: its place among the nodes. oval: its method's, where that has subtasks."""

    name: str
    parent: int | None
    box: Box
    oval: Box | None


class Layout(NamedTuple):
    """Nodes as `Network.tree` lists them, and the size of them all."""

    nodes: tuple[Node, ...]
    width: float
    height: float


def state_at(trajectory: Trajectory, iteration: int) -> State:
    """The state once an iteration is over, counted from 1; 0 is before the first. Raises ValueError for any other."""
    count = len(trajectory.steps)
    if not 0 <= iteration <= count:
        raise ValueError(f"{trajectory.instance} has no iteration {iteration}; it has 1 to {count}, and 0 before them")
    return state_after(trajectory.steps[:iteration])


def state_after(steps: Sequence[Step]) -> State:
    """The state after these iterations, of an episode that may still go on."""
    return State(tuple(step.task for step in steps if step.outcome == "verified"), steps[-1].task if steps else "")


def to_text(network: Network, verified: Collection[str] = (), active: str = "") -> str:
    """The tree for a terminal, a task a line below its parent: [x] verified, [>] worked on, [ ] pending."""
    marks = {active: ">"} | dict.fromkeys(verified, "x")
    # On one line: a newline in a name would look like a task.
    names = [(depth, visible(" ".join(name.split())), marks.get(name, " ")) for depth, name in network.tree()]
    return "".join(f"{'    ' * depth}[{mark}] {name}\n" for depth, name, mark in names)


def tree(network: Network, verified: Collection[str] = (), active: str = "", title: str = "") -> Figure:
    """Figure 1: tasks as boxes, grey where they are primitive, methods as ovals; subtasks from top to bottom.

    verified, active: names of tasks, as in `State`. A subtask of two parents stands below each. A name too long for its
    box ends in an ellipsis; `to_text` has it whole.
    """
    return _drawn(laid_out(network), [(State(tuple(verified), active), title, "")])


def film(network: Network, trajectory: Trajectory, moments: int | Sequence[int] = 4) -> Figure:
    """The tree at several moments of an episode, each after the iteration that its title says.

    moments: how many, evenly spread from the first to the last, or which iterations. Raises ValueError for an iteration
    that the episode does not have.
    """
    count, panels = len(trajectory.steps), list[tuple[State, str, str]]()
    for iteration in spread(count, moments):
        state, title, did = state_at(trajectory, iteration), f"iteration {iteration} of {count}", ""
        if iteration:
            step = trajectory.steps[iteration - 1]
            title += f": {step.task}"
            did = f"{step.command or 'an answer that is no action'} → {step.outcome}"
        panels.append((state, title, did))
    return _drawn(laid_out(network), panels)


def spread(count: int, moments: int | Sequence[int]) -> list[int]:
    """Iterations to show of `count`: so many, evenly spread from the first to the last, or those that are listed.

    A single one is the last. Raises ValueError for no moment at all.
    """
    if not isinstance(moments, int):
        listed = list(moments)
    elif moments < 1 or count < 1:
        listed = [0] * (moments >= 1)
    else:
        listed = sorted({count - round(part * (count - 1) / max(moments - 1, 1)) for part in range(moments)})
    if not listed:
        raise ValueError("No moment to show; give a number from 1, or a list of iterations")
    return listed


def laid_out(network: Network) -> Layout:
    """The tree of a network that was checked; a circle would be drawn for ever."""

    @cache
    def cell(name: str) -> tuple[Box, Box | None, tuple[str, ...]]:
        """A task's box, its method's, and its subtasks; a task that is worked on as it is has no oval."""
        method = network.find_first_relevant(name)
        task = _sized(name, TASK_ROOM, TASK, TASK_LINES, PAD)
        if method is None or not method.subtasks:
            return task, None, ()
        return task, _sized(method.head or " ", HEAD_ROOM, HEAD, HEAD_LINES, ROUND), method.subtasks

    @cache
    def below(name: str) -> float:
        """The height of all subtasks' bands."""
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
        put = [box and box._replace(left=2 * depth + turn, top=middle - box.height / 2)
               for turn, box in enumerate((task, oval))]  # fmt: skip
        nodes.append(Node(name, parent, put[0] or task, put[1]))
        top += (band(name) - below(name)) / 2
        for subtask in subtasks:
            place(subtask, number, depth + 1, top)
            top += band(subtask) + GAP

    ((_, first), *_) = network.tree()
    place(first, None, 0, 0.0)
    used = sorted(column for column, width in widths.items() if width)
    lefts = {column: sum(widths[other] + JOINT for other in used if other < column) for column in used}

    def wide(box: Box) -> Box:
        """A box as wide as its column."""
        return box._replace(left=lefts[int(box.left)], width=widths[int(box.left)])

    boxes = tuple(node._replace(box=wide(node.box), oval=node.oval and wide(node.oval)) for node in nodes)
    return Layout(boxes, lefts[used[-1]] + widths[used[-1]], band(first))


def _sized(text: str, room: float, size: float, most: int, pad: float) -> Box:
    lines = wrapped_names(text, room, size, most)
    across = max((most_width(line, size) for line in lines), default=0.0) + 2 * pad
    return Box(0, 0, max(across, 0.5), max(1, len(lines)) * size * SPACING / POINTS + 2 * 0.6 * PAD, lines)


def _drawn(layout: Layout, panels: Sequence[tuple[State, str, str]]) -> Figure:
    """Panels (a state, its title, its subtitle) in rows from the left, and the legend below them."""
    room = max(layout.width, NARROWEST)
    titles = [(wrapped_names(title, room, TITLE, 2 if did else 3), wrapped_names(did, room, SUBTITLE, 1))
              for _, title, did in panels]  # fmt: skip
    heights = [(TITLE * len(title) + SUBTITLE * len(did)) * SPACING / POINTS for title, did in titles]
    head = max(height + BELOW * bool(height) for height in heights)
    # As many columns as have room, but no more than rows of equal length need.
    most = max(1, int((WIDEST + BETWEEN) / (room + BETWEEN)))
    columns = ceil(len(panels) / ceil(len(panels) / most))
    bottom = MARGIN + ceil(len(panels) / columns) * (head + layout.height + BETWEEN)
    width = columns * (room + BETWEEN) - BETWEEN
    entries = list(_legend(width, any(state.active in state.verified for state, *_ in panels)))
    canvas = Canvas(width + 2 * MARGIN, bottom + entries[-1][1].top + ROW + MARGIN / 2)
    for number, ((state, *_), (title, did)) in enumerate(zip(panels, titles, strict=True)):
        left = MARGIN + number % columns * (room + BETWEEN)
        top = MARGIN + number // columns * (head + layout.height + BETWEEN)
        y = canvas.lines(left, top + TITLE * SPACING / POINTS / 2, [*title], TITLE)
        canvas.lines(left, y - (TITLE - SUBTITLE) * SPACING / POINTS / 2, [*did], SUBTITLE, color="0.4")
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
    """The words with their samples, in rows of `room` inches. just_verified: whether a task is that."""
    left = top = 0.0
    for word in list(ENTRIES)[: None if just_verified else -1]:
        across = SAMPLE[0] + BEHIND + most_width(word, WORD)
        if left and left + across > room:
            left, top = 0.0, top + ROW
        yield word, Box(left, top, *SAMPLE, ())
        left += across + APART


def _draw_tree(canvas: Canvas, layout: Layout, state: State, left: float, top: float) -> None:
    def moved(box: Box) -> Box:
        return box._replace(left=box.left + left, top=box.top + top)

    nodes = [node._replace(box=moved(node.box), oval=node.oval and moved(node.oval)) for node in layout.nodes]
    leading = set[int]()  # nodes that are the active task, or above it
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
    """A task's box by its kind and state, and the mark of its state on the corner."""
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
