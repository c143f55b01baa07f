"""Ridge regression on frozen sentence embeddings: the control that a fine-tuned reward model has to beat.

Twenty seconds of training. A step is embedded as "action -> observation"; the features after t steps are those of the
newest step, of the mean and the maximum over steps so far, how each agrees with the goal's embedding, and log(1 + t).

Two of its views are controls themselves: "no goal" never sees the goal, and "counts" reads no word at all. It knows how
many steps there were, how long the observations are, and what has been said or done before.
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
ALPHAS = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)  # leave-one-out cross-validation chooses


class _File(BaseModel, strict=True, allow_inf_nan=False):
    """A file that `Ridge.save` wrote."""

    weights: list[float]
    view: View
    embedding: str
    affine: Map
    card: dict[str, Any]


class Ridge(PrefixPredictor):
    """Linear in the features. weights: one a feature, then the intercept. view: which features."""

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
        every = features(self.embedder if self.view != "counts" else None, goal, steps, self.view)[
            np.array(lengths, dtype=int)
        ]
        return every @ self.weights[:-1] + self.weights[-1]

    def flags(self, memories: Sequence[Trajectory]) -> Flags:
        """Cut where the goal or the newest step is longer than the embedder reads."""
        texts = [_texts(memory.goal, memory.steps[-1:]) for memory in memories]
        cut = getattr(self.embedder, "cut", ())
        return tuple(frozenset([CUT] * any(text in cut for text in of)) for of in texts)

    def save(self, path: Path) -> None:
        """Write the weights as JSON, some 25 kB."""
        record = {
            "weights": [float(f"{weight:.7g}") for weight in self.weights], "view": self.view,
            "embedding": self.embedding, "affine": asdict(self.affine),
            "card": self.card,
        }  # fmt: skip
        write_atomically(path, json.dumps(record).encode())

    @classmethod
    def read(cls, path: Path, embedder: Embedder | None = None) -> Ridge:
        """A fitted one by its file. Raises DamagedFile naming the field that is wrong."""
        stored = read_json(path, _File)
        affine = Affine(stored.affine.scale, stored.affine.offset)
        return cls(np.array(stored.weights), affine, stored.view, stored.embedding, embedder, stored.card)


def fit(
    pairs: Sequence[Pair], view: View = "whole", embedding: str = DEFAULT, embedder: Embedder | None = None
) -> Ridge:
    """Fit true progress at every step of both trajectories. Raises ValueError for no pairs."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not pairs:
        raise ValueError("there are no training pairs")
    rows = [row for pair in pairs for row in pair.rows]
    if view != "counts":
        embedder = embedder or open_embedder(embedding)
        # All at once: the embedder works in batches, and remembers.
        embedder.embed([text for row in rows for text in _texts(row.goal_description, row.steps)])
    inputs = np.concatenate([features(embedder, row.goal_description, row.steps, view)[1:] for row in rows])
    truth = np.concatenate([row.shaped for row in rows])
    fitted = make_pipeline(StandardScaler(), RidgeCV(ALPHAS)).fit(inputs, truth)
    scaler, ridge = fitted[0], fitted[1]
    slopes = ridge.coef_ / scaler.scale_
    weights = np.append(slopes, ridge.intercept_ - slopes @ scaler.mean_)
    card = {"pairs": len(pairs), "positions": len(truth), "alpha": float(ridge.alpha_)}
    return Ridge(weights, Affine.fitted(fitted.predict(inputs)), view, embedding, embedder, card)


def features(embedder: Embedder | None, goal: str, steps: Sequence[Step], view: View = "whole") -> np.ndarray:
    """Shape (steps + 1, features): after no step, after one, and so on; each depends on the steps before it alone.

    embedder: None where no word is read.
    """
    if embedder is None:
        return _counts(steps)
    vectors = embedder.embed(_texts(goal, steps))
    wanted, seen = vectors[0], vectors[1:]
    seen = np.concatenate([np.zeros((1, len(wanted))), seen])
    count = np.arange(len(seen))[:, None]
    mean = np.cumsum(seen, axis=0) / np.maximum(count, 1)
    parts = [seen, mean, np.log1p(count)]
    if view == "whole":
        agrees, overall = seen @ wanted, mean @ wanted
        parts += [seen * wanted, np.abs(seen - wanted), mean * wanted, np.maximum.accumulate(seen * wanted, axis=0),
                  np.stack([agrees, np.maximum.accumulate(agrees), overall], axis=1)]  # fmt: skip
    return np.concatenate(parts, axis=1)


def _counts(steps: Sequence[Step]) -> np.ndarray:
    lines = [[0.0] * 8]
    seen: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for number, (action, observation) in enumerate(steps, 1):
        seen[observation] += 1
        done[action] += 1
        commonest = seen.most_common(1)[0][1]
        lines.append([np.log1p(number), np.log1p(len(observation)), np.log1p(len(action)), np.log1p(seen[observation]),
                      np.log1p(done[action]), len(seen) / number, len(done) / number, commonest / number])  # fmt: skip
    return np.array(lines)


def _texts(goal: str, steps: Sequence[Step]) -> list[str]:
    return [goal, *(f"{action} -> {observation}" for action, observation in steps)]
