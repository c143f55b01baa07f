"""Judge claims: compare the published cell with the stored numbers, and return a finding with its verdict.

A contrast is also compared with its placebo and with the strongest null model on the same tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.models import engines
from lab.results.claims import (
    BY_CONSTRUCTION,
    BY_NULL,
    BY_PLACEBO,
    FITTED,
    MISSING,
    NOT_RUN,
    PLAIN,
    SHOWS_NOTHING,
    VOID,
    BadClaim,
    Claim,
    Contrast,
    Finding,
    Row,
)  # fmt: skip
from lab.results.floors import headroom
from lab.results.statistics import Comparison, Interval, compare, holm
from lab.results.stored import CEILING, FLOOR, Scores, Stored
from lab.results.verdicts import (
    AGREES,
    LEVEL,
    REPRODUCED,
    Verdict,
    count_verdict,
    direction_verdict,
    signed,
    value_verdict,
)  # fmt: skip

if TYPE_CHECKING:
    import pandas as pd

Voided = Callable[[str], str]  # a recording's name -> why it is void, "" if it is not


def evaluate(
    claims: Sequence[Claim], published: pd.DataFrame, stored: Stored, voided: Voided,
    planned: Mapping[str, str] | None = None,
) -> list[Finding]:  # fmt: skip
    """The findings of all claims, in order.

    published: the paper's file (`tables.published_cells`). planned: claim -> why it is not run yet: its recording is
    planned or unfinished. The contrasts of an item are one family of tests for Holm's correction.
    """
    pairs = {
        claim.id: Verdict(NOT_RUN, planned[claim.id])
        if planned and claim.id in planned
        else _compared(claim.contrast, stored, voided)
        for claim in claims
        if claim.contrast
    }
    adjusted = _by_holm(claims, pairs)
    findings = []
    for claim in claims:
        paper, source = _published(claim, published)
        if claim.contrast:
            pair = pairs[claim.id]
            if isinstance(pair, Verdict):
                finding = Finding(claim, pair)
            else:
                finding = _of_contrast(claim, pair, adjusted[claim.id], stored)
        elif claim.row:
            finding = _of_row(claim, claim.row, paper, stored, voided)
        elif claim.figure:
            finding = _of_figure(claim, paper, stored)
        else:
            finding = Finding(claim, Verdict(NOT_RUN, claim.because or "no row or recording answers this claim"))
        findings.append(finding._replace(paper=paper, source=source))
    return findings


def _published(claim: Claim, cells: pd.DataFrame) -> tuple[float | int | str | bool | None, str]:
    """The published value and its source. Raises BadClaim unless data/published has exactly one such value."""
    if claim.paper is None:
        return None, ""
    if claim.paper.value is not None:
        return claim.paper.value, claim.paper.source
    value, source = _cell(claim, claim.paper.method, cells)
    if claim.paper.less:
        less, other = _cell(claim, claim.paper.less, cells)
        return value - less, source if other == source else f"{source}; less: {other}"
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
    for column, value in row.where.items():
        if column not in frame:
            return _missing(claim, f"{row.table}.csv has no column {column}")
        frame = frame[frame[column].astype(str) == str(value)]
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
    """The verdict on a number or fact without sampling error."""
    numbers = all(isinstance(number, (int, float)) for number in (paper, value))
    agrees = numbers and abs(value - paper) <= claim.margin + 1e-9
    return _natural(
        claim, Verdict(REPRODUCED, f"{value} here, {paper} there") if agrees else count_verdict(paper, value)
    )


def _natural(claim: Claim, verdict: Verdict) -> Verdict:
    """If the claim is no independent test, replace the verdict's word by FITTED or BY CONSTRUCTION; keep the detail."""
    if claim.nature == "independent":
        return verdict
    word = FITTED if claim.nature == "fitted" else BY_CONSTRUCTION
    return Verdict(word, f"{claim.because}; {verdict.detail}")


class Compared(NamedTuple):
    """A contrast's scores and comparison. tasks, second: task -> score, of the first and of the second condition."""

    contrast: Contrast
    first: Scores
    result: Comparison
    tasks: Mapping[str, float]
    second: Mapping[str, float]


def _compared(contrast: Contrast, stored: Stored, voided: Voided) -> Compared | Verdict:
    """Both conditions on their common tasks; a MISSING or VOID verdict if one of them, or the placebo, is unusable."""
    sides = contrast.sides
    controls = [contrast.side(contrast.placebo)] if contrast.placebo else []
    stored_scores: list[Scores] = []
    for side in (*sides, *controls):
        scores = stored.of(side)
        if scores is None:
            return Verdict(MISSING, f"no scores of {', '.join(side)} are stored")
        replayed = [run.removeprefix("replay:") for run in scores.run.split(", ") if run.startswith("replay:")]
        if why := next(filter(None, map(voided, replayed)), ""):
            return Verdict(VOID, why)
        stored_scores.append(scores)
    first, second = stored_scores[:2]
    if engines.parse(first.side.engine).kinds.isdisjoint(engines.MODELS) or first.evidence != "measured":
        return Verdict(MISSING, f"{first.side.engine} is no real model, and has no verdict")
    # Two recordings may have different tasks; the common ones are compared.
    shared = {task: score for task, score in first.values.items() if task in second.values}
    if not shared:
        return Verdict(MISSING, f"{', '.join(sides[0])} and {sides[1].condition} share no task")
    second_scores = {task: second.values[task] for task in shared}
    return Compared(contrast, first, compare(shared, second_scores), shared, second_scores)


def _by_holm(claims: Sequence[Claim], pairs: Mapping[str, Compared | Verdict]) -> dict[str, float]:
    """Claim -> p-value with Holm's correction over the contrasts of its item."""
    families: dict[str, dict[str, float]] = {}
    for claim in claims:
        if isinstance(pair := pairs.get(claim.id), Compared):
            families.setdefault(claim.item, {})[claim.id] = pair.result.p
    adjusted = [zip(family, holm([*family.values()]), strict=True) for family in families.values()]
    return {name: p for pairs in adjusted for name, p in pairs}


def _of_contrast(claim: Claim, pair: Compared, p: float, stored: Stored) -> Finding:
    """The finding of a claim with a contrast. p: of the comparison, corrected by `_by_holm`."""
    first, result = pair.first, pair.result
    scale = 100 if claim.unit == "%" else 1
    sides = scale * result.mean_a, scale * result.mean_b
    finding = Finding(
        claim, Verdict(""), here=_scaled(result.difference, scale), n=result.n, data=first.data,
        model=first.side.engine, sides=sides, p=p,
    )  # fmt: skip
    placebo = None
    if name := pair.contrast.placebo:
        scores = stored.of(pair.contrast.side(name))
        if not scores or not pair.tasks.keys() <= scores.values.keys():
            # Without the placebo the claim could look better than it is.
            return _missing(claim, f"its placebo {name!r} is not stored on the same tasks")
        placebo = _control(claim, pair, scores)
        finding = finding._replace(placebo=_scaled(placebo.against_second, scale))
    null = _strongest_null(claim, pair, stored)
    if null:
        room = _headroom(claim, pair, null, stored)
        finding = finding._replace(null=(null.name, _scaled(null.against_second, scale)), headroom=room)
    in_points = result._replace(difference=_scaled(result.difference, scale))
    verdict = direction_verdict(in_points, claim.sign, p, claim.least)
    for control, word in ((null, BY_NULL), (placebo, BY_PLACEBO)):
        if verdict.word == AGREES and control and not control.beaten:
            less = control.first_less_it
            verdict = Verdict(word, f"less {control.name}: {signed(_scaled(less, scale))}; {verdict.detail}")
    return finding._replace(verdict=_unless_at_an_end(claim, pair, verdict))


def _unless_at_an_end(claim: Claim, pair: Compared, verdict: Verdict) -> Verdict:
    """The verdict, or SHOWS NOTHING where the share of a model's second condition is outside of PLAIN."""
    by_model = not engines.parse(pair.contrast.sides[1].engine).kinds.isdisjoint(engines.MODELS)
    low, high = PLAIN
    if claim.unit != "%" or not by_model or low <= pair.result.mean_b <= high:
        return verdict
    name, share = pair.contrast.less, 100 * pair.result.mean_b
    return Verdict(SHOWS_NOTHING, f"{name} scores {share:.1f} %, not {100 * low:.0f} to {100 * high:.0f}; {verdict}")


class _Control(NamedTuple):
    """A placebo or null model on a contrast's tasks. beaten: whether the first condition is significantly better.

    against_second: it minus the second condition. first_less_it: the first condition minus it.
    """

    name: str
    against_second: Interval
    first_less_it: Interval
    beaten: bool


def _control(claim: Claim, pair: Compared, scores: Scores) -> _Control:
    values = {task: scores.values[task] for task in pair.tasks}
    result = compare(pair.tasks, values)
    beaten = result.p <= LEVEL and (result.difference.value > 0) == (claim.sign > 0)
    return _Control(scores.side.condition, compare(values, pair.second).difference, result.difference, beaten)


def _strongest_null(claim: Claim, pair: Compared, stored: Stored) -> _Control | None:
    """The best null model among those that have played all tasks of the contrast."""
    nulls = _same_tasks(pair, stored, FLOOR)
    if not nulls:
        return None
    best = max(nulls, key=lambda scores: claim.sign * scores.mean(pair.tasks))
    return _control(claim, pair, best)


def _headroom(claim: Claim, pair: Compared, null: _Control, stored: Stored) -> float | None:
    """Where the first condition lies between strongest null model (0) and ceiling (1); None without a ceiling."""
    ceilings = _same_tasks(pair, stored, CEILING)
    if not ceilings:
        return None
    ceiling = max(claim.sign * scores.mean(pair.tasks) for scores in ceilings) * claim.sign
    return headroom(pair.result.mean_a, pair.result.mean_a - null.first_less_it.value, ceiling)


def _same_tasks(pair: Compared, stored: Stored, role: str) -> list[Scores]:
    """The scores of all agents of a role on the contrast's benchmark that have played all its tasks."""
    agents = stored.agents(pair.contrast.benchmark, role)
    return [scores for scores in agents if pair.tasks.keys() <= scores.values.keys()]


def _scaled(interval: Interval, scale: float) -> Interval:
    return Interval(*(scale * end for end in interval))


def _missing(claim: Claim, why: str) -> Finding:
    """The finding of a claim whose numbers are not stored."""
    return Finding(claim, Verdict(MISSING, why))
