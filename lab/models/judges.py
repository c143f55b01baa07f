"""Error rates of published judges: presets for a simulated Validate.

`data/published/judge_errors.csv` has 20 judges on 734 steps of a search agent that people labelled as right, neutral or
wrong. The rates are computed from the labels that the benchmark publishes, which `LAB_DATA/agentprocessbench` holds; a
test recomputes them. All steps come from one agent on one benchmark, so a rate is a preset, not a property of a judge.
A judge's neutral verdict counts as neither error here. If every step that is not certified is rejected, false rejection
is 5 to 60 % instead of 0.4 to 7 % (notebook 1_sdp/validate_audit).
Source: AgentProcessBench, arXiv 2603.14465, HotpotQA slice.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from lab.machine.paths import published_data
from lab.machine.printing import hint
from lab.machine.reading import read_table


class Errors(NamedTuple):
    """certify: the share of wrong steps that a judge accepts. reject: the share of right steps that it rejects."""

    certify: float
    reject: float


@cache
def errors_of(judge: str) -> Errors:
    """The error rates of a judge, by case-insensitive name. Raises LookupError, which lists the known judges."""
    known = {name.lower(): errors for name, errors in published().items()}
    if judge.lower() not in known:
        raise LookupError(f"no judge {judge!r}{hint(judge, published())}; there are: {', '.join(published())}")
    return known[judge.lower()]


@cache
def published() -> dict[str, Errors]:
    """Judge -> its error rates, from the fewest false certifications to the most."""
    counts = ("wrong", "wrong_called_right", "right", "right_called_wrong")
    rows = read_table(published_data() / "judge_errors.csv", ("judge", *counts), counts).to_dict("records")
    return {
        row["judge"]: Errors(row["wrong_called_right"] / row["wrong"], row["right_called_wrong"] / row["right"])
        for row in rows
    }
