"""Claims: single sentences of a paper, each with the stored numbers behind it and the resulting verdict.

A claim is declared once, in `data/claims/PAPER.yaml`. Its numbers come from exactly one of

    figure     a number or fact that a notebook reported, without a model
    row        a row of a stored results table, without a model
    contrast   the per-task scores of two conditions, answered by a real model

A claim without numbers, or with a planned recording, is NOT RUN. The other verdicts:

    REPRODUCED · DIFFERENT     figure or row: within the stated margin of the published value, or outside it
    TOO SMALL                  n is too small: neither of the above, or no significant direction
    AGREES · OPPOSES           contrast: the claimed direction, or the opposite, with Holm's correction within an item
    AGREES, but so does …      the placebo or the strongest null model: the condition is not significantly better
    SHOWS NOTHING              contrast: the model's other condition scores below 5 % or above 80 % (PROTOCOL.md)
    FITTED · BY CONSTRUCTION   a choice was fitted to the value, or the value is our input: no test of the paper
    VOID                       its recording was made with other prompts
    MISSING                    its numbers are not stored

VOID and MISSING fail the check of the notebooks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from lab.results.statistics import Interval
from lab.results.stored import Side
from lab.results.verdicts import Verdict

FITTED, BY_CONSTRUCTION = "FITTED", "BY CONSTRUCTION"
BY_PLACEBO, BY_NULL = "AGREES, but so does the placebo", "AGREES, but so does a null model"
SHOWS_NOTHING = "SHOWS NOTHING"
NOT_RUN, VOID, MISSING = "NOT RUN", "VOID", "MISSING"
FAULTS = (VOID, MISSING)
LEAST = 20  # tasks needed for a verdict on a contrast's direction
PLAIN = (0.05, 0.80)  # the range of a plain agent's score outside of which a comparison shows nothing (PROTOCOL.md)
MOST_WORDS = 10  # maximum in a claim's sentence
STRICT: Any = {"extra": "forbid"}  # a misspelt field of a file is an error


class BadClaim(ValueError):
    """A claim's entry is invalid; the message names it and the fix."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A number of a paper: a cell of data/published, or the value itself with its source.

    backbone: needed if the method has several. less: another method, whose value in the same cell is subtracted.
    """

    __pydantic_config__ = STRICT

    table: str = ""
    method: str = ""
    metric: str = ""
    backbone: str = ""
    less: str = ""
    value: float | int | str | bool | None = None
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a stored results table. table: its stem under `figures/`. where: column -> value that selects the row.

    value: column of the value. The columns ci_low, ci_high and n give its interval; without them it is a count or fact.
    """

    __pydantic_config__ = STRICT

    table: str
    where: Mapping[str, Any]
    value: str = "value"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Two conditions of a benchmark on the same tasks, `of` minus `less`, answered by one model.

    benchmark: "A, B" compares over the tasks of both. engine: label of the engine of both conditions; less_engine: of
    the second, if it differs. placebo: a condition of the same engine.
    """

    __pydantic_config__ = STRICT

    benchmark: str
    of: str
    less: str
    engine: str
    less_engine: str = ""
    placebo: str = ""

    def side(self, condition: str, engine: str = "") -> Side:
        """A condition of the contrast as a `Side`."""
        return Side(self.benchmark, condition, engine or self.engine)

    @property
    def sides(self) -> tuple[Side, Side]:
        """The two conditions that are compared."""
        return self.side(self.of), self.side(self.less, self.less_engine)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim; the module docstring lists the sources of its numbers.

    item: its table, figure or section. unit: "%" for rates, whose stored scores are in [0, 1]; "" for plain numbers.
    margin: in the unit, within which values count as equal; 0 for exact equality. lower: smaller scores are better.
    nature, because: whether and why the value is no test of the paper. why: known reason for a difference. least:
    tasks needed for a direction. headline: in the forest plot. exploratory: not named before its recording was made.
    """

    __pydantic_config__ = STRICT

    id: str
    item: str
    says: str
    notebook: str = ""
    paper: Published | None = None
    figure: str = ""
    row: Row | None = None
    contrast: Contrast | None = None
    unit: str = "%"
    margin: float = 0.0
    lower: bool = False
    nature: Literal["independent", "fitted", "by construction"] = "independent"
    because: str = ""
    why: str = ""
    least: int = LEAST
    headline: bool = False
    exploratory: bool = False

    def __post_init__(self) -> None:
        """Raises BadClaim."""
        sources = [name for name in ("figure", "row", "contrast") if getattr(self, name)]
        if len(sources) > 1:
            raise BadClaim(f"claim {self.id} rests on {' and '.join(sources)}; keep one of them")
        if len(self.says.split()) > MOST_WORDS:
            raise BadClaim(f"claim {self.id} says {len(self.says.split())} words; at most {MOST_WORDS}")
        if sources and not self.notebook:
            raise BadClaim(f"claim {self.id} rests on a {sources[0]}; name the notebook that stores it")
        if sources and sources != ["contrast"] and self.paper is None:
            raise BadClaim(f"claim {self.id} rests on a {sources[0]} and has nothing to compare it with; give `paper`")
        if self.nature != "independent" and not self.because:
            raise BadClaim(f"claim {self.id} is {self.nature}; say why in `because`")
        if not sources and self.paper is None:
            raise BadClaim(f"claim {self.id} is not run and has no published value; give `paper`")

    @property
    def sentence(self) -> str:
        """What the claim says, and whether it is exploratory."""
        return f"{self.says} (exploratory)" if self.exploratory else self.says

    @property
    def sign(self) -> Literal[1, -1]:
        """The claimed sign of first minus second: the first condition is better."""
        return -1 if self.lower else 1


class Finding(NamedTuple):
    """The result of a claim, all numbers in the claim's unit.

    paper: the published value. here: our value, or a contrast's difference, with its interval. sides: the two means of
    a contrast. model: the engine that answered, "" without a model. placebo: placebo minus second condition. null: name
    of the strongest null model, and null model minus second condition. headroom: of the first condition, from the
    strongest null model (0) to the ceiling (1) on the same tasks. data, n: the data and number of tasks behind `here`.
    p: of a contrast, after Holm's correction.
    """

    claim: Claim
    verdict: Verdict
    paper: float | int | str | bool | None = None
    source: str = ""
    here: Interval | float | int | str | bool | None = None
    n: int = 0
    data: str = ""
    model: str = ""
    sides: tuple[float, float] | None = None
    placebo: Interval | None = None
    null: tuple[str, Interval] | None = None
    headroom: float | None = None
    p: float | None = None

    @property
    def on_a_model(self) -> bool:
        """Whether the claim needs a real model and was run."""
        return bool(self.claim.contrast) and self.verdict.word not in (NOT_RUN, *FAULTS)

    @property
    def rival(self) -> tuple[str, Interval] | None:
        """The strongest null model, unless it is the contrast's second condition or its placebo."""
        contrast = self.claim.contrast
        sides = (contrast.less, contrast.less_engine, contrast.placebo) if contrast else ()
        return self.null if self.null and self.null[0] not in {side.lower() for side in sides} else None

    @property
    def faulty(self) -> bool:
        """Whether the check of the notebooks has to fail."""
        return self.verdict.word in FAULTS


def count(findings: Iterable[Finding]) -> Counter[str]:
    """Verdict word -> number of claims."""
    return Counter(finding.verdict.word for finding in findings)
