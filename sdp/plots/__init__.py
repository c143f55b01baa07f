"""Pictures of trajectories: one run plan by plan, and the idea."""

from sdp.plots.idea import draw_idea
from sdp.plots.run import draw_run

__all__ = ["draw_idea", "draw_run"]
