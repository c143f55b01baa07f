"""Ridge regression on frozen sentence embeddings: the control that a fine-tuned reward model has to beat.

It trains in twenty seconds. A step is embedded as "action -> observation". The features after t steps come from the
newest step, the mean and the maximum over steps so far, their agreement with the goal's embedding, and log(1 + t).

Two of its views are controls themselves. "no goal" never sees the goal. "counts" reads no text: it uses the number of
steps, the lengths of texts, and how often actions and observations repeat.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel

from lab.machine.files import write_atomically
from lab.machine.reading import read_json
from statefactory.benchmark.schema import Pair
from statefactory.embeddings import DEFAULT, Embedder, open_embedder
from statefactory.predictors import Path as Trajectory
from statefactory.predictors import Step
from statefactory.reward_models.adapters import Map
from statefactory.reward_models.predictor import PrefixPredictor
from statefactory.reward_models.scoring import Affine
from statefactory.trust import CUT, Flags

View = Literal["whole", "no goal", "counts"]
ALPHAS = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)  # candidates; leave-one-out cross-validation selects one


class _File(BaseModel, strict=True, allow_inf_nan=False):
    """Schema of the file that `Ridge.save` writes."""

    weights: list[float]
    view: View
    embedding: str
    affine: Map
    card: dict[str, Any]


class Ridge(PrefixPredictor):
    """A linear model. weights: one per feature, then the intercept. view: selects the features."""

    def __init__(
        self, weights: np.ndarray, affine: Affine, view: View = "whole", embedding: str = DEFAULT,
        embedder: Embedder | None = None, card: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.weights, self.affine, self.view, self.embedding = weights, affine, view, embedding
        self._embedder, self.card = embedder, card or {}

    @cached_property
    def embedder(self) -> Embedder:
        return self._embedder or open_embedder(self.embedding)

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        inputs = features(self.embedder if self.view != "counts" else None, goal, steps, self.view)[
            np.array(lengths, dtype=int)
        ]
        return inputs @ self.weights[:-1] + self.weights[-1]

    def flags(self, memories: Sequence[Trajectory]) -> Flags:
        """Flags: "cut" where the embedder truncates the goal or the newest step."""
        texts = [_texts(memory.goal, memory.steps[-1:]) for memory in memories]
        cut = getattr(self.embedder, "cut", ())
        return tuple(frozenset([CUT] * any(text in cut for text in memory_texts)) for memory_texts in texts)

    def save(self, path: Path) -> None:
        """Write the weights as JSON, about 25 kB."""
        record = {
            "weights": [float(f"{weight:.7g}") for weight in self.weights], "view": self.view,
            "embedding": self.embedding, "affine": asdict(self.affine),
            "card": self.card,
        }  # fmt: skip
        write_atomically(path, json.dumps(record).encode())

    @classmethod
    def read(cls, path: Path, embedder: Embedder | None = None) -> Ridge:
        """Read a fitted model from its file. Raises DamagedFile naming an invalid field."""
        stored = read_json(path, _File)
        affine = Affine(stored.affine.scale, stored.affine.offset)
        return cls(np.array(stored.weights), affine, stored.view, stored.embedding, embedder, stored.card)


def fit(pairs: Sequence[Pair], view: View = "whole", embedder: Embedder | None = None) -> Ridge:
    """Fit the true progress at every step of both trajectories. Raises ValueError if there are no pairs."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not pairs:
        raise ValueError("there are no training pairs")
    rows = [row for pair in pairs for row in pair.rows]
    if view != "counts":
        embedder = embedder or open_embedder()
        # One call for all texts: the embedder batches and caches them.
        embedder.embed([text for row in rows for text in _texts(row.goal_description, row.steps)])
    inputs = np.concatenate([features(embedder, row.goal_description, row.steps, view)[1:] for row in rows])
    truth = np.concatenate([row.shaped for row in rows])
    fitted = make_pipeline(StandardScaler(), RidgeCV(ALPHAS)).fit(inputs, truth)
    scaler, ridge = fitted[0], fitted[1]
    slopes = ridge.coef_ / scaler.scale_
    weights = np.append(slopes, ridge.intercept_ - slopes @ scaler.mean_)
    card = {"pairs": len(pairs), "positions": len(truth), "alpha": float(ridge.alpha_)}
    return Ridge(weights, Affine.fitted(fitted.predict(inputs)), view, DEFAULT, embedder, card)


def features(embedder: Embedder | None, goal: str, steps: Sequence[Step], view: View = "whole") -> np.ndarray:
    """Features after 0, 1, ... steps, shape (steps + 1, features). Each row depends only on the steps so far.

    embedder: None for the view "counts", which reads no text.
    """
    if embedder is None:
        return _counts(steps)
    vectors = embedder.embed(_texts(goal, steps))
    target, newest = vectors[0], vectors[1:]
    newest = np.concatenate([np.zeros((1, len(target))), newest])
    count = np.arange(len(newest))[:, None]
    mean = np.cumsum(newest, axis=0) / np.maximum(count, 1)
    parts = [newest, mean, np.log1p(count)]
    if view == "whole":
        agreement, mean_agreement = newest @ target, mean @ target
        parts += [newest * target, np.abs(newest - target), mean * target,
                  np.maximum.accumulate(newest * target, axis=0),
                  np.stack([agreement, np.maximum.accumulate(agreement), mean_agreement], axis=1)]  # fmt: skip
    return np.concatenate(parts, axis=1)


def _counts(steps: Sequence[Step]) -> np.ndarray:
    rows = [[0.0] * 8]
    observations: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    for number, (action, observation) in enumerate(steps, 1):
        observations[observation] += 1
        actions[action] += 1
        highest = observations.most_common(1)[0][1]
        rows.append([
            np.log1p(number), np.log1p(len(observation)), np.log1p(len(action)),
            np.log1p(observations[observation]), np.log1p(actions[action]),
            len(observations) / number, len(actions) / number, highest / number,
        ])  # fmt: skip
    return np.array(rows)


def _texts(goal: str, steps: Sequence[Step]) -> list[str]:
    return [goal, *(f"{action} -> {observation}" for action, observation in steps)]
