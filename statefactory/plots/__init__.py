"""Figures of StateFactory: the benchmark, results tables, walkthroughs of trajectories, and search trees."""

from statefactory.plots.benchmark import draw_benchmark
from statefactory.plots.idea import draw_idea
from statefactory.plots.policy import draw_policy
from statefactory.plots.results import draw_ablations, draw_table1
from statefactory.plots.trained import draw_learning, draw_matrix
from statefactory.plots.tree import draw_tree
from statefactory.plots.walkthrough import draw_walkthrough

__all__ = [
    "draw_ablations",
    "draw_benchmark",
    "draw_idea",
    "draw_learning",
    "draw_matrix",
    "draw_policy",
    "draw_table1",
    "draw_tree",
    "draw_walkthrough",
]
