"""Rewards of several predictors along a few trajectories, beside the truth: for a world that no benchmark has."""

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
        """`count` steps of a world, each an action that it offers then."""
        taken = (random.choice(actions()) for _ in range(count))
        return cls([(action, (seen := step(action)).text, seen.score) for action in taken])


@dataclass(frozen=True)
class Curves:
    """truth: true progress over all steps, one walk behind the other. rewards, flags: of each predictor, as long."""

    truth: list[float]
    rewards: Mapping[str, list[float]]
    flags: Mapping[str, Flags]

    def distances(self, backbone: str, evidence: str) -> pd.DataFrame:
        """EPIC distance of each predictor over all steps, in [0, 1], as `lab.results.tables` has rows."""
        distances = {name: float(epic_distance(rewards, self.truth)) for name, rewards in self.rewards.items()}
        return tables.table(
            tables.row(name, backbone, "EPIC distance", distance, evidence=evidence, source="this run", n=1)
            | cells([self.flags[name]])
            for name, distance in distances.items()
        )

    def draw(self, steps: str, results: pd.DataFrame) -> Figure:
        """The rewards and the truth. steps: what the horizontal axis counts. results: whose evidence is told."""
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
    """What each predictor gives for each step. first: the observation before the first action of every walk."""
    rewards: dict[str, list[float]] = {name: [] for name in predictors}
    flags: dict[str, Flags] = dict.fromkeys(predictors, ())
    for walk in walks:
        actions, observations, _ = map(list, zip(*walk.steps, strict=True))
        for name, predictor in predictors.items():
            rated = predictor.rated(goal, actions, observations, first)
            rewards[name] += rated.rewards.tolist()
            flags[name] += rated.flags
    return Curves([progress for walk in walks for *_, progress in walk.steps], rewards, flags)
