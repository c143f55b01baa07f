"""Pictures of trajectories: all attempts as a chart, one run plan by plan, and the idea of the method."""

from sdp.plots.idea import draw_idea
from sdp.plots.run import draw_run
from sdp.plots.trajectory import draw_trajectory

__all__ = ["draw_idea", "draw_run", "draw_trajectory"]
