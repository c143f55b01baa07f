"""Question templates in two sets that share no wording: one to write rules on, one to report on.

Rules that stand in for a model offline may be written on the set "writing" and on nothing else; what they score on
"reporting" then says how far they reach. The sets are writing.yaml and reporting.yaml; about a third of the chains
of relations is in both. A question carries its template's name, "reporting/lead-actor-birthplace", say.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from lab.machine.printing import hint
from lab.machine.reading import read_yaml

Split = Literal["writing", "reporting"]
SPLITS: tuple[Split, ...] = ("writing", "reporting")
COMPARISONS = {"least": "comparison", "most": "comparison", "same": "yes/no", "less": "yes/no", "more": "yes/no"}


@dataclass(frozen=True, slots=True)
class Template:
    """How questions of a form are made.

    start: kind of the entity that the question names, as {x}. steps: relations from there on, one a hop;
    "festival<town" goes from a town to its festival. compare: what is asked of the values that one step has for two
    entities, {x} and {y}: which is "least" or "most", whether they are the "same", or the first is "less" or "more".
    hops: one question a step, about {x}.
    """

    name: str
    start: str
    steps: tuple[str, ...]
    question: str
    hops: tuple[str, ...]
    compare: str | None = None

    @property
    def type(self) -> str:
        """bridge (two hops), compositional (three and four), comparison or yes/no (two entities)."""
        if self.compare:
            return COMPARISONS[self.compare]
        return "bridge" if len(self.steps) == 2 else "compositional"


@lru_cache(maxsize=2)
def templates(split: Split) -> tuple[Template, ...]:
    """The templates of a set, "writing" or "reporting". Raises ValueError for another name."""
    if split not in SPLITS:
        raise ValueError(f"there are templates for {' and '.join(SPLITS)}, none for {split!r}{hint(split, SPLITS)}")
    wordings, *entries = read_yaml(Path(__file__).with_name(f"{split}.yaml"))
    return tuple(
        Template(
            name=f"{split}/{entry['name']}",
            start=entry["start"],
            steps=tuple(entry["chain"]),
            question=entry["question"],
            hops=tuple(wordings["hops"][step] for step in entry["chain"]),
            compare=entry.get("compare"),
        )
        for entry in entries
    )
