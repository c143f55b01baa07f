"""The monotonic baseline of the paper's Table 1 on the rebuilt data. In three domains it is no test of these data: how
random steps pad a trajectory was chosen to give the paper's value (`statefactory.benchmark.labels`).

`distances` scores any predictor on built pairs. `distances_of_labels` needs no world, only what the steps are worth: it
draws the padding of any seed anew, with random steps before at 0. That is exact where labels are linear and the
expert's plan does not hang on the beginning (ALFWorld, TextWorld); elsewhere it is near, and a build is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from statefactory.benchmark.domains import named
from statefactory.benchmark.labels import Rule
from statefactory.benchmark.schema import Pair
from statefactory.epic import epic_distances
from statefactory.predictors import Predictor
from statefactory.predictors.monotonic import Monotonic

if TYPE_CHECKING:
    import numpy as np

METHOD = "Monotonic"
# The domains whose padding was chosen to give the paper's value; the other two follow AlfWorld's.
FITTED = ("alfworld", "scienceworld", "blocksworld")
Labels = Mapping[str, Sequence[float]]


def distances(pairs: Sequence[Pair], predictor: Predictor | None = None) -> np.ndarray:
    """EPIC distances of a predictor's rewards, shape (pairs,); by default of the monotonic baseline."""
    predicted = [predictions(pair, predictor or Monotonic()) for pair in pairs]
    return epic_distances(predicted, [pair.shaped for pair in pairs], [pair.task for pair in pairs])


def predictions(pair: Pair, predictor: Predictor) -> np.ndarray:
    """The rewards of the positive's steps, then of the negatives'."""
    import numpy as np

    rows = pair.rows
    return np.concatenate([predictor.predict(row.goal_description, row.actions, row.observations) for row in rows])


def expert_labels(pairs: Sequence[Pair]) -> dict[str, list[float]]:
    """Task id -> what the expert's steps are worth, of built pairs."""
    return {
        pair.task: [step.reward.shaped for step in pair.positive.trajectory if step.reward.is_expert] for pair in pairs
    }


def distances_of_labels(
    labels: Labels, domain: str, seed: int = 0, rule: Rule | None = None, negatives: Labels | None = None
) -> np.ndarray:
    """The monotonic baseline's EPIC distances, shape (tasks,), without playing anything.

    labels: of the expert's steps. seed: of the padding. rule: in place of the domain's, to see what another one would
    give; a step after success is worth 0 if its rule says "zero", else 1. negatives: cut, or held at the last value,
    to the positive's length; without them they are 0.
    """
    rule, recipe = rule or named(domain).rule, named(domain).recipe(seed)
    truths, rising = [], []
    for task, worth in labels.items():
        before, after = rule.draw(recipe.random(task, "padding"))
        positive = [0.0] * before + list(worth) + [0.0 if rule.after == "zero" else 1.0] * after
        steps, negative = len(positive), (negatives or {}).get(task, (0.0,))
        truths.append([*positive, *negative[:steps], *[negative[-1]] * (steps - len(negative))])
        rising.append([step / steps for step in range(1, steps + 1)] * 2)
    return epic_distances(rising, truths, list(labels))
