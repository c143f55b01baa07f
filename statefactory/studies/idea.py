"""StateFactory's idea on one pair: the reward is how well the state fits the goal (Figures 1 and 3)."""

from __future__ import annotations

from typing import NamedTuple

from matplotlib.figure import Figure
from numpy import concatenate

from statefactory import build, epic_distance
from statefactory.experiments import figure4
from statefactory.plots import draw_idea

DOMAIN, PAIR = "alfworld", 28  # an egg is found, heated and put on the table
EMBEDDING = "all-MiniLM-L6-v2"
SHOWN = (2, 5, 7)  # steps of the trajectory


class Idea(NamedTuple):
    """EPIC distance of the pair, 0 is best, and its figure."""

    distance: float
    figure: Figure


def idea(engine: str = "rules", seed: int = 0) -> Idea:
    """Compute distance and figure of the pair. engine: extracts the states."""
    walked = figure4.walked(DOMAIN, PAIR, engine, EMBEDDING, seed)
    pair = build(DOMAIN, "synthetic", seed).pairs()[PAIR]
    distance = float(epic_distance(concatenate([walked.positive.rewards, walked.negative]), pair.shaped))
    note = f"EPIC distance of the pair: {distance:.2f}"
    evidence = f"measured on one pair of synthetic data; states read by: {engine}; similarities by {EMBEDDING}"
    return Idea(distance, draw_idea(walked.positive, walked.negative, SHOWN, note, evidence))
