"""The decomposition tree of a task network (figure 1 of the paper), and the film of an episode along it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from lab.results.text import POINTS, wrapped_names
from procllm.network import Network
from procllm.plots import legend
from procllm.plots.layout import HEAD, JOINT, SPACING, TASK, Layout, laid_out
from procllm.plots.sheet import Sheet
from procllm.plots.states import State, spread, state_at
from procllm.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARGIN, BETWEEN = 0.2, 0.55  # inches: around the figure, and between its parts
NARROWEST, WIDEST = 4.4, 14.0  # inches: one tree of a film, and a row of them; a wider tree has a row of its own
TITLE, SUBTITLE, BELOW = 10.0, 8.0, 0.14  # points, points, and inches below them
QUIET, STRONG = "0.55", legend.ACTIVE  # edges, and those that lead to the task worked on


class Panel(NamedTuple):
    """A tree at one moment. title, subtitle: lines."""

    state: State
    title: tuple[str, ...] = ()
    subtitle: tuple[str, ...] = ()

    @property
    def height(self) -> float:
        """Of title and subtitle, in inches."""
        lines = TITLE * len(self.title) + SUBTITLE * len(self.subtitle)
        return lines * SPACING / POINTS + BELOW * bool(lines)


def tree(
    network: Network, verified: Collection[str] = (), active: str = "", axes: Axes | None = None, title: str = ""
) -> Figure:
    """Figure 1: tasks as boxes, grey where they are primitive, methods as ovals; subtasks from top to bottom.

    verified, active: names of tasks, as in `State`. A subtask of two parents stands below each. axes: where to draw, as
    large as there is room; by default a new figure as large as the tree. A name too long for its box ends in an
    ellipsis; `to_text` has it whole.
    """
    layout = laid_out(network)
    heading = wrapped_names(title, max(layout.width, NARROWEST), TITLE, 3) if title else ()
    return _drawn(layout, [Panel(State(tuple(verified), active), heading)], axes)


def film(network: Network, trajectory: Trajectory, moments: int | Sequence[int] = 4) -> Figure:
    """The tree at several moments of an episode, each after the iteration that its title says.

    moments: how many, evenly spread from the first to the last, or which iterations. Raises ValueError for an iteration
    that the episode does not have.
    """
    layout = laid_out(network)
    room = max(layout.width, NARROWEST)
    iterations = spread(len(trajectory.steps), moments)
    return _drawn(layout, [_panel(trajectory, iteration, room) for iteration in iterations], None)


def _panel(trajectory: Trajectory, iteration: int, room: float) -> Panel:
    state, title = state_at(trajectory, iteration), f"iteration {iteration} of {len(trajectory.steps)}"
    if not iteration:
        return Panel(state, (title,))
    step = trajectory.steps[iteration - 1]
    did = f"{step.command or 'an answer that is no action'} → {step.outcome}"
    return Panel(state, wrapped_names(f"{title}: {step.task}", room, TITLE, 2), wrapped_names(did, room, SUBTITLE, 1))


def _drawn(layout: Layout, panels: Sequence[Panel], axes: Axes | None) -> Figure:
    """The panels in rows from the left, and the legend below them."""
    across, head = max(layout.width, NARROWEST) + BETWEEN, max(panel.height for panel in panels)
    columns = _columns(len(panels), across)
    bottom = MARGIN + ceil(len(panels) / columns) * (head + layout.height + BETWEEN)
    entries = legend.laid_out(columns * across - BETWEEN, any(state.active in state.verified for state, *_ in panels))
    sheet = _sheet(axes, columns * across - BETWEEN + 2 * MARGIN, bottom + entries[-1].top + legend.ROW + MARGIN / 2)
    for number, panel in enumerate(panels):
        left = MARGIN + number % columns * across
        top = MARGIN + number // columns * (head + layout.height + BETWEEN)
        down = top
        for lines, size, color in ((panel.title, TITLE, "0.1"), (panel.subtitle, SUBTITLE, "0.4")):
            height = len(lines) * size * SPACING / POINTS
            sheet.write(left, down + height / 2, lines, size, color=color)
            down += height
        _draw_tree(sheet, layout.moved(left, top + head), panel.state)
    legend.draw(sheet, entries, MARGIN, bottom)
    return sheet.figure


def _columns(count: int, across: float) -> int:
    """As many as have room, but no more than rows of equal length need."""
    most = max(1, int((WIDEST + BETWEEN) / across))
    return ceil(count / ceil(count / most))


def _sheet(axes: Axes | None, width: float, height: float) -> Sheet:
    if axes is None:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=(width, height), layout="constrained")
        figure.set_layout_engine("none")  # "none" from the start would be forgotten when the figure is first saved
        axes = figure.add_axes((0, 0, 1, 1))
    return Sheet(axes, width, height)


def _draw_tree(sheet: Sheet, layout: Layout, state: State) -> None:
    leading = _leading(layout, state.active)
    for number, node in enumerate(layout.nodes):
        strong = number in leading
        if node.parent is not None:
            _draw_edge(sheet, layout, number, strong)
        legend.draw_task(sheet, node.box, not node.oval, node.name in state.verified, node.name == state.active, TASK)
        if node.oval:
            down = any(layout.nodes[one].parent == number for one in leading)
            sheet.line([(node.box.right, node.box.middle), (node.oval.left, node.oval.middle)], *_stroke(down))
            sheet.method(node.oval, legend.METHOD, HEAD)


def _draw_edge(sheet: Sheet, layout: Layout, number: int, strong: bool) -> None:
    """From the parent's method, along a trunk half-way between the columns."""
    node = layout.nodes[number]
    assert node.parent is not None, "the top task has no edge"
    oval = layout.nodes[node.parent].oval
    assert oval, "a task with subtasks has a method"
    trunk, height = node.box.left - JOINT / 2, node.box.middle
    sheet.line([(oval.right, oval.middle), (trunk, oval.middle), (trunk, height), (node.box.left, height)],
               *_stroke(strong), over=strong)  # fmt: skip


def _stroke(strong: bool) -> tuple[str, float]:
    return (STRONG, 2.2) if strong else (QUIET, 1.0)


def _leading(layout: Layout, active: str) -> set[int]:
    """Nodes that are the active task, or above it."""
    leading: set[int] = set()
    for number, node in reversed(list(enumerate(layout.nodes))):
        if node.name == active or number in leading:
            leading |= {number} if node.parent is None else {number, node.parent}
    return leading
