"""A trajectory as a chart: attempts from left to right, predicates from top to bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.machine.printing import visible
from sdp.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CERTIFIED, REJECTED, REPLANNED = "#029e73", "#d55e00", "#949494"


def draw_trajectory(trajectory: Trajectory, width: int = 90) -> Figure:
    """The certified trajectory: attempts from left to right, predicates from top to bottom in the order they came up.

    A certified attempt is a dot, with a bar down to the last of its k predicates; a rejected one is a cross; a grey
    line marks a Replan. Predicates that a Replan did away with keep their row. width: characters of a label.
    """
    import matplotlib.pyplot as plt

    rows = _rows(trajectory)
    figure, axes = plt.subplots(figsize=(11, 1.2 + 0.27 * len(rows)))
    for attempt in trajectory.attempts:
        covered = trajectory.plans[attempt.plan].predicates[attempt.position : attempt.position + max(attempt.k, 1)]
        heights = [rows[predicate.text] for predicate in covered]
        color, marker = (CERTIFIED, "o") if attempt.k else (REJECTED, "x")
        axes.plot([attempt.step] * len(heights), heights, linewidth=3, markevery=[0], color=color, marker=marker)
    for step in replan_steps(trajectory):
        axes.axvline(step - 0.5, color=REPLANNED, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(rows)), [_short(text, width) for text in rows], fontsize="x-small")
    axes.set(xlabel="attempt", ylim=(len(rows) - 0.5, -0.5), xlim=(-0.7, max(len(trajectory.attempts), 1) - 0.3))
    certified = f"{trajectory.certified} of {len(trajectory.plans[-1].predicates)} predicates certified"
    axes.set_title(f"{trajectory.task}: {certified}, end: {trajectory.end}")
    return figure


def _rows(trajectory: Trajectory) -> dict[str, int]:
    """Predicate -> row: those attempted, by their first attempt, then those of the last plan that never were."""
    texts = [
        predicate.text
        for attempt in trajectory.attempts
        for predicate in trajectory.plans[attempt.plan].predicates[attempt.position :][: max(attempt.k, 1)]
    ]
    texts += [predicate.text for predicate in trajectory.plans[-1].predicates[trajectory.certified :]]
    return {text: row for row, text in enumerate(dict.fromkeys(texts))}


def replan_steps(trajectory: Trajectory) -> list[int]:
    """The first attempt of each plan after the first."""
    firsts: dict[int, int] = {}
    for attempt in trajectory.attempts:
        firsts.setdefault(attempt.plan, attempt.step)
    return [step for plan, step in sorted(firsts.items()) if plan]


def _short(text: str, width: int) -> str:
    text = visible(text)
    return text if len(text) <= width else text[: width - 1] + "…"
