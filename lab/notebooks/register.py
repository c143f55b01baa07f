"""The register of claims: one file per paper, from which scoreboard, README and answer boxes are computed.

`data/claims/PAPER.yaml` lists the paper's tables and figures with their notebooks, and the claims about them
(lab/results/claims.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lab.machine.paths import ROOT
from lab.machine.reading import damaged, read_text, typed
from lab.results import floors, tables
from lab.results.claims import STRICT, BadClaim, Claim, Finding
from lab.results.judging import evaluate
from lab.results.stored import Stored
from lab.runs import planned, recordings

if TYPE_CHECKING:
    import pandas as pd

FOLDER = ROOT / "data" / "claims"


@dataclass(frozen=True, kw_only=True)
class Shows:
    """The part of a stored results table that a notebook's key figure shows, a panel per metric.

    metrics: metric -> benchmark whose strongest null model is marked, "" for none. methods: name in the table -> name
    in the figure, where several may share a line; empty for all methods. by: the column whose values are the lines.
    lower: whether lower values are better.
    """

    __pydantic_config__ = STRICT

    table: str
    metrics: Mapping[str, str]
    methods: Mapping[str, str] = field(default_factory=dict)
    lower: bool = False
    by: Literal["method", "backbone"] = "method"


@dataclass(frozen=True, kw_only=True)
class Item:
    """Tables, figures or sections of a paper, and the notebook or the page of docs/ with them.

    note: what is missing, or why there is no notebook or page. shows: content of the notebook's key figure. drawing: a
    committed figure that is used as key figure instead, such as a diagram. answer: a sentence for the answer box, with
    the notebook's numbers in braces (`answers.filled`); by default the sentence says what the key figure shows.
    """

    __pydantic_config__ = STRICT

    items: tuple[str, ...]
    title: str
    notebook: str = ""
    page: str = ""
    note: str = ""
    shows: Shows | None = None
    drawing: str = ""
    answer: str = ""


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A file of the register. published: the paper's file in data/published. models: those that the paper tested."""

    __pydantic_config__ = STRICT

    paper: str
    published: str
    models: tuple[str, ...]
    items: tuple[Item, ...]
    claims: tuple[Claim, ...]

    def item(self, name: str) -> Item:
        """The entry that lists an item. Raises BadClaim if there is none."""
        for item in self.items:
            if name in item.items:
                return item
        raise BadClaim(f"{self.paper}: no entry of `items` lists {name!r}")


@dataclass(frozen=True)
class PaperFindings:
    """A paper with its findings, one per claim, in order."""

    paper: Paper
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> list[str]:
        """A line for each claim that fails the check."""
        return [
            f"claim {finding.claim.id} ({self.paper.paper}, {finding.claim.item}: {finding.claim.says}) is "
            f"{finding.verdict.word}: {finding.verdict.detail}"
            for finding in self.findings
            if finding.faulty
        ]


def papers(folder: Path = FOLDER) -> list[Paper]:
    """The register. Raises DamagedFile or BadClaim, naming the claim, for an invalid entry."""
    from lab.machine.yaml12 import load

    loaded = []
    for path in sorted(folder.glob("*.yaml"), key=lambda path: ("sdp", "statefactory", "procllm").index(path.stem)):
        try:
            loaded.append(typed(load(read_text(path)), Paper))
        except ValueError as error:
            raise damaged(path, error, "Mend the entry") from None
    ids = [claim.id for paper in loaded for claim in paper.claims]
    if duplicates := sorted({name for name in ids if ids.count(name) > 1}):
        raise BadClaim(f"two claims have the id {', '.join(duplicates)}; rename one")
    for paper in loaded:
        for claim in paper.claims:
            paper.item(claim.item)
    return loaded


def judge(register: Sequence[Paper], stored: Stored) -> list[PaperFindings]:
    """The findings of all papers' claims."""
    pending = planned.pending({claim.id for paper in register for claim in paper.claims})
    return [
        PaperFindings(
            paper,
            tuple(evaluate(paper.claims, tables.published_cells(paper.published), stored, recordings.void, pending)),
        )
        for paper in register
    ]


@cache
def listed() -> list[Paper]:
    """The committed register, read once per process. Raises as `papers`."""
    return papers()


@cache
def committed() -> list[PaperFindings]:
    """The findings on the committed results, evaluated once per process."""
    return judge(listed(), Stored())


@cache
def about(notebook: str) -> list[Finding]:
    """The findings of a notebook's claims on the committed results. Of the others, only those of the same items are
    evaluated: an item's contrasts are one family of tests.
    """
    families = []
    for paper in listed():
        items = {claim.item for claim in paper.claims if claim.notebook == notebook}
        if items:
            families.append(replace(paper, claims=tuple(claim for claim in paper.claims if claim.item in items)))
    findings = (finding for judged in judge(families, Stored()) for finding in judged.findings)
    return [finding for finding in findings if finding.claim.notebook == notebook]


@cache
def recorded() -> pd.DataFrame:
    """All committed rows of real models with headroom."""
    return floors.of_models(Stored())


def recorded_for(notebook: str) -> pd.DataFrame:
    """Those of `recorded` that a claim of the notebook compares, or whose recording is named after the notebook."""
    rows, stem = recorded(), notebook.rpartition("/")[2]
    if rows.empty:
        return rows
    contrasts = (finding.claim.contrast for finding in about(notebook))
    sides = {
        (benchmark, side.condition, side.engine)
        for contrast in contrasts if contrast
        for side in contrast.sides
        for benchmark in side.benchmark.split(", ")
    }  # fmt: skip
    lines = zip(rows["run"], rows["benchmark"], rows["method"], rows["model"], strict=True)
    return rows[[run.startswith(f"replay:{stem}-") or tuple(line) in sides for run, *line in lines]]


def faults() -> list[str]:
    """A line for each claim whose numbers are MISSING or VOID."""
    return [line for judged in judge(papers(), Stored()) for line in judged.faults]
