"""The routing as loops over one pair of texts at a time, and embedders that need no model."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from statefactory.routing import Convention
from statefactory.state import Attribute, Entity


class HashedEmbedder:
    """A random direction for every text, always the same one. asked: the batches it got."""

    name = "hashed"

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.asked: list[list[str]] = []
        self._known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked.append(list(texts))
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> np.ndarray:
        if text not in self._known:
            vector = np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dimension)
            self._known[text] = (vector / np.linalg.norm(vector)).astype(np.float32)
        return self._known[text]


def plain_reward(
    goal: Sequence[Entity], state: Sequence[Entity], embedder: HashedEmbedder, convention: Convention
) -> float:
    """The reward of one step before it is cut to decimals."""
    if not goal or not state:
        return 0.0
    best = [max(plain_fit(wanted, found, embedder, convention) for found in state) for wanted in goal]
    return min(max(sum(best) / len(best), 0.0), 1.0)


def plain_fit(goal: Entity, found: Entity, embedder: HashedEmbedder, convention: Convention) -> float:
    """Eq. 12."""
    fit = similarity(goal.identity, found.identity, embedder, 1.0)
    if goal.attributes:
        fit *= sum(plain_value(a, found, embedder, convention) for a in goal.attributes) / len(goal.attributes)
    return fit if convention.floor is None else max(fit, convention.floor)


def plain_value(wanted: Attribute, found: Entity, embedder: HashedEmbedder, convention: Convention) -> float:
    """Eq. 10, and the similarity of the values that it brings together."""
    highest, value = -2.0, None
    for offered in found.attributes:
        names = (cleaned(attribute.name, convention) for attribute in (wanted, offered))
        alike = similarity(*names, embedder, convention.empty)
        if alike > highest:
            highest, value = alike, offered.value
    return 0.0 if value is None else similarity(wanted.value, value, embedder, convention.empty)


def cleaned(name: str, convention: Convention) -> str:
    for part in convention.dropped:
        name = name.replace(part, "")
    return name


def similarity(first: str, second: str, embedder: HashedEmbedder, empty: float) -> float:
    """A cosine; the empty text has none."""
    if first == second:
        return 1.0 if first else empty
    return float(embedder.vector(first) @ embedder.vector(second)) if first and second else 0.0
