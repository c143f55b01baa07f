"""Judging of claims: from the published cell and the stored numbers to a finding with its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.results.claims import BY_CONSTRUCTION, FITTED, NOT_RUN, VOID, BadClaim, Claim, Finding, Row, missing
from lab.results.contrasts import Voided, by_holm, compared, of_contrast
from lab.results.statistics import Interval
from lab.results.stored import Stored
from lab.results.verdicts import REPRODUCED, Verdict, count_verdict, value_verdict

if TYPE_CHECKING:
    import pandas as pd


def evaluate(claims: Sequence[Claim], published: pd.DataFrame, stored: Stored, voided: Voided) -> list[Finding]:
    """Every claim with its verdict, in order.

    published: the paper's file (`tables.published_cells`). Contrasts of one item are one family of Holm's correction.
    """
    pairs = {claim.id: compared(claim.contrast, stored, voided) for claim in claims if claim.contrast}
    adjusted = by_holm(claims, pairs)
    findings = []
    for claim in claims:
        paper, source = _published(claim, published)
        if claim.contrast:
            pair = pairs[claim.id]
            if isinstance(pair, Verdict):
                finding = Finding(claim, pair)
            else:
                finding = of_contrast(claim, pair, adjusted[claim.id], stored)
        elif claim.row:
            finding = _of_row(claim, claim.row, paper, stored, voided)
        elif claim.figure:
            finding = _of_figure(claim, paper, stored)
        else:
            finding = Finding(claim, Verdict(NOT_RUN, claim.because or "no model of this size is at hand"))
        findings.append(finding._replace(paper=paper, source=source))
    return findings


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
        return missing(claim, f"{claim.notebook} reports no figure {claim.figure!r}")
    return Finding(claim, _same(claim, paper, value), here=value, data=report.data_of(claim.figure))


def _of_row(claim: Claim, row: Row, paper: Any, stored: Stored, voided: Voided) -> Finding:
    frame = stored.rows(row.table, claim.notebook)
    if frame is None:
        return missing(claim, f"{row.table}.csv is not stored")
    for column, wanted in row.where.items():
        if column not in frame:
            return missing(claim, f"{row.table}.csv has no column {column}")
        frame = frame[frame[column].astype(str) == str(wanted)]
    if len(frame) != 1 or row.value not in frame:
        return missing(claim, f"{row.table}.csv has {len(frame)} rows with {dict(row.where)} and {row.value}")
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
    numbers = all(isinstance(number, (int, float)) for number in (paper, value))
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
