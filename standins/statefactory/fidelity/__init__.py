"""How faithful the rules' reading of a world is: F1 of the facts they read against what is true, step for step.

True are the facts of the simulator (the modules here play its games) about things that the text has named so far and
that text can tell; what nobody could know yet (the inside of a closed box) does not count against the reader.

Worlds whose simulator has no such facts have observations read by hand. Their facts were written down from the text
alone, in the reader's names for attributes and places, by the writer of the rules: the samples test whether texts are
read right, and are no independent opinion on what is worth noting.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
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
UNSEEN = 50_000  # added to the seed of synthetic games: no development data was made from such seeds
SAMPLES = ROOT / "data" / "synthetic"
NAMES = ("alfworld", "textworld", "blocksworld", "scienceworld", "webshop")


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


def of_scienceworld(folder: Path = SAMPLES) -> Iterator[Compared]:
    """Observations of every kind, each with the facts known before, from tasks outside the benchmark's 191.

    Left out on both sides: the air, which is everywhere, and the options of a question back. Raises MissingData.
    """
    for record in _records(folder / "scienceworld_checked.jsonl"):
        known = from_facts((identity, Attribute(name, value)) for identity, name, value in record["before"])
        reading = scienceworld.read(known, record["action"], record["observation"])
        true = frozenset((identity, name, value) for identity, name, value in record["facts"])
        yield Compared(facts(reading.known), true, reading.unparsed)


def of_webshop(folder: Path = SAMPLES) -> Iterator[Compared]:
    """The pages of 7 sessions in the synthetic shop, long lists of results cut to two or three products.

    Of the phrases in products' texts only those that the session's wish asks for count, on both sides; that the reader
    notes many more is not scored. Raises MissingData.
    """
    known: Entities = ()
    session = None
    for page in _records(folder / "webshop_checked.jsonl"):
        known = known if page["session"] == session else ()
        session = page["session"]
        known, unparsed = webshop.read(known, page["action"], page["observation"])
        true = {(who, name, value) for who, said in page["state"].items() for name, value in said.items()}
        phrases = {fact for fact in facts(known) if " " in fact[2] and fact[1] == name_of(fact[2])}
        unasked = {fact for fact in phrases if fact[2] not in page["wanted"]}
        yield Compared(facts(known) - unasked, frozenset(true), unparsed)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        raise MissingData(f"The hand-checked observations are not in {path}; restore the file with git checkout")
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


BY_HAND = {"scienceworld": of_scienceworld, "webshop": of_webshop}


def compared(name: str, games: int, seed: int = 0) -> Iterator[Compared]:
    """The steps of so many unseen games of a world, by the expert and at random; or its whole hand-checked sample.

    Raises MissingData.
    """
    if name in BY_HAND:
        yield from getattr(import_module("standins.statefactory.fidelity"), f"of_{name}")()
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
