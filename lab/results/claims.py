"""Claims: one sentence each, with the stored numbers that it rests on and the verdict that follows.

A claim is declared once, in `data/claims/PAPER.yaml`. It rests on exactly one of

    figure     a number or fact that a notebook reported and that needs no model
    row        a row of a stored results table, free of a model
    contrast   the per-task scores of two conditions, answered by a real model

or on nothing yet, or on a recording that is planned, which is NOT RUN. What the verdicts mean:

    REPRODUCED · DIFFERENT     of a figure or row: within the stated margin of the published value, or outside it
    TOO SMALL                  n cannot tell: neither of the above, or no direction shown
    AGREES · OPPOSES           of a contrast: the direction that is claimed, or the other one, by Holm's p over one item
    AGREES, but so does …      the placebo or the strongest null model: the condition is not shown to be better than it
    FITTED · BY CONSTRUCTION   a choice was made to give the value, or it is an input of ours: no test of the paper
    VOID                       its recording was made with other prompts
    MISSING                    what it rests on is not stored

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
NOT_RUN, VOID, MISSING = "NOT RUN", "VOID", "MISSING"
FAULTS = (VOID, MISSING)
LEAST = 20  # tasks of a contrast, below which no direction is stated
MOST_WORDS = 10  # of a claim's sentence
STRICT: Any = {"extra": "forbid"}  # a misspelt field of a file is an error


class BadClaim(ValueError):
    """A claim's entry makes no sense; the message names it and what to mend."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """A number of a paper: a cell of data/published, or the value itself with its source.

    backbone: needed where the method has several. less: the same cell of another method, which is subtracted.
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
    """A row of a stored results table: its stem under `figures/`, the columns that choose it, and that of its value.

    A table with the columns ci_low, ci_high and n gives the value its interval; else it is a count or a fact.
    """

    __pydantic_config__ = STRICT

    table: str
    where: Mapping[str, Any]
    value: str = "value"


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Two conditions of a benchmark on the same tasks, the first less the second, answered by one model.

    benchmark: several, "A, B", are compared over the tasks of all. engine: the label of who answers both; less_engine:
    of the second, where it is another. placebo: a condition of the same engine.
    """

    __pydantic_config__ = STRICT

    benchmark: str
    of: str
    less: str
    engine: str
    less_engine: str = ""
    placebo: str = ""

    def side(self, condition: str, engine: str = "") -> Side:
        """One of its conditions."""
        return Side(self.benchmark, condition, engine or self.engine)

    @property
    def sides(self) -> tuple[Side, Side]:
        """The two conditions that are compared."""
        return self.side(self.of), self.side(self.less, self.less_engine)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim; the module says what it may rest on.

    item: the table, figure or section that it is about. unit: "%" for rates, whose stored scores are in [0, 1]; ""
    for a number as it is. margin: within which a value counts as the same, in the unit; 0 for exactly. lower: a smaller
    score is the better one. nature, because: why the value is no test of the paper. why: it differs, as far as is
    known. least: the fewest tasks for a direction.
    headline: in the forest plot.
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

    def __post_init__(self) -> None:
        """Raises BadClaim."""
        rests = [name for name in ("figure", "row", "contrast") if getattr(self, name)]
        if len(rests) > 1:
            raise BadClaim(f"claim {self.id} rests on {' and '.join(rests)}; keep one of them")
        if len(self.says.split()) > MOST_WORDS:
            raise BadClaim(f"claim {self.id} says {len(self.says.split())} words; at most {MOST_WORDS}")
        if rests and not self.notebook:
            raise BadClaim(f"claim {self.id} rests on a {rests[0]}; name the notebook that stores it")
        if rests and rests != ["contrast"] and self.paper is None:
            raise BadClaim(f"claim {self.id} rests on a {rests[0]} and has nothing to compare it with; give `paper`")
        if self.nature != "independent" and not self.because:
            raise BadClaim(f"claim {self.id} is {self.nature}; say why in `because`")
        if not rests and self.paper is None:
            raise BadClaim(f"claim {self.id} is not run and has no published value; give `paper`")

    @property
    def sign(self) -> Literal[1, -1]:
        """The sign of "first less second" that is claimed: the first is the better one."""
        return -1 if self.lower else 1


class Finding(NamedTuple):
    """What a claim came to, all numbers in the claim's unit.

    paper: the published value. here: the value, or the difference of a contrast, with its interval. sides: the two
    means of a contrast. model: who answered, "" where no model is needed. placebo: its difference to the second
    condition; null: the strongest null model's name and its difference to it. headroom: of the first condition, from
    the strongest null model (0) to the ceiling (1) on the same tasks. data, n: what `here` rests on. p: of a contrast,
    after Holm's correction.
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
        """Whether it is a claim on a real model that was run."""
        return bool(self.claim.contrast) and self.verdict.word not in (NOT_RUN, *FAULTS)

    @property
    def faulty(self) -> bool:
        """Whether the check of the notebooks has to fail."""
        return self.verdict.word in FAULTS


def count(findings: Iterable[Finding]) -> Counter[str]:
    """How many claims have each verdict, by its word."""
    return Counter(finding.verdict.word for finding in findings)
