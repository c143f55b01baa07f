"""Alignment scores of goal and state entities on arrays: the vectorised part of `statefactory.routing`.

Computes the composite score (Eq. 12) of every pair from attribute satisfaction (Eq. 8, 11) over aligned keys (Eq. 10).
The distinct entities and texts of a trajectory get integer ids first, so that repeated ones are compared once.
Source: Shen et al. 2026, §3.2.3 and Appendix B; `statefactory.routing` says what the equations leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from statefactory.embeddings import Embedder
from statefactory.state import Entity

Entities: TypeAlias = Sequence[Entity]

SAME = 6  # decimals to which similarities of names are compared for ties: cosines have rounding errors
TABLE = 4_000_000  # similarities in memory at a time
ONE_THREAD = 1 << 18  # multiplications up to which BLAS uses one thread


class Alignment(NamedTuple):
    """Similarities of goal entities (rows) to state entities (columns).

    scores, identities: shape (goal entities, state entities); composite scores (Eq. 12) and identity similarities.
    aligned: shape (goal attributes, state entities); index, from 0, of the aligned attribute in the state entity
    (Eq. 10), -1 if it has no attributes. similarities: same shape; similarity of the two values, 0 if there is none.
    """

    scores: np.ndarray
    identities: np.ndarray
    aligned: np.ndarray
    similarities: np.ndarray


class Table:
    """The distinct entities of a trajectory, encoded as ids of their texts. Id 0 is the empty text.

    dropped: substrings removed from attribute names. empty: similarity of two empty names or values.
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
        """Register the entities; returns for each step the ids of its goal's and its state's entities."""
        steps = [(tuple(goal), tuple(state)) for goal, state in zip(goals, states, strict=True)]
        numbers: dict[int, int] = {}  # by id(): most steps share objects; `steps` keeps them alive

        def number(entity: Entity) -> int:
            if (entity_number := numbers.get(id(entity))) is None:
                entity_number = numbers[id(entity)] = self._number(entity)
            return entity_number

        return [(tuple(map(number, goal)), tuple(map(number, state))) for goal, state in steps]

    def embed(self, embedder: Embedder) -> None:
        """Embed all texts in one batch. The empty text gets a zero vector, which is similar to nothing."""
        self._identities, self._counts, self._names, self._values = (np.array(numbers, int) for numbers in self._lists)
        self._starts = np.cumsum(self._counts) - self._counts
        texts = list(self._texts)[1:]
        vectors = embedder.embed(texts) if texts else np.zeros((0, 1), np.float32)
        self._vectors = np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), vectors])

    def scores(self, goals: np.ndarray, states: np.ndarray) -> np.ndarray:
        """`align(goals, states).scores`, computed in pieces of about TABLE similarities to limit memory."""
        pieces = int(self._counts[goals].sum() * self._counts[states].sum()) // TABLE + 1
        split = np.array_split(goals, min(pieces, goals.size))
        return np.concatenate([self.align(piece, states).scores for piece in split])

    def align(self, goals: np.ndarray, states: np.ndarray) -> Alignment:
        """Compare every goal entity with every state entity. goals, states: ids, shape (entities,), not empty."""
        goal_attributes, per_goal = self._attributes(goals)
        state_attributes, per_state = self._attributes(states)
        identities = self._alike(self._identities[goals], self._identities[states], empty=1.0)
        aligned = np.full((goal_attributes.size, states.size), -1)
        similarities = np.zeros((goal_attributes.size, states.size))
        if goal_attributes.size and state_attributes.size:
            # State entities without attributes keep -1 and 0: there is nothing to align with.
            nonempty = per_state > 0
            best = _highest(
                self._names_alike(self._names[goal_attributes], self._names[state_attributes]), per_state[nonempty]
            )
            values = self._alike(self._values[goal_attributes], self._values[state_attributes], self._empty)
            similarities[:, nonempty] = np.take_along_axis(values, best, axis=1)
            aligned[:, nonempty] = best - (np.cumsum(per_state) - per_state)[nonempty]
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
        """Indices of the attributes of the entities, concatenated, and the number of attributes per entity."""
        counts = self._counts[entities]
        before = np.cumsum(counts) - counts
        return np.repeat(self._starts[entities] - before, counts) + np.arange(counts.sum()), counts

    def _names_alike(self, wanted: np.ndarray, offered: np.ndarray) -> np.ndarray:
        rows, row = np.unique(wanted, return_inverse=True)
        columns, column = np.unique(offered, return_inverse=True)
        return self._alike(rows, columns, self._empty).round(SAME)[row[:, None], column]

    def _alike(self, first: np.ndarray, second: np.ndarray, empty: float) -> np.ndarray:
        """Similarities of all texts `first` to all texts `second`, given by ids; shape (first, second)."""
        cosines = _products(self._vectors[first], self._vectors[second]).clip(-1, 1)
        # Exactly 1 for equal texts, which a float32 product misses.
        cosines[first[:, None] == second] = 1.0
        if empty != 1.0:
            cosines[np.ix_(first == 0, second == 0)] = empty
        return cosines


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`first @ second.T` in pieces small enough for one BLAS thread: on busy cores several take 100 times as long."""
    rows = max(1, ONE_THREAD // first.size)
    pieces = -(-len(second) // rows)
    padded = np.zeros((pieces * rows, second.shape[1]), second.dtype)
    padded[: len(second)] = second
    return (padded.reshape(pieces, rows, -1) @ first.T).reshape(pieces * rows, -1)[: len(second)].T


def _highest(table: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """For each segment of columns the index of the (first) highest value; shape (rows, segments)."""
    starts = np.cumsum(lengths) - lengths
    highest = np.maximum.reduceat(table, starts, axis=1).repeat(lengths, axis=1)
    columns = np.where(table == highest, np.arange(table.shape[1]), table.shape[1])
    return np.minimum.reduceat(columns, starts, axis=1)


def _means(table: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Mean of each segment of rows, shape (segments, columns); 1 for an empty segment: a neutral factor in Eq. 12."""
    means = np.ones((lengths.size, table.shape[1]))
    nonempty = lengths > 0
    if nonempty.any():
        starts = (np.cumsum(lengths) - lengths)[nonempty]
        means[nonempty] = np.add.reduceat(table, starts, axis=0) / lengths[nonempty, None]
    return means
