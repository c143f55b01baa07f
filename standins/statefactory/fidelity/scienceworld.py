"""ScienceWorld's fidelity: the reader against a sample of observations read by hand.

The sample is `data/synthetic/scienceworld_checked.jsonl`: observations of every kind, from play of tasks outside the
benchmark's 191. A line has the facts known before, the action, the observation, and the facts that a careful human
takes to hold after it, written from the text alone, in the reader's names for attributes and places. Left out on both
sides: the air, which is everywhere, and the options of a question back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from lab.machine.paths import ROOT
from standins.statefactory.fidelity import Compared, Fact, facts
from standins.statefactory.scienceworld import read
from statefactory.state import Attribute, from_facts

AGAINST = "hand-checked observations"
SAMPLE = ROOT / "data" / "synthetic" / "scienceworld_checked.jsonl"


def compared(games: int = 0, seed: int = 0, file: Path = SAMPLE) -> Iterator[Compared]:
    """What was read and what is true, for each observation of the whole sample.

    games, seed: change nothing; they are taken as the other worlds take them. Raises FileNotFoundError without the
    sample, which comes with the repository.
    """
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        known = from_facts((identity, Attribute(name, value)) for identity, name, value in record["before"])
        reading = read(known, record["action"], record["observation"])
        given: frozenset[Fact] = frozenset((identity, name, value) for identity, name, value in record["facts"])
        yield Compared(facts(reading.known), given, reading.unparsed)
