"""How faithful the rules' reading of a world is: F1 of the facts they read against the simulator's own state.

Each module here plays games of one world and yields, step for step, what the rules read from the text and what is true.
True are the facts of the simulator about things that the text has named so far and that text can tell; what nobody
could know yet (the inside of a closed box) does not count against the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from lab.machine import progress
from lab.machine.faults import MissingData
from statefactory.state import Entity

if TYPE_CHECKING:
    import pandas as pd

Fact = tuple[str, str, str]  # identity, name of the attribute, value
UNSEEN = 50_000  # added to the seed of synthetic games: no development data was made from such seeds
NAMES = ("alfworld", "textworld", "blocksworld", "scienceworld", "webshop")
BY_HAND = ("scienceworld", "webshop")


class Compared(NamedTuple):
    """One step: what was read, what is true, and the sentences that no rule understood."""

    read: frozenset[Fact]
    true: frozenset[Fact]
    unparsed: tuple[str, ...] = ()


class Fidelity(NamedTuple):
    """Precision, recall and F1 over all facts of all steps, each in [0, 1]; and what they rest on."""

    precision: float
    recall: float
    f1: float
    true_facts: int
    steps: int
    unparsed: int


def facts(known: Iterable[Entity]) -> frozenset[Fact]:
    """The entities as facts."""
    return frozenset((entity.identity, a.name, a.value) for entity in known for a in entity.attributes)


def fidelity(steps: Sequence[Compared]) -> Fidelity:
    """The score over steps. Raises ValueError if there are none, or nothing is true."""
    # Micro-averaged: a fact counts once a step, so long episodes weigh more.
    right = sum(len(step.read & step.true) for step in steps)
    read, true = (sum(len(getattr(step, side)) for step in steps) for side in ("read", "true"))
    if not true:
        raise ValueError("no step has a true fact: nothing to score the rules against")
    unread = sum(len(step.unparsed) for step in steps)
    return Fidelity(right / max(1, read), right / true, 2 * right / (read + true), true, len(steps), unread)


def compared(name: str, games: int, seed: int = 0) -> Iterator[Compared]:
    """The steps of so many unseen games of a world, by the expert and at random; or its whole hand-checked sample.

    Raises MissingData.
    """
    if name in BY_HAND:
        yield from getattr(import_module("standins.statefactory.fidelity.samples"), f"of_{name}")()
    else:
        yield from import_module(f"standins.statefactory.fidelity.{name}").compared(games, seed)


def table(games: int, seed: int, names: Sequence[str] = NAMES) -> pd.DataFrame:
    """A row a world, with its F1 of facts; a world whose games are not here is left out."""
    import pandas as pd

    rows = []
    for name in names:
        try:
            score = fidelity(list(compared(name, games, seed)))
        except MissingData as error:
            progress.say(f"{name} is left out: {error}")
            continue
        against = "hand-checked observations" if name in BY_HAND else "the simulator's state"
        rows.append({"world": name, "against": against, **score._asdict(), "evidence": "measured"})
    return pd.DataFrame(rows)
