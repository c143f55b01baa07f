"""Rewards of several predictors along a few trajectories, next to the truth, for worlds outside the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from lab.results import plots, tables
from statefactory.epic import epic_distance
from statefactory.predictors import Predictor
from statefactory.trust import Flags, cells
from worlds.base import Step

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Walk(NamedTuple):
    """A trajectory: action, observation and true progress of each step."""

    steps: list[tuple[str, str, float]]

    @classmethod
    def at_random(
        cls, step: Callable[[str], Step], actions: Callable[[], Sequence[str]], count: int, random: Random
    ) -> Walk:
        """A random walk of `count` steps, uniform among the actions that the world offers."""
        chosen_actions = (random.choice(actions()) for _ in range(count))
        return cls([(action, (outcome := step(action)).text, outcome.score) for action in chosen_actions])


@dataclass(frozen=True)
class Curves:
    """truth: true progress at all steps of the concatenated walks. rewards, flags: per predictor, at the same steps."""

    truth: list[float]
    rewards: Mapping[str, list[float]]
    flags: Mapping[str, Flags]

    def distances(self, backbone: str, evidence: str) -> pd.DataFrame:
        """EPIC distance of each predictor over all steps, in [0, 1], as a results table (`lab.results.tables`)."""
        distances = {name: float(epic_distance(rewards, self.truth)) for name, rewards in self.rewards.items()}
        return tables.table(
            tables.row(name, backbone, "EPIC distance", distance, evidence=evidence, source="this run", n=1)
            | cells([self.flags[name]])
            for name, distance in distances.items()
        )

    def draw(self, steps: str, results: pd.DataFrame) -> Figure:
        """Plot the rewards and the truth. steps: label of the x-axis. results: table whose evidence is stated."""
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(9, 3.5))
        axes.plot(self.truth, label="truth", color="black", drawstyle="steps-post")
        for name, rewards in self.rewards.items():
            axes.plot(rewards, label=name, drawstyle="steps-post")
        axes.set(xlabel=steps, ylabel="reward", ylim=(-0.02, 1.02))
        figure.legend(loc="outside upper center", ncols=1 + len(self.rewards))
        plots.label_evidence(figure, results)
        return figure


def followed(predictors: Mapping[str, Predictor[Any]], goal: str, walks: Sequence[Walk], first: str = "") -> Curves:
    """Rewards of each predictor along the walks. first: observation before the first action of every walk."""
    rewards: dict[str, list[float]] = {name: [] for name in predictors}
    flags: dict[str, Flags] = dict.fromkeys(predictors, ())
    for walk in walks:
        actions, observations, _ = map(list, zip(*walk.steps, strict=True))
        for name, predictor in predictors.items():
            rated = predictor.rated(goal, actions, observations, first)
            rewards[name] += rated.rewards.tolist()
            flags[name] += rated.flags
    return Curves([progress for walk in walks for *_, progress in walk.steps], rewards, flags)
