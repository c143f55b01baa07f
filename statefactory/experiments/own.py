"""Rewards of predictors in a reader's own world: EPIC distance between predicted rewards and the world's scores.

As on the paper's benchmark (§4), a task is a pair: a trajectory towards the goal, and a random walk as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.results import tables
from statefactory.epic import epic_distance
from statefactory.predictors import Predictor
from statefactory.trust import Flags, cells
from worlds.base import World
from worlds.benchmark import Benchmark

if TYPE_CHECKING:
    import pandas as pd

METRIC = "EPIC distance"


class Walk(NamedTuple):
    """A trajectory. first: the observation at its start. steps: action, observation and the world's score after it."""

    first: str
    steps: list[tuple[str, str, float]]


def walk(world: World, task: Any, actions: Sequence[str]) -> Walk:
    """The trajectory of given actions."""
    first, *steps = world.replay(task, actions)
    return Walk(first.text, [(action, step.text, step.score) for action, step in zip(actions, steps, strict=True)])


def random_walk(world: World, task: Any, count: int, random: Random) -> Walk:
    """`count` actions, each drawn from those that the last step lists; fewer where the world ends before or lists none.

    Raises ValueError for a world whose first step lists no action.
    """
    last, steps = world.reset(task), list[tuple[str, str, float]]()
    first = last.text
    if not last.actions:
        raise ValueError(f"{type(world).__name__} lists no actions: give its steps `actions` for a random walk")
    while len(steps) < count and last.actions and not last.done:
        action = random.choice(last.actions)
        last = world.step(action)
        steps.append((action, last.text, last.score))
    return Walk(first, steps)


def distances_in(
    benchmark: Benchmark, actions: Mapping[str, Sequence[str]], predictors: Mapping[str, Predictor[Any]],
    backbone: str, evidence: str,
) -> pd.DataFrame:  # fmt: skip
    """A results table: each predictor's EPIC distance, in [0, 1], as the mean over tasks with its interval.

    actions: task id -> those of the trajectory towards the goal. The random walk's seed is the task and the
    benchmark's. backbone, evidence: of the run that gave the actions. Raises as `random_walk`.
    """
    pairs = []
    for name, taken in actions.items():
        task, random = benchmark.named(name), Random(f"random walk {benchmark.seed} {name}")
        there, nowhere = benchmark.opened(), benchmark.opened()
        pairs.append((task.goal, [walk(there, task, taken), random_walk(nowhere, task, len(taken), random)]))
    return distances_of(pairs, predictors, backbone, evidence)


def distances_of(
    pairs: Sequence[tuple[str, Sequence[Walk]]], predictors: Mapping[str, Predictor[Any]], backbone: str, evidence: str
) -> pd.DataFrame:
    """The same for pairs of a goal and the trajectories that are scored together."""
    rows = []
    for name, predictor in predictors.items():
        values, flags = list[float](), list[Flags]()
        for goal, walks in pairs:
            truth, rewards = list[float](), list[float]()
            for first, steps in walks:
                rated = predictor.rated(goal, [step[0] for step in steps], [step[1] for step in steps], first)
                rewards += rated.rewards.tolist()
                truth += [score for *_, score in steps]
                flags.append(rated.flags)
            values.append(epic_distance(rewards, truth))
        rows.append(tables.mean_row(name, backbone, METRIC, values, evidence) | cells(flags))
    return tables.table(rows)
