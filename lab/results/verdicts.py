"""Verdicts: whether a paper's number came out, or whether its claim points the right way.

A *value* verdict is for a cell that is free of a model, or whose backbone is the paper's own:

    REPRODUCED         the 95 % interval lies within the margin about the published value: equivalent by two
                       one-sided tests, each at 2.5 %
    DIFFERENT          it does not, and it leaves the published value out
    TOO SMALL TO SAY   neither; the detail has the smallest difference that n could have shown

A *direction* verdict is for any other real model, of a paired contrast. Rules, noise and oracles get none. The
published value is taken as printed: how far it would itself move with other tasks is known of no paper here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lab.results.statistics import Comparison, Interval, smallest_difference

if TYPE_CHECKING:
    import pandas as pd

REPRODUCED, DIFFERENT, TOO_SMALL = "REPRODUCED", "DIFFERENT", "TOO SMALL"
AGREES, OPPOSES = "AGREES", "OPPOSES"
LEVEL = 0.05  # of every test

# How far a value may be from the published one and still be the same, in the unit of the number.
MODEL_FREE, MODEL_FREE_PERCENT = 0.01, 1.0
RATE_PERCENT, EPIC = 5.0, 0.03

FEWEST = 6  # of tasks that differ: with five, all in one direction, an exact paired test still has p = .0625
NONE = "none"  # the backbone of what asks no model


class Verdict(NamedTuple):
    """A word of the above, and the numbers that it rests on."""

    word: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.word} ({self.detail})"


def value_verdict(published: float, here: Interval, margin: float, n: int) -> Verdict:
    """Whether a published value came out. All numbers but n in one unit.

    here: the value with its 95 % interval. n: tasks behind it.
    """
    difference = Interval(*(end - published for end in here))
    about = f"difference {_signed(difference)}, margin {margin:g}"
    # A margin written in decimals should include the value just at its edge.
    edge = margin + 1e-9 * max(1.0, abs(published))
    if n < FEWEST:
        return Verdict(TOO_SMALL, f"n = {n}, fewer than {FEWEST}; {about}")
    if -edge <= difference.low and difference.high <= edge:
        return Verdict(REPRODUCED, about)
    if difference.low > 0 or difference.high < 0:
        return Verdict(DIFFERENT, about)
    return Verdict(TOO_SMALL, f"n = {n} would show {smallest_difference(difference):.2g} or more; {about}")


def count_verdict(published: object, here: object) -> Verdict:
    """Whether a count, a fact or a text came out, which has no sampling error: it is the same or it is not."""
    return (
        Verdict(REPRODUCED, f"{here}") if here == published else Verdict(DIFFERENT, f"{here} here, {published} there")
    )


def direction_verdict(result: Comparison, claimed: Literal[1, -1], p: float, least: int = FEWEST) -> Verdict:
    """Whether a paired contrast points where the paper says.

    claimed: the sign of "first less second". p: the contrast's own, or Holm's. least: fewer tasks state no direction.
    """
    about = f"difference {_signed(result.difference)}, n = {result.n}, p = {p:.2g}"
    if result.n < least:
        return Verdict(TOO_SMALL, f"{about}; a direction needs {least} tasks")
    if p <= LEVEL and result.difference.value:
        return Verdict(AGREES if (result.difference.value > 0) == (claimed > 0) else OPPOSES, about)
    differing = result.wins + result.losses
    if differing < FEWEST:
        return Verdict(TOO_SMALL, f"{differing} of {result.n} tasks differ, and a test needs {FEWEST}")
    return Verdict(
        TOO_SMALL, f"n = {result.n} would show {smallest_difference(result.difference):.2g} or more; {about}"
    )


def with_verdicts(
    results: pd.DataFrame, published: pd.DataFrame, margin: float, free: float = MODEL_FREE
) -> pd.DataFrame:
    """A results table with a column `verdict`: of measured rows whose cell the paper reports, "" for all others.

    A cell is a method and a metric, with the paper's own backbone or with none. published: results table of the paper.
    margin: for the former; free: for the latter.
    """
    reported = {}
    for row in published[published["value"].notna()].to_dict("records"):
        # What asks no model has one value, whichever backbone the paper's table is headed with.
        for backbone in (_plain(row["backbone"]), NONE):
            reported[row["method"], row["metric"], backbone] = row["value"]

    def verdict(row: Mapping[str, Any]) -> str:
        cell = reported.get((row["method"], row["metric"], _plain(row["backbone"])))
        if cell is None or row["evidence"] != "measured":
            return ""
        here = Interval(row["value"], row["ci_low"], row["ci_high"])
        return str(value_verdict(cell, here, free if row["backbone"] == NONE else margin, int(row["n"])))

    return results.assign(verdict=[verdict(row) for row in results.to_dict("records")])


def word(text: object) -> str:
    """The word of a verdict that was written into a table; "" where there is none."""
    return text.split(" (")[0] if isinstance(text, str) else ""


def _signed(difference: Interval) -> str:
    value, low, high = (f"{0.0 + round(end, 4):+.3g}" for end in difference)
    return f"{value} [{low}, {high}]"


def _plain(backbone: object) -> str:
    """A model's name without what its writers spell differently: "GPT-oss 120b" and "gpt-oss-120b" are one.

    Its reasoning effort belongs to it, unless that is medium, which is what such models do when nothing is said.
    """
    name, _, options = str(backbone).casefold().partition("?")
    effort = re.search(r"reasoning_effort=(\w+)", options)
    return re.sub(r"\W|_", "", name + (effort[1] if effort else "")).removesuffix("medium")
