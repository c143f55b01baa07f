"""Hierarchical routing: how much of a goal a state fulfils, as a number in [0, 1].

Each goal entity is matched with the state entity of the highest score. The reward is the mean of these highest scores
(Eq. 7, 9). The paper calls such a score local fulfilment; our figures call it "fit":

    score = similarity(identities) * mean over the goal's attributes of similarity(value, aligned value)
                                                                                             (Eq. 8, 11, 12)

The aligned value belongs to the state entity's attribute whose name is most similar (Eq. 10); of equally similar names
the first wins. Similarity is the cosine of two embeddings, and 1 for equal texts. The empty text is similar to itself
and to nothing else. So two nameless entities, which stand for whole texts, have an identity similarity of 1.

The equations do not say what happens with entities without attributes, or with an empty goal or state. There both
conventions do what the official program does:

                                   PAPER                       OFFICIAL, as in the official program
    a score below 0                is kept                     counts as 0
    the reward                     clipped to [0, 1]           clipped to [0, 1], then cut to two decimals
    names of attributes            unchanged                   without "goal_" and "intermediate_"
    two empty names or values      similarity 1                similarity 0
    a goal without attributes      scores the identity similarity alone
    a state entity without any     scores 0, unless the goal entity has none either
    an empty goal or state         reward 0

Both use the raw cosine. In the official program's float32 a perfect match may be 0.99999994 and be cut to .99; here a
reward within `ROUNDING` below a hundredth counts as that hundredth. At the textual level the official program compares
sentence with sentence, at the object-centric level with the first sentence only; here PAPER joins the sentences
(`statefactory.state.entities`).
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

Step: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # ids of the goal's entities, and of the state's

ROUNDING = 1e-6  # a reward this little below a hundredth counts as that hundredth


@dataclass(frozen=True)
class Convention:
    """Choices that the paper leaves open and where programs differ; see the module's table.

    floor: lower bound of a match's score; None for no bound. decimals: to which rewards are truncated; None for no
    truncation. dropped: substrings removed from attribute names. empty: similarity of two empty names or values. apart:
    whether the sentences of a state are compared one by one (see `statefactory.state.entities`).
    """

    name: str
    floor: float | None
    decimals: int | None
    dropped: tuple[str, ...]
    empty: float
    apart: bool


PAPER = Convention("paper", floor=None, decimals=None, dropped=(), empty=1.0, apart=False)
OFFICIAL = Convention("official", floor=0.0, decimals=2, dropped=("goal_", "intermediate_"), empty=0.0, apart=True)


class AttributeMatch(NamedTuple):
    """A goal attribute and the state attribute it was compared with.

    aligned, found: that attribute's name and value; None if the state entity has no attributes.
    """

    name: str
    value: str
    aligned: str | None
    found: str | None
    similarity: float


class Match(NamedTuple):
    """A goal entity and the state entity it is matched with.

    entity: None if the state is empty. identity: similarity of the two identities. score: Eq. 12.
    """

    goal: Entity
    entity: Entity | None
    identity: float
    attributes: tuple[AttributeMatch, ...]
    score: float


def rewards(
    goals: Sequence[Entities], states: Sequence[Entities], embedder: Embedder, convention: Convention = PAPER
) -> np.ndarray:
    """The reward of every step, shape (steps,), each in [0, 1]. goals, states: one of each per step.

    All texts of the trajectory are embedded in one batch.
    Raises ValueError if goals and states differ in number, and what the embedder raises.
    """
    if len(goals) != len(states):
        raise ValueError(f"{len(goals)} goals for {len(states)} states; each step needs one of each")
    table, steps = _numbered(goals, states, embedder, convention)
    # Steps with equal goal and state share a key and are scored once. Empty ones keep 0.0: `_blocks` skips them.
    means = dict.fromkeys(steps, 0.0)
    for block in _blocks(means):
        means |= _means(table, block, convention)
    return _finished(np.array([means[step] for step in steps]), convention)


def matches(goal: Entities, state: Entities, embedder: Embedder, convention: Convention = PAPER) -> tuple[Match, ...]:
    """For every goal entity its best state entity and the similarities. The mean score, clipped, is the reward."""
    table, ((goal_ids, state_ids),) = _numbered([goal], [state], embedder, convention)
    if not (goal and state):
        return tuple(_unmatched(entity) for entity in goal)
    alignment = table.align(np.array(goal_ids), np.array(state_ids))
    scores = _floored(alignment.scores, convention)
    best = scores.argmax(axis=1)
    ends = np.cumsum([len(entity.attributes) for entity in goal])
    return tuple(
        Match(
            entity, state[column], float(alignment.identities[row, column]),
            _compared(entity, state[column], alignment, slice(end - len(entity.attributes), end), column),
            float(scores[row, column]),
        )
        for row, (entity, column, end) in enumerate(zip(goal, best, ends, strict=True))
    )  # fmt: skip


def _numbered(
    goals: Sequence[Entities], states: Sequence[Entities], embedder: Embedder, convention: Convention
) -> tuple[Table, list[Step]]:
    table = Table(convention.dropped, convention.empty)
    steps = table.numbered(goals, states)
    table.embed(embedder)
    return table, steps


def _blocks(steps: Iterable[Step]) -> Iterator[list[Step]]:
    """Group successive steps as long as one score table for the group is no larger than a table per step."""
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
    """For each step the mean of its goal entities' highest scores (Eq. 7 and 9)."""
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
    # Both conventions clip, since a mean of raw cosines may be negative.
    clipped = np.clip(means, 0.0, 1.0)
    if convention.decimals is None:
        return clipped
    scale = 10**convention.decimals
    # The official program truncates, it does not round. ROUNDING corrects for values such as 0.99999994.
    return np.floor((clipped + ROUNDING) * scale) / scale


def _compared(
    goal: Entity, taken: Entity, alignment: Alignment, rows: slice, column: int
) -> tuple[AttributeMatch, ...]:
    if not taken.attributes:
        return _unmatched(goal).attributes
    aligned = [taken.attributes[index] for index in alignment.aligned[rows, column]]
    return tuple(
        AttributeMatch(goal_attribute.name, goal_attribute.value, attribute.name, attribute.value, float(similarity))
        for goal_attribute, attribute, similarity in zip(
            goal.attributes, aligned, alignment.similarities[rows, column], strict=True
        )
    )  # fmt: skip


def _unmatched(goal: Entity) -> Match:
    nothing = (AttributeMatch(attribute.name, attribute.value, None, None, 0.0) for attribute in goal.attributes)
    return Match(goal, None, 0.0, tuple(nothing), 0.0)
