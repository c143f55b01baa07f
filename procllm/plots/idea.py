"""The idea of ProcLLM in one figure: the network says what to work on, one model acts on files, another verifies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lab.results import drawing
from lab.results.drawing import Canvas
from procllm.domains import Domain
from procllm.files import File, listed
from procllm.network import Network
from procllm.plots.trees import state_at
from procllm.trajectory import Step, Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, EDGE = 11.0, 0.25  # inches: width of the figure, and its margin
TREE, INDENT, ROW, BOX = 4.05, 0.33, 0.47, 0.36  # inches: width of the network, of a level; height of a row, of a box
TOP, LOOP, STRIP = 1.12, 4.45, 0.36  # inches: top of both parts, left edge of the loop, height of an iteration
LARGE, SIZE, SMALL = 14.0, 11.5, 10.5  # points


def draw_idea(
    domain: Domain, trajectory: Trajectory, iteration: int, title: str, evidence: str, wrote: str = ""
) -> Figure:
    """What the paper's Figures 1 and 2 explain, shown on an episode under the domain's hand-made network.

    Left: the network, with the tasks verified after `iteration` (from 1). Right: that turn of the loop. Bottom: all
    iterations, below the task that they worked on. evidence: a label that says who played. wrote: the text that the
    acting model last wrote for the task.
    """
    network, files = domain.network, listed(domain.solver, bool(domain.tools_specification))
    strip = TOP + ROW * max(len(list(network.tree())), 8) + 0.85
    canvas = Canvas(WIDTH, strip + 0.1 + STRIP + 0.1, evidence)
    canvas.text(EDGE, 0.3, title, LARGE, WIDTH - 2 * EDGE, fontweight="bold")
    for x, word in ((EDGE, "The network says what to do"), (EDGE + LOOP, "One turn of the loop")):
        canvas.lines(x, 0.8, [word], SIZE, color=drawing.BLUE, fontweight="bold")
    _draw_network(canvas, network, trajectory, iteration)
    _draw_turn(canvas, network, files, trajectory.steps[:iteration], wrote, strip - 0.75)
    _draw_iterations(canvas, trajectory, iteration, strip)
    return canvas.figure


def _draw_network(canvas: Canvas, network: Network, trajectory: Trajectory, iteration: int) -> None:
    state = state_at(trajectory, iteration)
    above: dict[int, float] = {}
    for row, (depth, name) in enumerate(network.tree()):
        left, top = EDGE + INDENT * depth, TOP + ROW * row
        if depth:
            canvas.axes.plot([left - 0.16, left - 0.16, left], [above[depth - 1], top + BOX / 2, top + BOX / 2],
                             color=drawing.FAINT, linewidth=1.6, zorder=1)  # fmt: skip
        above[depth] = top + BOX
        fill, edge = "white", drawing.FAINT
        if name in state.verified:
            fill, edge = drawing.PALE_GREEN, drawing.GREEN
        if name == state.active:
            fill, edge = drawing.PALE_ORANGE, drawing.ORANGE
        canvas.box(left, top, EDGE + TREE - left, BOX, fill, edge)
        canvas.text(left + 0.12, top + BOX / 2, name, SIZE, EDGE + TREE - left - 0.4)
        if name in state.verified:
            canvas.mark(EDGE + TREE - 0.02, top + 0.02, "tick", drawing.GREEN)
        elif name == state.active:
            canvas.mark(EDGE + TREE - 0.02, top + 0.02, "arrow", drawing.ORANGE)


def _draw_turn(
    canvas: Canvas, network: Network, files: Sequence[File], steps: Sequence[Step], wrote: str, bottom: float
) -> None:
    """Draw the task, the acting model's last command for it, the files, and the verifying model's question."""
    step = steps[-1]
    last = next((entry for entry in reversed(steps) if entry.task == step.task and entry.command != "Verify"), step)
    left, wide = EDGE + LOOP, 2.75
    right = WIDTH - EDGE - wide
    tall = (bottom - TOP - 0.55) / 2
    lower = TOP + tall + 0.55
    method = network.find_first_relevant(step.task)
    passed = step.outcome == "verified"
    parents = [method.task for method in network.methods if step.task in method.subtasks]
    cards = (
        (left, TOP, "the task", step.task, f"a part of: {', '.join(parents)}" if parents else "", drawing.ORANGE),
        (right, TOP, "the acting model", last.command, wrote, drawing.BLUE),
        (right, lower, "the files", "", "", drawing.FAINT),
        (left, lower, "the verifying model: is it so?", method.effect if method else "", "", drawing.BLUE),
    )
    fills = {drawing.ORANGE: drawing.PALE_ORANGE, drawing.BLUE: drawing.PALE_BLUE, drawing.FAINT: drawing.PALE}
    for x, y, word, text, below, edge in cards:
        canvas.box(x, y, wide, tall, fills[edge], edge)
        canvas.lines(x + 0.14, y + 0.22, [word], SMALL, color=drawing.QUIET)
        after = canvas.text(x + 0.14, y + 0.5, text, SIZE, wide - 0.28, 4, fontweight="bold")
        canvas.text(x + 0.14, after + 0.06, below, SMALL, wide - 0.28, 4)
    canvas.arrow((left + wide + 0.03, TOP + tall / 2), (right - 0.03, TOP + tall / 2))
    canvas.arrow((right + wide / 2, TOP + tall + 0.03), (right + wide / 2, lower - 0.03))
    canvas.arrow((right - 0.03, lower + tall / 2), (left + wide + 0.03, lower + tall / 2))
    canvas.arrow((left + wide / 2, lower - 0.03), (left + wide / 2, TOP + tall + 0.03))
    color = drawing.GREEN if passed else drawing.RED
    canvas.mark(left + wide / 2 - 0.24, TOP + tall + 0.275, "tick" if passed else "cross", color, 0.14)
    label = "verified: next task" if passed else "not yet"
    canvas.lines(left + wide / 2 + 0.12, TOP + tall + 0.275, [label], SMALL, color=color, fontweight="bold")
    y = lower + 0.5
    for file in files:
        seen = method is not None and file.path in method.files
        style: dict[str, Any] = {"fontweight": "bold"} if seen else {"color": drawing.QUIET}
        canvas.text(right + 0.14, y, file.path.split("/")[-1], SMALL, wide - 1.2, **style)
        canvas.lines(right + wide - 0.14, y, ["read, write" if file.writable else "read"], SMALL, ha="right",
                     color=drawing.QUIET)  # fmt: skip
        y += 0.24


def _draw_iterations(canvas: Canvas, trajectory: Trajectory, iteration: int, top: float) -> None:
    """Draw a cell for each iteration: its command, or a tick or cross for a Verify."""
    wide = (WIDTH - 2 * EDGE) / len(trajectory.steps)
    runs = groupby(enumerate(trajectory.steps), key=lambda item: item[1].task)
    for number, (task, group) in enumerate(runs):
        steps = list(group)
        left = EDGE + steps[0][0] * wide
        canvas.axes.plot([left + 0.04, EDGE + (steps[-1][0] + 1) * wide - 0.04], [top + 0.02] * 2, linewidth=3,
                         color=drawing.BLUE if number % 2 else drawing.ORANGE, solid_capstyle="butt")  # fmt: skip
        canvas.middle(left + len(steps) * wide / 2, top - 0.2, task, SMALL - 2, len(steps) * wide + 0.05, 2)
        for index, step in steps:
            x = EDGE + index * wide
            edge = drawing.INK if index + 1 == iteration else drawing.FAINT
            canvas.box(
                x + 0.04, top + 0.1, wide - 0.08, STRIP, "white", edge, linewidth=2 if edge == drawing.INK else 1
            )
            if step.outcome in ("verified", "rejected"):
                verified = step.outcome == "verified"
                color = drawing.GREEN if verified else drawing.RED
                canvas.mark(x + wide / 2, top + 0.1 + STRIP / 2, "tick" if verified else "cross", color, 0.13)
            else:
                canvas.lines(x + wide / 2, top + 0.1 + STRIP / 2, [step.command.split()[0].lower()], SMALL - 1.5,
                             ha="center")  # fmt: skip
