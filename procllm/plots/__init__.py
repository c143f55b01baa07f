"""Plots of task networks and of episodes: figure 1 of the paper, at any iteration of an episode."""

from procllm.plots.idea import draw_idea
from procllm.plots.trees import State, film, state_after, state_at, to_text, tree

__all__ = ["State", "draw_idea", "film", "state_after", "state_at", "to_text", "tree"]
