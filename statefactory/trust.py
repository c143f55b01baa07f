"""Trust in a reward: flags of steps at which a number says little about the world's state.

    unread      most of the observation was not read: its reader says so, or its answer was malformed
    empty       no state or no goal was extracted, which makes a reward 0 by definition
    copied      the state is the goal, fact by fact and nothing else: right at the end of a task, else a copied goal
    cut         a text is longer than the embedder reads, and what stands behind that changes nothing
    constant    the reward is the same at every step, of a trajectory or of a pair that is scored together

A flag is a reason to look, not a verdict: a random walk may see nothing that matters, and keep an empty state.
`Predictor.rated` returns flags beside rewards, `Predictor.predict` warns of them, and rows count them.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from lab.results.tables import NOTE
from statefactory.epic import vary
from statefactory.state import State, entities

if TYPE_CHECKING:
    import pandas as pd

UNREAD, EMPTY, COPIED, CUT, CONSTANT = NAMES = ("unread", "empty", "copied", "cut", "constant")
Flags: TypeAlias = tuple[frozenset[str], ...]  # one set a step, with some of NAMES
NONE: frozenset[str] = frozenset()
UNPARSED = (
    "Unparsed: "  # begins an answer's `thinking`; then the sentences that its reader did not understand, a line each
)


class UntrustedReward(UserWarning):
    """Some rewards of a prediction are flagged; the message counts the steps by flag."""


def mostly_unread(thinking: str, observation: str) -> bool:
    """Whether more than half of an observation's characters stand among the sentences that its reader left unread."""
    if not thinking.startswith(UNPARSED):
        return False
    left, whole = ("".join(text.split()) for text in (thinking.removeprefix(UNPARSED), observation))
    return 2 * len(left) > len(whole)


def of_states(
    goals: Sequence[State], states: Sequence[State], unread: Collection[int] = (), cut: Collection[str] = (),
    apart: bool = False,
) -> Flags:  # fmt: skip
    """Flags of extracted states, one of each a step.

    unread: the steps, from 0, whose text was mostly unread. cut: texts that the embedder cuts. apart: how the states
    are read as entities, see `statefactory.state.entities`.
    """
    steps = zip(goals, states, strict=True)
    return tuple(
        frozenset(
            name
            for name, flagged in (
                (UNREAD, step in unread),
                (EMPTY, not (any(goal) and any(state))),  # also the raw level's empty text
                (COPIED, any(state) and len(state) == len(goal) and {*state} == {*goal}),
                (CUT, bool(cut) and not {*texts(goal, apart), *texts(state, apart)}.isdisjoint(cut)),
            )
            if flagged
        )
        for step, (goal, state) in enumerate(steps)
    )


def texts(state: State, apart: bool = False) -> Iterable[str]:
    """Every text of a state that is embedded."""
    for entity in entities(state, apart):
        yield entity.identity
        for attribute in entity.attributes:
            yield from (attribute.name, attribute.value)


def with_constant(flags: Flags, rewards: ArrayLike) -> Flags:
    """The flags, with a further one at each of the steps if the rewards, shape (steps,), do not differ."""
    values = np.asarray(rewards)
    if values.size < 2 or vary(values.min(), values.max()):
        return flags
    return tuple(flagged | {CONSTANT} for flagged in flags)


def cells(flags: Iterable[Flags]) -> dict[str, Any]:
    """Cells of a row of a results table: the steps behind its number, how many have each flag, and a note on them."""
    steps = [step for of in flags for step in of]
    counts, flagged = Counter(name for step in steps for name in step), sum(map(bool, steps))
    note = f"flagged {max(1, round(100 * flagged / len(steps)))} %" if flagged else ""
    return {"steps": len(steps), **{name: counts[name] for name in NAMES}, NOTE: note}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """The flags of a results table, a row a number that rests on flagged steps: how many steps have each flag."""
    if NOTE not in rows:
        return rows[:0]
    flagged = rows[rows[NOTE].fillna("") != ""]
    return flagged[["method", "backbone", "metric", "steps", *NAMES, "evidence"]].astype(dict.fromkeys(NAMES, int))


def told(flags: Flags) -> str:
    """Flags in words, such as "3 of 9 steps flagged: 2 unread, 1 empty"; "" where there are none."""
    counts = Counter(name for step in flags for name in step)
    if not counts:
        return ""
    names = ", ".join(f"{counts[name]} {name}" for name in NAMES if counts[name])
    return f"{sum(map(bool, flags))} of {len(flags)} steps flagged: {names}"


def warn(flags: Flags, whose: Any) -> None:
    """Warn of flagged steps, at the line that asked `whose` predictor."""
    if text := told(flags):
        message = f"{type(whose).__name__}: {text}. Their rewards may mean nothing; see `statefactory.trust`"
        warnings.warn(message, UntrustedReward, stacklevel=3)
