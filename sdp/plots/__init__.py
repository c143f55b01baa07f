"""Pictures of trajectories: all attempts as a chart, one run plan by plan, the idea, and the anatomy of many."""

from sdp.plots.anatomy import draw_anatomy
from sdp.plots.idea import draw_idea
from sdp.plots.run import draw_run

__all__ = ["draw_anatomy", "draw_idea", "draw_run"]
