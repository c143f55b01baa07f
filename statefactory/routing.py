"""Hierarchical routing: how much of a goal a state fulfils, as a number in [0, 1].

Every goal entity is matched with the state entity of the highest score, and the reward is the mean of these highest
scores, which the paper calls local fulfilment and the figures "fit" (Eq. 7, 9):

    score = similarity(identities) * mean over its attributes of similarity(value, aligned value)    (Eq. 8, 11, 12)

where the aligned value is that of the state entity's attribute whose name is most similar (Eq. 10), the first of
equals. A similarity is the cosine of two embeddings. Equal texts have 1. The empty text is like itself and like nothing
else, so that two nameless entities, which is how whole texts are compared, have an identity similarity of 1.

The equations leave open what an entity without attributes gives, and an empty goal or state; both conventions take the
official program's answers. The conventions:

                                   PAPER                       OFFICIAL, as the official program has it
    a score below 0                stays                       counts as 0
    the reward                     clipped to [0, 1]           clipped to [0, 1], then cut to two decimals
    names of attributes            as they are                 without "goal_" and "intermediate_"
    an empty name or value         like another empty one      like nothing
    a goal without attributes      the identity similarity alone
    a state entity without any     scores 0, unless the goal entity has none either
    an empty goal or state         0

Both use the raw cosine. The official program computes in float32, where a perfect match may be 0.99999994 and be cut to
.99; here what is a rounding error below a hundredth counts as that hundredth. Its textual level compares sentence with
sentence, and its object-centric level with the first sentence alone; here `statefactory.state.entities` joins them.
Source: Shen et al. 2026, §3.2.3 and Appendix B.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from statefactory.embeddings import Embedder
from statefactory.similarity import Alignment, Entities, Table
from statefactory.state import Entity

Step: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # numbers of the goal's entities, and of the state's

ROUNDING = 1e-6  # what a reward may lack of a hundredth and still count as that


@dataclass(frozen=True)
class Convention:
    """What is done where programs differ; the module says why.

    floor: the lowest score of an entity, None for none. decimals: after which a reward is cut off, None for all of it.
    dropped: taken out of the names of attributes. empty: the similarity of two empty names or values. apart: whether
    sentences of a state are compared one by one (see `statefactory.state.entities`).
    """

    name: str
    floor: float | None
    decimals: int | None
    dropped: tuple[str, ...]
    empty: float
    apart: bool


PAPER = Convention("paper", floor=None, decimals=None, dropped=(), empty=1.0, apart=False)
OFFICIAL = Convention("official", floor=0.0, decimals=2, dropped=("goal_", "intermediate_"), empty=0.0, apart=True)


def convention_of(name: str) -> Convention:
    """The convention of that name. Raises ValueError for one that there is not."""
    known = {convention.name: convention for convention in (PAPER, OFFICIAL)}
    if name not in known:
        raise ValueError(f"No convention {name!r}; choose from {', '.join(known)}")
    return known[name]


class AttributeMatch(NamedTuple):
    """A goal attribute and what it was compared with; aligned: None if the state entity has no attributes."""

    name: str
    value: str
    aligned: str | None
    found: str | None
    similarity: float


class Match(NamedTuple):
    """A goal entity and the state entity that it is matched with; entity: None where the state is empty."""

    goal: Entity
    entity: Entity | None
    identity: float
    attributes: tuple[AttributeMatch, ...]
    score: float


def rewards(
    goals: Sequence[Entities], states: Sequence[Entities], embedder: Embedder, convention: Convention = PAPER
) -> np.ndarray:
    """The reward of every step, shape (steps,), each in [0, 1]. goals, states: one of each a step.

    All texts of the trajectory are embedded in one batch. Raises ValueError if there are not as many goals as states,
    and what the embedder raises.
    """
    if len(goals) != len(states):
        raise ValueError(f"{len(goals)} goals for {len(states)} states; there must be one of each a step")
    table, steps = _numbered(goals, states, embedder, convention)
    # Steps without news are equal keys, scored once; an empty goal or state keeps the 0.0, since `_blocks` skips it.
    means = dict.fromkeys(steps, 0.0)
    for block in _blocks(means):
        means |= _means(table, block, convention)
    return _finished(np.array([means[step] for step in steps]), convention)


def matches(goal: Entities, state: Entities, embedder: Embedder, convention: Convention = PAPER) -> tuple[Match, ...]:
    """For every goal entity, which state entity it took, and why; the reward is the mean of the scores, clipped."""
    table, ((wanted, offered),) = _numbered([goal], [state], embedder, convention)
    if not (goal and state):
        return tuple(_unmatched(entity) for entity in goal)
    alignment = table.align(np.array(wanted), np.array(offered))
    scores = _floored(alignment.scores, convention)
    taken = scores.argmax(axis=1)
    ends = np.cumsum([len(entity.attributes) for entity in goal])
    return tuple(
        Match(
            entity, state[column], float(alignment.identities[row, column]),
            _compared(entity, state[column], alignment, slice(end - len(entity.attributes), end), column),
            float(scores[row, column]),
        )
        for row, (entity, column, end) in enumerate(zip(goal, taken, ends, strict=True))
    )  # fmt: skip


def _numbered(
    goals: Sequence[Entities], states: Sequence[Entities], embedder: Embedder, convention: Convention
) -> tuple[Table, list[Step]]:
    table = Table(convention.dropped, convention.empty)
    steps = table.numbered(goals, states)
    table.embed(embedder)
    return table, steps


def _blocks(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Steps that share entities, together: as long as one table for all is no larger than one for each would be."""
    block: list[Step] = []
    goals: set[int] = set()
    states: set[int] = set()
    needed = 0
    for goal, state in steps:
        if not (goal and state):
            continue
        if block and len(goals.union(goal)) * len(states.union(state)) > needed + len(goal) * len(state):
            yield block
            block, goals, states, needed = [], set(), set(), 0
        block.append((goal, state))
        goals.update(goal)
        states.update(state)
        needed += len(goal) * len(state)
    if block:
        yield block


def _means(table: Table, block: Sequence[Step], convention: Convention) -> dict[Step, float]:
    """The mean of the goal entities' highest scores at each step (Eq. 7 and 9)."""
    goals, states = (list(dict.fromkeys(n for step in block for n in step[side])) for side in (0, 1))
    scores = _floored(table.scores(np.array(goals), np.array(states)), convention)
    row, column = ({number: index for index, number in enumerate(numbers)} for numbers in (goals, states))
    return {
        (goal, state): float(scores[np.array([[row[n]] for n in goal]), [column[n] for n in state]].max(axis=1).mean())
        for goal, state in block
    }


def _floored(scores: np.ndarray, convention: Convention) -> np.ndarray:
    return scores if convention.floor is None else scores.clip(min=convention.floor)


def _finished(means: np.ndarray, convention: Convention) -> np.ndarray:
    # In both conventions: a mean of raw cosines may be below 0.
    clipped = np.clip(means, 0.0, 1.0)
    if convention.decimals is None:
        return clipped
    scale = 10**convention.decimals
    # The official program truncates and does not round; ROUNDING makes up for float32's 0.99999994.
    return np.floor((clipped + ROUNDING) * scale) / scale


def _compared(
    goal: Entity, taken: Entity, alignment: Alignment, rows: slice, column: int
) -> tuple[AttributeMatch, ...]:
    if not taken.attributes:
        return _unmatched(goal).attributes
    aligned = [taken.attributes[index] for index in alignment.aligned[rows, column]]
    return tuple(
        AttributeMatch(wanted.name, wanted.value, offered.name, offered.value, float(similarity))
        for wanted, offered, similarity in zip(
            goal.attributes, aligned, alignment.similarities[rows, column], strict=True
        )
    )  # fmt: skip


def _unmatched(goal: Entity) -> Match:
    nothing = (AttributeMatch(attribute.name, attribute.value, None, None, 0.0) for attribute in goal.attributes)
    return Match(goal, None, 0.0, tuple(nothing), 0.0)
