"""Trust in a reward: flags of steps whose reward says little about the world's state.

    unread      most of the observation was not understood (its reader says so), or the answer was malformed
    empty       no state or no goal was extracted, so the reward is 0 by definition
    copied      state and goal have exactly the same facts: right at the end of a task, otherwise a copied goal
    cut         a text is longer than the embedder reads, so its end has no influence
    constant    the reward is the same at all steps of a trajectory, or of a pair that is scored together

A flag is a reason to inspect, not a verdict: a random walk may see nothing relevant and keep an empty state.
`Predictor.rated` returns flags with the rewards, `Predictor.predict` warns of them, and results tables count them.
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
Flags: TypeAlias = tuple[frozenset[str], ...]  # per step a set of some of NAMES
NONE: frozenset[str] = frozenset()
UNPARSED = "Unparsed: "  # prefix of an answer's `thinking`; the sentences not understood follow, one per line


class UntrustedReward(UserWarning):
    """Some predicted rewards are flagged; the message counts the steps per flag."""


def mostly_unread(thinking: str, observation: str) -> bool:
    """Whether sentences that the reader did not understand have over half of the observation's characters.

    thinking: of the reader's answer; lists these sentences after `UNPARSED`. White space is ignored.
    """
    if not thinking.startswith(UNPARSED):
        return False
    unread, total = ("".join(text.split()) for text in (thinking.removeprefix(UNPARSED), observation))
    return 2 * len(unread) > len(total)


def of_states(
    goals: Sequence[State], states: Sequence[State], unread: Collection[int] = (), cut: Collection[str] = (),
    apart: bool = False,
) -> Flags:  # fmt: skip
    """Flags of the steps. goals, states: one of each per step.

    unread: indices, from 0, of steps whose observation was mostly unread. cut: texts that the embedder truncates.
    apart: how states are converted to entities, see `statefactory.state.entities`.
    """
    steps = zip(goals, states, strict=True)
    return tuple(
        frozenset(
            name
            for name, flagged in (
                (UNREAD, step in unread),
                (EMPTY, not (any(goal) and any(state))),  # also an empty text of the raw level
                (COPIED, any(state) and len(state) == len(goal) and {*state} == {*goal}),
                (CUT, bool(cut) and not {*texts(goal, apart), *texts(state, apart)}.isdisjoint(cut)),
            )
            if flagged
        )
        for step, (goal, state) in enumerate(steps)
    )


def texts(state: State, apart: bool = False) -> Iterable[str]:
    """All texts of a state that are embedded."""
    for entity in entities(state, apart):
        yield entity.identity
        for attribute in entity.attributes:
            yield from (attribute.name, attribute.value)


def with_constant(flags: Flags, rewards: ArrayLike) -> Flags:
    """Add "constant" to the flags of all steps if the rewards, shape (steps,), are all equal."""
    values = np.asarray(rewards)
    if values.size < 2 or vary(values.min(), values.max()):
        return flags
    return tuple(flagged | {CONSTANT} for flagged in flags)


def cells(flags: Iterable[Flags]) -> dict[str, Any]:
    """Columns for a row of a results table: number of steps, number of steps per flag, and a note on flagged steps."""
    steps = [step for trajectory in flags for step in trajectory]
    counts, flagged = Counter(name for step in steps for name in step), sum(map(bool, steps))
    note = f"flagged {max(1, round(100 * flagged / len(steps)))} %" if flagged else ""
    return {"steps": len(steps), **{name: counts[name] for name in NAMES}, NOTE: note}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a results table that rest on flagged steps, with the number of steps per flag."""
    if NOTE not in rows:
        return rows[:0]
    flagged = rows[rows[NOTE].fillna("") != ""]
    return flagged[["method", "backbone", "metric", "steps", *NAMES, "evidence"]].astype(dict.fromkeys(NAMES, int))


def told(flags: Flags) -> str:
    """Summarise flags, such as "3 of 9 steps flagged: 2 unread, 1 empty"; "" if there are none."""
    counts = Counter(name for step in flags for name in step)
    if not counts:
        return ""
    names = ", ".join(f"{counts[name]} {name}" for name in NAMES if counts[name])
    return f"{sum(map(bool, flags))} of {len(flags)} steps flagged: {names}"


def warn(flags: Flags, whose: Any) -> None:
    """Warn of flagged steps, at the caller of the predictor `whose`."""
    if text := told(flags):
        message = f"{type(whose).__name__}: {text}. Their rewards may mean nothing; see `statefactory.trust`"
        warnings.warn(message, UntrustedReward, stacklevel=3)
