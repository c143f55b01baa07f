"""Readers against observations read by hand, of worlds whose simulator has no such facts.

The expected facts were written down from the text alone, in the reader's names for attributes and places, by the writer
of the rules: the samples test whether texts are read right, and are no independent opinion on what is worth noting.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.machine.faults import MissingData
from lab.machine.paths import ROOT
from standins.statefactory import scienceworld, webshop
from standins.statefactory.fidelity import Compared, facts
from standins.statefactory.languages import Entities
from standins.statefactory.webshop.words import name_of
from statefactory.state import Attribute, from_facts

SAMPLES = ROOT / "data" / "synthetic"


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
