"""Figure of RewardPrediction: distribution of trajectory lengths, and ground-truth rewards over a trajectory."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

KINDS = {"positive": "#029e73", "negative": "#d55e00"}


def draw_benchmark(rewards: pd.DataFrame, note: str = "") -> Figure:
    """One column per domain: above, the lengths of positives; below, ground-truth rewards over the episode.

    rewards: one row per step, from `statefactory.experiments.table3.rewards`. The lower panels have the mean over
    trajectories of the latest reward, with a band between the quartiles. note: origin of the numbers.
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
    """Histograms of the positives' steps, in total and of the expert. Negatives are as long as their positives."""
    positives = rewards[rewards["kind"] == "positive"]
    total, expert = (steps.groupby("id").size() for steps in (positives, positives[positives["is_expert"]]))
    edges = range(0, int(total.max()) + 2) if total.max() <= 25 else 20
    axes.hist(expert, bins=edges, color=KINDS["positive"], alpha=0.45, label="the expert's")
    axes.hist(total, bins=edges, histtype="step", color="0.25", linewidth=1.5, label="with random ones")
    axes.set_xlabel("steps")


def _courses(axes: Axes, rewards: pd.DataFrame) -> None:
    grid = np.linspace(0, 1, 41)
    for kind, color in KINDS.items():
        part = rewards[rewards["kind"] == kind]
        if part.empty:
            continue
        curves = np.array([_reached(trajectory, grid) for _, trajectory in part.groupby("id")])
        axes.plot(grid, curves.mean(axis=0), color=color, label=kind)
        axes.fill_between(grid, *np.quantile(curves, [0.25, 0.75], axis=0), color=color, alpha=0.2, linewidth=0)
    axes.set(xlabel="part of the trajectory", ylim=(-0.03, 1.03))


def _reached(trajectory: pd.DataFrame, grid: np.ndarray) -> np.ndarray:
    """The latest reward at each point of the grid; 0 before the first step."""
    ordered = trajectory.sort_values("step")
    # 1e-9: a step that ends exactly at a grid point counts as reached there.
    before = np.searchsorted(ordered["part"].to_numpy(), grid + 1e-9)
    return np.concatenate([[0.0], ordered["shaped"].to_numpy()])[before]
