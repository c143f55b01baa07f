"""Claims: one sentence each, with the stored numbers that it rests on and the verdict that follows.

A claim is declared once, in `data/claims/PAPER.yaml`. It rests on exactly one of

    figure     a number or fact that a notebook reported and that needs no model
    row        a row of a stored results table, free of a model
    contrast   the per-task scores of two conditions, answered by a real model

or on nothing yet, which is NOT RUN. What the verdicts mean:

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lab.models import engines
from lab.results.floors import headroom
from lab.results.statistics import Comparison, Interval, compare, holm
from lab.results.stored import CEILING, FLOOR, Scores, Side, Stored
from lab.results.verdicts import (
    AGREES,
    LEVEL,
    REPRODUCED,
    Verdict,
    count_verdict,
    direction_verdict,
    value_verdict,
)

if TYPE_CHECKING:
    import pandas as pd

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

    engine: the label of who answers both; less_engine: of the second, where it is another. placebo: a condition of the
    same engine.
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
    the strongest null model (0) to the ceiling (1) on the same tasks. data, n: what `here` rests on.
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

    @property
    def on_a_model(self) -> bool:
        """Whether it is a claim on a real model that was run."""
        return bool(self.claim.contrast) and self.verdict.word not in (NOT_RUN, *FAULTS)

    @property
    def faulty(self) -> bool:
        """Whether the check of the notebooks has to fail."""
        return self.verdict.word in FAULTS


Voided = Callable[[str], str]  # a recording's name -> why it is void, "" if it is not


def evaluate(claims: Sequence[Claim], published: pd.DataFrame, stored: Stored, voided: Voided) -> list[Finding]:
    """Every claim with its verdict, in order.

    published: the paper's file (`tables.published_cells`). Contrasts of one item are one family of Holm's correction.
    """
    compared = {claim.id: _compared(claim, stored, voided) for claim in claims if claim.contrast}
    adjusted = _by_holm(claims, compared)
    findings = []
    for claim in claims:
        paper, source = _published(claim, published)
        if claim.contrast:
            finding = _of_contrast(claim, compared[claim.id], adjusted.get(claim.id, 1.0), stored)
        elif claim.row:
            finding = _of_row(claim, claim.row, paper, stored, voided)
        elif claim.figure:
            finding = _of_figure(claim, paper, stored)
        else:
            finding = Finding(claim, Verdict(NOT_RUN, claim.because or "no model of this size is at hand"))
        findings.append(finding._replace(paper=paper, source=source))
    return findings


def count(findings: Iterable[Finding]) -> Counter[str]:
    """How many claims have each verdict, by its word."""
    return Counter(finding.verdict.word for finding in findings)


def _published(claim: Claim, cells: pd.DataFrame) -> tuple[float | int | str | bool | None, str]:
    """The published value and where it stands. Raises BadClaim where data/published has no such cell, or several."""
    if claim.paper is None:
        return None, ""
    if claim.paper.value is not None:
        return claim.paper.value, claim.paper.source
    value, source = _cell(claim, claim.paper.method, cells)
    if claim.paper.less:
        return value - _cell(claim, claim.paper.less, cells)[0], source
    return value, source


def _cell(claim: Claim, method: str, cells: pd.DataFrame) -> tuple[float, str]:
    paper = claim.paper
    assert paper is not None
    rows = cells[(cells["table"] == paper.table) & (cells["method"] == method) & (cells["metric"] == paper.metric)]
    rows = rows[rows["value"].notna() & ((rows["backbone"] == paper.backbone) | (paper.backbone == ""))]
    if rows["value"].nunique() != 1:
        raise BadClaim(
            f"claim {claim.id}: data/published has {rows['value'].nunique()} values for {paper.table!r}, {method!r}, "
            f"{paper.metric!r}; name one cell with a value"
        )
    first = rows.iloc[0]
    return float(first["value"]), str(first["source"])


def _of_figure(claim: Claim, paper: Any, stored: Stored) -> Finding:
    report = stored.report(claim.notebook)
    value = report.values.get(claim.figure) if report else None
    if report is None or value is None:
        return _missing(claim, f"{claim.notebook} reports no figure {claim.figure!r}")
    return Finding(claim, _same(claim, paper, value), here=value, data=report.data_of(claim.figure))


def _of_row(claim: Claim, row: Row, paper: Any, stored: Stored, voided: Voided) -> Finding:
    frame = stored.rows(row.table, claim.notebook)
    if frame is None:
        return _missing(claim, f"{row.table}.csv is not stored")
    for column, wanted in row.where.items():
        if column not in frame:
            return _missing(claim, f"{row.table}.csv has no column {column}")
        frame = frame[frame[column].astype(str) == str(wanted)]
    if len(frame) != 1 or row.value not in frame:
        return _missing(claim, f"{row.table}.csv has {len(frame)} rows with {dict(row.where)} and {row.value}")
    (line,) = frame.to_dict("records")
    source = str(line.get("source", ""))
    if source.startswith("recording ") and (why := voided(source.split(",")[0].removeprefix("recording "))):
        return Finding(claim, Verdict(VOID, why))
    report = stored.report(claim.notebook)
    data = str(line.get("data", report.data if report else ""))
    if "ci_low" not in line:
        return Finding(claim, _same(claim, paper, line[row.value]), here=line[row.value], data=data)
    here, n = Interval(*(float(line[name]) for name in (row.value, "ci_low", "ci_high"))), int(line["n"])
    verdict = _natural(claim, value_verdict(float(paper), here, claim.margin, n))
    return Finding(claim, verdict, here=here, n=n, data=data)


def _same(claim: Claim, paper: Any, value: Any) -> Verdict:
    """The verdict of a number or fact without sampling error."""
    numbers = all(isinstance(each, (int, float)) for each in (paper, value))
    agrees = numbers and abs(value - paper) <= claim.margin + 1e-9
    return _natural(
        claim, Verdict(REPRODUCED, f"{value} here, {paper} there") if agrees else count_verdict(paper, value)
    )


def _natural(claim: Claim, verdict: Verdict) -> Verdict:
    """The verdict of a value that is no independent test is its nature; what came out stays in the detail."""
    if claim.nature == "independent":
        return verdict
    word = FITTED if claim.nature == "fitted" else BY_CONSTRUCTION
    return Verdict(word, f"{claim.because}; {verdict.detail}")


class _Compared(NamedTuple):
    """A contrast's scores and comparison, or why there is none."""

    first: Scores | None = None
    result: Comparison | None = None
    tasks: Mapping[str, float] = {}
    second: Mapping[str, float] = {}
    fault: Verdict | None = None


def _compared(claim: Claim, stored: Stored, voided: Voided) -> _Compared:
    contrast = claim.contrast
    assert contrast is not None
    sides = contrast.side(contrast.of), contrast.side(contrast.less, contrast.less_engine)
    found = [stored.scores.get(side) for side in sides]
    for side, scores in zip(sides, found, strict=True):
        if scores is None:
            return _Compared(fault=Verdict(MISSING, f"no scores of {', '.join(side)} are stored"))
        if scores.run.startswith("replay:") and (why := voided(scores.run.removeprefix("replay:"))):
            return _Compared(fault=Verdict(VOID, why))
    first, second = (scores for scores in found if scores is not None)
    if engines.parse(first.side.engine).kinds.isdisjoint(engines.MODELS) or first.evidence != "measured":
        return _Compared(fault=Verdict(MISSING, f"{first.side.engine} is no real model, and has no verdict"))
    # Two recordings can hold different numbers of tasks; what both have is compared.
    shared = {task: score for task, score in first.values.items() if task in second.values}
    if not shared:
        return _Compared(fault=Verdict(MISSING, f"{', '.join(sides[0])} and {sides[1].condition} share no task"))
    others = {task: second.values[task] for task in shared}
    return _Compared(first, compare(shared, others), shared, others)


def _by_holm(claims: Sequence[Claim], compared: Mapping[str, _Compared]) -> dict[str, float]:
    """Claim -> its p-value, corrected over the contrasts of its item."""
    families: dict[str, list[str]] = {}
    for claim in claims:
        if claim.id in compared and compared[claim.id].result:
            families.setdefault(claim.item, []).append(claim.id)
    adjusted: dict[str, float] = {}
    for ids in families.values():
        p_values = [result.p for name in ids if (result := compared[name].result)]
        adjusted |= dict(zip(ids, holm(p_values), strict=True))
    return adjusted


def _of_contrast(claim: Claim, compared: _Compared, p: float, stored: Stored) -> Finding:
    if compared.fault or compared.first is None or compared.result is None:
        return Finding(claim, compared.fault or Verdict(MISSING, "nothing is stored"))
    first, result = compared.first, compared.result
    scale = 100 if claim.unit == "%" else 1
    sides = scale * result.mean_a, scale * result.mean_b
    finding = Finding(
        claim, Verdict(""), here=_scaled(result.difference, scale), n=result.n, data=first.data,
        model=first.side.engine, sides=sides,
    )  # fmt: skip
    placebo = _placebo(claim, compared, stored)
    if claim.contrast and claim.contrast.placebo and placebo is None:
        # Without it the claim could only look better than it is.
        return _missing(claim, f"its placebo {claim.contrast.placebo!r} is not stored on the same tasks")
    null = _strongest_null(claim, compared, stored)
    if placebo:
        finding = finding._replace(placebo=_scaled(placebo.against_second, scale))
    if null:
        room = _headroom(claim, compared, null, stored)
        finding = finding._replace(null=(null.name, _scaled(null.against_second, scale)), headroom=room)
    verdict = direction_verdict(_in_points(result, scale), claim.sign, p, claim.least)
    for control, word in ((null, BY_NULL), (placebo, BY_PLACEBO)):
        if verdict.word == AGREES and control and not control.beaten:
            less = control.first_less_it
            verdict = Verdict(word, f"less {control.name}: {signed(_scaled(less, scale))}; {verdict.detail}")
    return finding._replace(verdict=verdict)


class _Control(NamedTuple):
    """A placebo or null model on a contrast's tasks. beaten: whether the first condition is shown to be better."""

    name: str
    against_second: Interval
    first_less_it: Interval
    beaten: bool


def _control(claim: Claim, compared: _Compared, scores: Scores) -> _Control:
    values = {task: scores.values[task] for task in compared.tasks}
    result = compare(compared.tasks, values)
    beaten = result.p <= LEVEL and (result.difference.value > 0) == (claim.sign > 0)
    return _Control(scores.side.condition, compare(values, compared.second).difference, result.difference, beaten)


def _placebo(claim: Claim, compared: _Compared, stored: Stored) -> _Control | None:
    contrast = claim.contrast
    assert contrast is not None
    scores = stored.scores.get(contrast.side(contrast.placebo)) if contrast.placebo else None
    covers = scores is not None and compared.tasks.keys() <= scores.values.keys()
    return _control(claim, compared, scores) if covers and scores else None


def _strongest_null(claim: Claim, compared: _Compared, stored: Stored) -> _Control | None:
    """The best of the null models that have played all tasks of the contrast."""
    nulls = _same_tasks(claim, compared, stored, FLOOR)
    if not nulls:
        return None
    best = max(nulls, key=lambda scores: claim.sign * scores.mean(compared.tasks))
    return _control(claim, compared, best)


def _headroom(claim: Claim, compared: _Compared, null: _Control, stored: Stored) -> float | None:
    """How far the first condition comes from the strongest null model to the ceiling; None without a ceiling."""
    ceilings = _same_tasks(claim, compared, stored, CEILING)
    if not ceilings or compared.result is None:
        return None
    ceiling = max(claim.sign * scores.mean(compared.tasks) for scores in ceilings) * claim.sign
    return headroom(compared.result.mean_a, compared.result.mean_a - null.first_less_it.value, ceiling)


def _same_tasks(claim: Claim, compared: _Compared, stored: Stored, role: str) -> list[Scores]:
    """The scores of a role on the contrast's benchmark that cover its tasks."""
    assert claim.contrast is not None
    return [
        scores
        for side, scores in stored.scores.items()
        if scores.role == role
        and side.benchmark == claim.contrast.benchmark
        and compared.tasks.keys() <= scores.values.keys()
    ]


def _scaled(interval: Interval, scale: float) -> Interval:
    return Interval(*(scale * end for end in interval))


def _in_points(result: Comparison, scale: float) -> Comparison:
    return result._replace(difference=_scaled(result.difference, scale))


def signed(interval: Interval) -> str:
    """ "+5.0 [-3.3, +13.3]"."""
    value, low, high = (f"{0.0 + round(end, 3):+.3g}" for end in interval)
    return f"{value} [{low}, {high}]"


def _missing(claim: Claim, why: str) -> Finding:
    return Finding(claim, Verdict(MISSING, why))
