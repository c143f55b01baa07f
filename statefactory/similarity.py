"""The alignment scores of goal and state entities as arrays: the vectorised inside of `statefactory.routing`.

Eq. 12's composite score of every pair, with the attribute satisfaction (Eq. 8, 11) over aligned keys (Eq. 10).
A trajectory's distinct entities and texts are numbered first, so that what recurs is compared once.
Source: Shen et al. 2026, §3.2.3 and Appendix B; `statefactory.routing` says what the equations leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from statefactory.embeddings import Embedder
from statefactory.state import Entity

Entities: TypeAlias = Sequence[Entity]

SAME = 6  # decimals to which names' similarities must agree to be equals: cosines come with rounding errors
TABLE = 4_000_000  # similarities that are held at a time
ONE_THREAD = 1 << 18  # multiplications up to which BLAS uses one thread


class Alignment(NamedTuple):
    """Goal entities against state entities.

    scores, identities: shape (goal entities, state entities), the composite scores (Eq. 12) and the similarities of
    identities. aligned: the place of the aligned attribute (Eq. 10) in the state entity, from 0, and similarities: of
    the two values, both of shape (goal attributes, state entities); where a state entity has no attributes, -1 and 0.
    """

    scores: np.ndarray
    identities: np.ndarray
    aligned: np.ndarray
    similarities: np.ndarray


class Table:
    """The distinct entities of a trajectory as numbers of their texts; text 0 is the empty one.

    dropped: what is taken out of the names of attributes. empty: the similarity of two empty names or values.
    """

    def __init__(self, dropped: Sequence[str] = (), empty: float = 1.0) -> None:
        self._dropped = dropped
        self._empty = empty
        self._texts: dict[str, int] = {"": 0}
        self._entities: dict[tuple[str, ...], int] = {}
        self._lists: tuple[list[int], ...] = ([], [], [], [])

    def numbered(
        self, goals: Sequence[Entities], states: Sequence[Entities]
    ) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The steps by the numbers of their entities."""
        kept = [(tuple(goal), tuple(state)) for goal, state in zip(goals, states, strict=True)]
        seen: dict[int, int] = {}  # by identity: most steps share the objects themselves, all of which `kept` holds

        def number(entity: Entity) -> int:
            if (known_number := seen.get(id(entity))) is None:
                known_number = seen[id(entity)] = self._number(entity)
            return known_number

        return [(tuple(map(number, goal)), tuple(map(number, state))) for goal, state in kept]

    def embed(self, embedder: Embedder) -> None:
        """Embed all texts in one batch. The empty one gets a vector of zeros, which is similar to nothing."""
        self._identities, self._counts, self._names, self._values = (np.array(some, int) for some in self._lists)
        self._starts = np.cumsum(self._counts) - self._counts
        texts = list(self._texts)[1:]
        vectors = embedder.embed(texts) if texts else np.zeros((0, 1), np.float32)
        self._vectors = np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), vectors])

    def scores(self, goals: np.ndarray, states: np.ndarray) -> np.ndarray:
        """`align(goals, states).scores`, with only about TABLE similarities held at a time."""
        pieces = int(self._counts[goals].sum() * self._counts[states].sum()) // TABLE + 1
        split = np.array_split(goals, min(pieces, goals.size))
        return np.concatenate([self.align(piece, states).scores for piece in split])

    def align(self, goals: np.ndarray, states: np.ndarray) -> Alignment:
        """Every goal entity with every state entity, by their numbers; both of shape (entities,) and not empty."""
        wanted, per_goal = self._attributes(goals)
        offered, per_state = self._attributes(states)
        identities = self._alike(self._identities[goals], self._identities[states], empty=1.0)
        aligned = np.full((wanted.size, states.size), -1)
        similarities = np.zeros((wanted.size, states.size))
        if wanted.size and offered.size:
            # State entities without attributes keep -1 and 0: nothing to align with.
            some = per_state > 0
            best = _highest(self._names_alike(self._names[wanted], self._names[offered]), per_state[some])
            values = self._alike(self._values[wanted], self._values[offered], self._empty)
            similarities[:, some] = np.take_along_axis(values, best, axis=1)
            aligned[:, some] = best - (np.cumsum(per_state) - per_state)[some]
        return Alignment(identities * _means(similarities, per_goal), identities, aligned, similarities)

    def _number(self, entity: Entity) -> int:
        words = (entity.identity, *(word for a in entity.attributes for word in (a.name, a.value)))
        entity_number = self._entities.setdefault(words, len(self._entities))
        if entity_number == len(self._lists[0]):
            identities, counts, names, values = self._lists
            identities.append(self._text(words[0]))
            counts.append(len(words) // 2)
            names += map(self._text, map(self._cleaned, words[1::2]))
            values += map(self._text, words[2::2])
        return entity_number

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    def _cleaned(self, name: str) -> str:
        for part in self._dropped:
            name = name.replace(part, "")
        return name

    def _attributes(self, entities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the entities' attributes, one entity's after the other's, and how many each has."""
        counts = self._counts[entities]
        before = np.cumsum(counts) - counts
        return np.repeat(self._starts[entities] - before, counts) + np.arange(counts.sum()), counts

    def _names_alike(self, wanted: np.ndarray, offered: np.ndarray) -> np.ndarray:
        rows, row = np.unique(wanted, return_inverse=True)
        columns, column = np.unique(offered, return_inverse=True)
        return self._alike(rows, columns, self._empty).round(SAME)[row[:, None], column]

    def _alike(self, first: np.ndarray, second: np.ndarray, empty: float) -> np.ndarray:
        """The similarity of every text of one with every text of the other, by their numbers."""
        cosines = _products(self._vectors[first], self._vectors[second]).clip(-1, 1)
        # Equal texts have 1 exactly, which a product in float32 misses.
        cosines[first[:, None] == second] = 1.0
        if empty != 1.0:
            cosines[np.ix_(first == 0, second == 0)] = empty
        return cosines


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`first @ second.T` in pieces so small that BLAS starts no threads, which on busy cores take 100 times as long."""
    rows = max(1, ONE_THREAD // first.size)
    pieces = -(-len(second) // rows)
    padded = np.zeros((pieces * rows, second.shape[1]), second.dtype)
    padded[: len(second)] = second
    return (padded.reshape(pieces, rows, -1) @ first.T).reshape(pieces * rows, -1)[: len(second)].T


def _highest(table: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Within each stretch of columns, the column of the highest value, the first of equals; (rows, stretches)."""
    starts = np.cumsum(lengths) - lengths
    highest = np.maximum.reduceat(table, starts, axis=1).repeat(lengths, axis=1)
    columns = np.where(table == highest, np.arange(table.shape[1]), table.shape[1])
    return np.minimum.reduceat(columns, starts, axis=1)


def _means(table: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of each stretch of rows, (stretches, columns); 1 for an empty one, which leaves the identities alone."""
    means = np.ones((lengths.size, table.shape[1]))
    some = lengths > 0
    if some.any():
        starts = (np.cumsum(lengths) - lengths)[some]
        means[some] = np.add.reduceat(table, starts, axis=0) / lengths[some, None]
    return means
