"""Figure of RewardPrediction: distribution of trajectory lengths, and the ground truth over their course."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

KINDS = {"positive": "#029e73", "negative": "#d55e00"}


def draw_benchmark(rewards: pd.DataFrame, note: str = "") -> Figure:
    """Above, how long positives are; below, their ground truth over the course of the episode, a column a domain.

    rewards: a row a step, as `statefactory.experiments.table3.rewards` gives it. Below: mean over trajectories of
    the reward last reached, with the band from the lower to the upper quartile. note: how the numbers came to be.
    """
    domains = list(dict.fromkeys(rewards["domain"]))
    figure, axes = plt.subplots(2, len(domains), figsize=(3.1 * len(domains), 6), squeeze=False)
    for column, domain in enumerate(domains):
        _lengths(axes[0][column], rewards[rewards["domain"] == domain])
        _courses(axes[1][column], rewards[rewards["domain"] == domain])
        axes[0][column].set_title(domain)
    axes[0][0].set_ylabel("trajectories")
    axes[1][0].set_ylabel("ground truth")
    axes[0][-1].legend(fontsize="x-small")
    axes[1][-1].legend(fontsize="x-small", loc="upper left")
    figure.supxlabel(note, x=0.995, ha="right", fontsize="x-small", color="0.35")
    return figure


def _lengths(axes: Axes, rewards: pd.DataFrame) -> None:
    """Steps of the positives, and those of them that are the expert's; negatives are as long as their positives."""
    positives = rewards[rewards["kind"] == "positive"]
    whole, expert = (part.groupby("id").size() for part in (positives, positives[positives["is_expert"]]))
    edges = range(0, int(whole.max()) + 2) if whole.max() <= 25 else 20
    axes.hist(expert, bins=edges, color=KINDS["positive"], alpha=0.45, label="the expert's")
    axes.hist(whole, bins=edges, histtype="step", color="0.25", linewidth=1.5, label="with random ones")
    axes.set_xlabel("steps")


def _courses(axes: Axes, rewards: pd.DataFrame) -> None:
    grid = np.linspace(0, 1, 41)
    for kind, color in KINDS.items():
        part = rewards[rewards["kind"] == kind]
        if part.empty:
            continue
        courses = np.array([_reached(trajectory, grid) for _, trajectory in part.groupby("id")])
        axes.plot(grid, courses.mean(axis=0), color=color, label=kind)
        axes.fill_between(grid, *np.quantile(courses, [0.25, 0.75], axis=0), color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="part of the trajectory", ylim=(-0.03, 1.03))


def _reached(trajectory: pd.DataFrame, grid: np.ndarray) -> np.ndarray:
    """The reward last reached at each point of the grid; 0 before the first step."""
    ordered = trajectory.sort_values("step")
    # 1e-9: a step that ends exactly on a grid point has been reached there.
    before = np.searchsorted(ordered["part"].to_numpy(), grid + 1e-9)
    return np.concatenate([[0.0], ordered["shaped"].to_numpy()])[before]
