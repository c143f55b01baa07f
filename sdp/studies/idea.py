"""SDP's idea in one trip: a mistake is rejected, and a new plan replaces the old one (Figure 1)."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure

from sdp.adapters.travelplanner.adapter import Policy
from sdp.experiments.travelplanner import Setup
from sdp.plots import draw_idea
from sdp.trajectory import Trajectory

TASK = "made-validation-002"  # by mistake it books a flight there, and then cannot drive back
NAMES = {
    "outbound transport": "the way there",
    "accommodation": "a place to stay",
    "return transport": "the way back",
    "day meals": "meals",
    "day attractions": "sights",
    "budget check": "within budget",
    "render": "written down",
    "reopen": "undo the way there",
}
TITLE = "A trip of 3 days for at most $500: each condition is certified before the next"


class Idea(NamedTuple):
    """The episode and its figure."""

    trip: Trajectory
    figure: Figure


def idea(noise: float = 0.5, seed: int = 0) -> Idea:
    """noise: p of `rules@p`, the probability that an answer is kept. Replan may undo, which goes beyond the paper."""
    setup = Setup(engine=f"rules@{noise}", data="synthetic", seed=seed, policy=Policy(undo=3))
    trip = setup.episode(TASK)
    back = [attempt for attempt in trip.attempts if attempt.kind == "return transport"]
    decisions = {
        attempt.step: "; ".join(text for _, _, text in attempt.action["decisions"]) or "no option passes"
        for attempt in (back[0], back[-1])
    }
    evidence = f"simulated: rules err in {1 - noise:.0%} of answers; synthetic data; the paper's Replan cannot undo"
    return Idea(trip, draw_idea(trip, TITLE, decisions, NAMES, evidence))
