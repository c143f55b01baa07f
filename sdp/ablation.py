"""The ablations of §4.3 in two ways: Appendix C's estimate from recorded trajectories, and a loop with switches.

Appendix C calls its estimates an optimistic bound: without the mechanism, what came after would have been different.
Running the loop again shows by how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from sdp.loop import Settings
from sdp.trajectory import Attempt, Trajectory


class Ablation(NamedTuple):
    """A removed mechanism: how Appendix C estimates it from a trajectory, and the loop without it."""

    name: str
    factor: Callable[[Trajectory], float]
    without: Callable[[Settings], Settings]


def action_fidelity(trajectory: Trajectory) -> float:
    """f = (certified steps whose first Realize attempt was certified) / (certified steps), in [0, 1] (Appendix C).

    A first attempt is the first at its target from its state. A trajectory without certified steps has f = 0: nothing
    in it was shown to be right.
    """
    at_once = certified_at_once(trajectory)
    return sum(at_once) / len(at_once) if at_once else 0.0


def certified_at_once(trajectory: Trajectory) -> list[bool]:
    """For each certified step, whether the first attempt at its target from its state was certified.

    Steps that were passed by force (A.4) do not count as certified.
    """
    return [not rejected for attempt, rejected in passed(trajectory) if not attempt.forced]


def passed(trajectory: Trajectory) -> list[tuple[Attempt, bool]]:
    """The attempts that ended a step, also those passed by force, and whether one before at that target was rejected.

    Attempts from another state, or at a target that a Replan introduced, are other steps'.
    """
    rejected = {(attempt.state, attempt.target) for attempt in trajectory.attempts if attempt.k == 0}
    ending = [trajectory.attempts[transition.attempt] for transition in trajectory.transitions]
    return [(attempt, (attempt.state, attempt.target) in rejected) for attempt in ending]


def certified_prefix_ratio(trajectory: Trajectory) -> float:
    """r = t_stall / n: the position at the first exhausted budget over the plan's length; 1 without Replan (App. C).

    A run that ended on an exhausted budget, with Replan off, has stalled as well.
    """
    if trajectory.replans:
        return trajectory.plans[1].start / len(trajectory.plans[0].predicates)
    if trajectory.end == "budget":
        return trajectory.attempts[-1].position / len(trajectory.plans[0].predicates)
    return 1.0


def cascade_factor(trajectory: Trajectory) -> float:
    """cap / needed, at most 1: over the step cap a run scores proportionally (App. C).

    Steps needed with k <= 1 are those taken plus Σ(k - 1).
    """
    needed = len(trajectory.attempts) + sum(t.k - 1 for t in trajectory.transitions)
    cap = trajectory.settings["step_cap"]
    return 1.0 if needed <= cap else cap / needed


ABLATIONS = (
    Ablation("-Validate", action_fidelity, lambda settings: replace(settings, validate=False)),
    Ablation("-Replan", certified_prefix_ratio, lambda settings: replace(settings, replan=False)),
    Ablation("-Cascade", cascade_factor, lambda settings: replace(settings, cascade=False)),
)


def replayed(ablation: Ablation, trajectory: Trajectory, score: float) -> float:
    """Appendix C's estimate of the score without the mechanism: the recorded score times the conversion factor."""
    return score * ablation.factor(trajectory)
