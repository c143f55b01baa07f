"""Fidelity of the rules' reading of a world: F1 of the facts that they read against the true facts, step by step.

The true facts are the simulator's (the modules here play its games), restricted to things that the text has named so
far and to what a text can tell. What nobody can know yet (the inside of a closed box) does not count against the rules.

For worlds whose simulator has no such facts, observations were annotated by hand. The author of the rules wrote these
facts from the text alone, with the rules' names for attributes and places. So the samples test whether texts are read
correctly; they are no independent opinion on what is worth noting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.machine.paths import ROOT
from standins.statefactory import scienceworld, webshop
from standins.statefactory.languages import Entities
from standins.statefactory.webshop.wishes import name_of
from statefactory.state import Attribute, Entity, from_facts

if TYPE_CHECKING:
    import pandas as pd

Fact = tuple[str, str, str]  # identity, name of the attribute, value
UNSEEN = 50_000  # added to the seed of synthetic games: no such seed was used in development
SAMPLES = ROOT / "data" / "synthetic"
NAMES = ("alfworld", "textworld", "blocksworld", "scienceworld", "webshop")


class Compared(NamedTuple):
    """One step: the facts read, the true facts, and the sentences that no rule understood."""

    read: frozenset[Fact]
    true: frozenset[Fact]
    unparsed: tuple[str, ...] = ()


class Fidelity(NamedTuple):
    """Precision, recall and F1 over all facts of all steps, each in [0, 1]; and the counts behind them."""

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
    """The score over steps. Raises ValueError if there are no steps or no true facts."""
    # Micro-averaged: a fact counts once in each step, so long episodes weigh more.
    correct = sum(len(step.read & step.true) for step in steps)
    read, true = (sum(len(getattr(step, side)) for step in steps) for side in ("read", "true"))
    if not true:
        raise ValueError("no step has a true fact: nothing to score the rules against")
    unread = sum(len(step.unparsed) for step in steps)
    return Fidelity(correct / max(1, read), correct / true, 2 * correct / (read + true), true, len(steps), unread)


def of_scienceworld() -> Iterator[Compared]:
    """Observations of every kind, with the facts known before, from tasks outside the benchmark's 191.

    Left out on both sides: the air, which is everywhere, and the options when the world asks back. Raises MissingData.
    """
    for record in _records("scienceworld_checked.jsonl"):
        known = from_facts((identity, Attribute(name, value)) for identity, name, value in record["before"])
        reading = scienceworld.read(known, record["action"], record["observation"])
        true = frozenset((identity, name, value) for identity, name, value in record["facts"])
        yield Compared(facts(reading.known), true, reading.unparsed)


def of_webshop() -> Iterator[Compared]:
    """The pages of 7 sessions in the synthetic shop, with long lists of results cut to two or three products.

    Of the phrases in products' texts, only those that the session's wish asks for count, on both sides. The rules read
    many more, which are not scored. Raises MissingData.
    """
    known: Entities = ()
    session = None
    for page in _records("webshop_checked.jsonl"):
        known = known if page["session"] == session else ()
        session = page["session"]
        known, unparsed = webshop.read(known, page["action"], page["observation"])
        true = {(identity, name, value) for identity, values in page["state"].items() for name, value in values.items()}
        phrases = {fact for fact in facts(known) if " " in fact[2] and fact[1] == name_of(fact[2])}
        unasked = {fact for fact in phrases if fact[2] not in page["wanted"]}
        yield Compared(facts(known) - unasked, frozenset(true), unparsed)


def _records(name: str) -> Iterator[dict[str, Any]]:
    path = SAMPLES / name
    if not path.exists():
        raise MissingData(f"The hand-checked observations are not in {path}; restore the file with git checkout")
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


BY_HAND = {"scienceworld": of_scienceworld, "webshop": of_webshop}


def compared(name: str, games: int, seed: int = 0) -> Iterator[Compared]:
    """The steps of `games` unseen games of a world, by the expert and at random; or its whole hand-checked sample.

    Raises MissingData.
    """
    if name in BY_HAND:
        yield from getattr(import_module("standins.statefactory.fidelity"), f"of_{name}")()
    else:
        yield from import_module(f"standins.statefactory.fidelity.{name}").compared(games, seed)


def table(games: int, seed: int, names: Sequence[str] = NAMES) -> pd.DataFrame:
    """One row a world, with its F1 of facts; worlds whose games are missing are left out."""
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
