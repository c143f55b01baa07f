"""The content of the paper's Figure 1, drawn from an episode."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from lab.results import drawing
from lab.results.drawing import Canvas
from sdp.trajectory import Attempt, Trajectory

NOT_TRIED = "#949494"
WIDTH, EDGE, FIRST, GAP = 11.0, 0.25, 1.25, 0.24  # inches: of a drawing, its margin, its first column, between boxes
HEAD, ROW, BOX, CARD = 0.8, 1.15, 0.62, 2.15  # inches: heights of the title, a plan, a predicate, an attempt in full
LARGE, SIZE, SMALL = 14.0, 11.5, 10.5  # points


class Node(NamedTuple):
    """Consecutive predicates of a plan that are of one kind, and the attempts at them under this plan."""

    title: str
    attempts: tuple[Attempt, ...]
    certified: bool


def draw_idea(
    trajectory: Trajectory, title: str, shown: Mapping[int, str], names: Mapping[str, str], evidence: str
) -> Figure:
    """The content of the paper's Figure 1 in an episode: one row per plan, and below them some attempts in full.

    Consecutive predicates of one kind share a box. A tick is a certified attempt, a cross a rejected one; a dashed box
    was discarded by Replan. shown: the step of each attempt to show in full -> what Realize did. names: words for kinds
    of predicates. evidence: which engine played, and what is simulated.
    """
    rows = [_nodes(trajectory, number, names) for number in range(len(trajectory.plans))]
    across = (WIDTH - 2 * EDGE - FIRST + GAP) / max(map(len, rows))
    cards = HEAD + ROW * len(rows)
    canvas = Canvas(WIDTH, cards + CARD + EDGE / 2, evidence)
    canvas.text(EDGE, 0.3, title, LARGE, WIDTH - 2 * EDGE, fontweight="bold")
    for number, row in enumerate(rows):
        top = HEAD + ROW * number
        canvas.box(EDGE, top, FIRST - GAP, BOX, drawing.PALE_BLUE, drawing.BLUE)
        operator = trajectory.plans[number].operator.capitalize()
        canvas.middle(EDGE + (FIRST - GAP) / 2, top + BOX / 2, operator, SIZE, FIRST - GAP, fontweight="bold")
        for column, node in enumerate(row):
            _draw_node(canvas, node, EDGE + FIRST + column * across, top, across - GAP)
        if number + 1 < len(rows):  # Replan starts where this plan got stuck
            stuck = max(column for column, node in enumerate(row) if node.attempts)
            middle, below = EDGE + FIRST + stuck * across + (across - GAP) / 2, top + BOX + (ROW - BOX) / 2
            canvas.axes.plot([middle, middle, EDGE + (FIRST - GAP) / 2], [top + BOX, below, below], color=drawing.RED)
            canvas.arrow((EDGE + (FIRST - GAP) / 2, below), (EDGE + (FIRST - GAP) / 2, top + ROW), drawing.RED)
            failures = len(row[stuck].attempts)
            canvas.lines(middle + 0.1, below, [f"rejected {failures} times: the rest is planned anew"], SMALL,
                         color=drawing.RED)  # fmt: skip
    wide = (WIDTH - 2 * EDGE - GAP * (len(shown) - 1)) / len(shown)
    for column, (step, chosen) in enumerate(shown.items()):
        _draw_attempt(canvas, trajectory.attempts[step], chosen, EDGE + column * (wide + GAP), cards, wide)
    return canvas.figure


def _nodes(trajectory: Trajectory, number: int, names: Mapping[str, str]) -> list[Node]:
    """The predicates that a plan added, as boxes."""
    plan = trajectory.plans[number]
    nodes = []
    numbered = enumerate(plan.predicates[plan.start :], start=plan.start)
    for kind, group in groupby(numbered, key=lambda item: item[1].kind or item[1].text):
        positions = [position for position, _ in group]
        attempts = tuple(a for a in trajectory.attempts if a.plan == number and a.position in positions)
        certified = sum(attempt.k for attempt in attempts) >= len(positions)
        title = names.get(kind, kind)
        nodes.append(Node(f"{title} ×{len(positions)}" if len(positions) > 1 else title, attempts, certified))
    return nodes


def _draw_node(canvas: Canvas, node: Node, left: float, top: float, wide: float) -> None:
    style: dict[str, Any] = {"fill": drawing.PALE_GREEN, "edge": drawing.GREEN}
    if not node.certified:
        style = {"fill": drawing.PALE_RED, "edge": drawing.RED} if node.attempts else {
            "fill": "white", "edge": drawing.FAINT, "linestyle": (0, (3, 2))}  # fmt: skip
    canvas.arrow((left - GAP + 0.02, top + BOX / 2), (left - 0.02, top + BOX / 2))
    canvas.box(left, top, wide, BOX, **style)
    color = drawing.INK if node.attempts else NOT_TRIED
    canvas.middle(left + wide / 2, top + BOX / 2, node.title, SIZE, wide - 0.1, 2, color=color)
    for column, attempt in enumerate(node.attempts):
        shape, color = ("tick", drawing.GREEN) if attempt.k else ("cross", drawing.RED)
        canvas.mark(left + wide - 0.1 - 0.25 * (len(node.attempts) - 1 - column), top, shape, color)


def _draw_attempt(canvas: Canvas, attempt: Attempt, chosen: str, left: float, top: float, wide: float) -> None:
    color = drawing.GREEN if attempt.k else drawing.RED
    canvas.box(left, top, wide, CARD, "white", color)
    canvas.mark(left + 0.25, top + 0.27, "tick" if attempt.k else "cross", color, 0.13)
    observed = attempt.observation.get("text", "") if isinstance(attempt.observation, dict) else attempt.observation
    parts = {
        "predicate": attempt.target,
        "Realize": chosen,
        "observation": str(observed),
        "Validate": f"certified, k = {attempt.k}" if attempt.k else "rejected, k = 0",
    }
    y = top + 0.27
    for name, text in parts.items():
        canvas.lines(left + 0.5, y, [name], SMALL, color=drawing.QUIET)
        strong = {"color": color, "fontweight": "bold"} if name == "Validate" else {}
        y = canvas.text(left + 1.55, y, text, SMALL, wide - 1.7, 1 if name == "Realize" else 3, **strong) + 0.07
