"""Drawings of trajectories: one run plan by plan, and SDP's idea."""

from sdp.plots.idea import draw_idea
from sdp.plots.run import draw_run

__all__ = ["draw_idea", "draw_run"]
