"""The idea on one page: a text becomes a state, the state is compared with the goal, and the fit is the reward."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from lab.results import drawing
from lab.results.drawing import Canvas
from statefactory.plots.walkthrough import PREDICTED, draw_rewards
from statefactory.routing import Match
from statefactory.walkthrough import Walkthrough

WIDTH, EDGE, LEFT, GAP = 11.0, 0.25, 2.1, 0.3  # inches: of the drawing, its margin, its first column, between columns
TEXT, STATE, CURVE = (0.7, 1.3), (2.4, 1.25), (4.35, 1.75)  # inches: top and height of the three rows
LARGE, SIZE, SMALL = 14.0, 11.5, 10.5  # points


def draw_idea(
    walked: Walkthrough, negative: Sequence[float] | np.ndarray, steps: Sequence[int], note: str, evidence: str
) -> Figure:
    """The content of the paper's Figures 1 to 3, shown on one trajectory.

    Top: the observations at some `steps` (from 1). Middle: for each of them the state object that matches the goal's
    first object, with the similarity of each attribute. Bottom: the rewards of all steps, the truth, and the rewards of
    the pair's random trajectory, `negative`. note: text right of the goal, such as the distance to the truth. evidence:
    who extracted the states, and the origin of the texts.
    """
    canvas = Canvas(WIDTH, sum(CURVE) + 0.3, evidence)
    canvas.text(EDGE, 0.3, f"Goal: {walked.row.goal_description}", LARGE, 6.5, fontweight="bold")
    canvas.lines(WIDTH - EDGE, 0.3, [note], SMALL, ha="right", color=drawing.QUIET)
    indices = [walked.index_of(step) for step in steps]
    spacing = (WIDTH - 2 * EDGE - LEFT + GAP) / len(indices)
    lefts = [EDGE + LEFT + number * spacing for number in range(len(indices))]
    _say(canvas, TEXT, "Text", "what was done, and what the world said")
    _draw_goal(canvas, walked.matches[indices[-1]][0])
    _say(canvas, CURVE, "Reward", "how far the state fits the goal")
    step_width = (WIDTH - EDGE - 1.6 - lefts[0]) / len(walked)
    xs = [lefts[0] + (step + 0.5) * step_width for step in range(len(walked))]
    points = draw_rewards(canvas, walked, negative, xs, *CURVE, SIZE)
    for step, x in enumerate(xs, start=1):
        canvas.lines(x, sum(CURVE) + 0.1, [str(step)], SMALL, ha="center", color=drawing.QUIET)
    for left, index in zip(lefts, indices, strict=True):
        middle = left + (spacing - GAP) / 2
        _draw_text(canvas, walked, index, left, spacing - GAP)
        canvas.arrow((middle, sum(TEXT) + 0.03), (middle, STATE[0] - 0.03))
        _draw_state(canvas, walked.matches[index][0], left, spacing - GAP)
        reward = f"{walked.rewards[index]:.2f}"
        x, y = points[index]
        canvas.axes.plot([middle, x], [sum(STATE), y], color=PREDICTED, linewidth=1.2, linestyle=(0, (1, 1.5)))
        side, ha = (0.12, "left") if x < middle + 0.2 else (-0.12, "right")
        canvas.lines(middle + side, sum(STATE) + 0.22, [f"fit {reward}"], SIZE, ha=ha, color=PREDICTED,
                     fontweight="bold")  # fmt: skip
    return canvas.figure


def _say(canvas: Canvas, row: tuple[float, float], word: str, text: str) -> None:
    canvas.lines(EDGE, row[0] + 0.22, [word], LARGE, fontweight="bold", color=PREDICTED)
    canvas.text(EDGE, row[0] + 0.52, text, SMALL, LEFT - GAP, 3, color=drawing.QUIET)


def _draw_goal(canvas: Canvas, match: Match) -> None:
    """Draw the goal's first object, left of the states that it is compared with."""
    top, height = STATE
    canvas.box(EDGE, top, LEFT - GAP - 0.15, height, drawing.PALE_BLUE, PREDICTED)
    canvas.text(EDGE + 0.12, top + 0.2, f"Goal: {match.goal.identity}", SIZE, LEFT - GAP - 0.3, fontweight="bold")
    y = top + 0.53
    for attribute in match.goal.attributes:
        canvas.lines(EDGE + 0.12, y, [attribute.name], SMALL - 1.5, color=drawing.QUIET)
        y = canvas.text(EDGE + 0.12, y + 0.17, attribute.value, SMALL, LEFT - GAP - 0.35) + 0.02
    canvas.arrow((EDGE + LEFT - 0.12, top + height / 2), (EDGE + LEFT - GAP - 0.12, top + height / 2), PREDICTED)
    canvas.arrow((EDGE + LEFT - GAP + 0.02, top + height / 2), (EDGE + LEFT - 0.03, top + height / 2), PREDICTED)


def _draw_text(canvas: Canvas, walked: Walkthrough, index: int, left: float, wide: float) -> None:
    top, height = TEXT
    canvas.box(left, top, wide, height, drawing.PALE, drawing.FAINT)
    title = f"{index + 1}  {walked.row.actions[index]}"
    y = canvas.text(left + 0.12, top + 0.22, title, SIZE, wide - 0.24, 2, fontweight="bold")
    canvas.text(left + 0.12, y + 0.04, walked.row.observations[index], SMALL, wide - 0.24, 3)


def _draw_state(canvas: Canvas, match: Match, left: float, wide: float) -> None:
    """Draw the state object that matches the goal object, with the similarity of each compared attribute."""
    top, height = STATE
    canvas.box(left, top, wide, height, "white", PREDICTED)
    name = match.entity.identity if match.entity else "nothing"
    canvas.text(left + 0.12, top + 0.2, f"State: {name}", SIZE, wide - 0.24, fontweight="bold")
    y = top + 0.53
    for attribute in match.attributes:
        names_equal = attribute.aligned == attribute.name
        canvas.lines(left + 0.12, y, [attribute.name], SMALL - 1.5, color=drawing.QUIET)
        value = attribute.found if names_equal and attribute.found else "not known"
        canvas.text(
            left + 0.12, y + 0.17, value, SMALL, wide - 0.85, color=drawing.INK if names_equal else drawing.QUIET
        )
        strength = min(max(attribute.similarity, 0.0), 1.0)
        canvas.box(left + wide - 0.64, y - 0.07, 0.52, 0.3, "white", drawing.FAINT, linewidth=0.6)
        canvas.box(left + wide - 0.64, y - 0.07, 0.52, 0.3, PREDICTED, "none", alpha=strength)
        canvas.lines(left + wide - 0.38, y + 0.08, [f"{strength:.2f}"], SMALL, ha="center",
                     color="white" if strength > 0.55 else drawing.INK)  # fmt: skip
        y += 0.17 + 1.3 * SMALL / 72 + 0.02
