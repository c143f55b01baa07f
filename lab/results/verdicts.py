"""Verdicts of single numbers and comparisons; `lab/results/claims.py` has those of claims.

A *value* verdict is for a number that needs no model:

    REPRODUCED   its 95 % interval lies within the margin about the published value: equivalent by two one-sided tests,
                 each at 2.5 %
    DIFFERENT    it does not, and it leaves the published value out
    TOO SMALL    neither; the detail has the smallest difference that n could have shown

A *direction* verdict is for a real model's paired contrast. The published value is taken as printed: how far it would
itself move with other tasks is known of no paper here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from lab.results.statistics import Comparison, Interval, smallest_difference

REPRODUCED, DIFFERENT, TOO_SMALL = "REPRODUCED", "DIFFERENT", "TOO SMALL"
AGREES, OPPOSES = "AGREES", "OPPOSES"
LEVEL = 0.05  # of every test

FEWEST = 6  # of tasks that differ: with five, all in one direction, an exact paired test still has p = .0625


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
    detail = f"difference {signed(difference)}, margin {margin:g}"
    # A margin written in decimals should include the value just at its edge.
    edge = margin + 1e-9 * max(1.0, abs(published))
    if n < FEWEST:
        return Verdict(TOO_SMALL, f"n = {n}, fewer than {FEWEST}; {detail}")
    if -edge <= difference.low and difference.high <= edge:
        return Verdict(REPRODUCED, detail)
    if difference.low > 0 or difference.high < 0:
        return Verdict(DIFFERENT, detail)
    return Verdict(TOO_SMALL, f"n = {n} would show {smallest_difference(difference):.2g} or more; {detail}")


def count_verdict(published: object, here: object) -> Verdict:
    """Whether a count, a fact or a text came out, which has no sampling error: it is the same or it is not."""
    return (
        Verdict(REPRODUCED, f"{here}") if here == published else Verdict(DIFFERENT, f"{here} here, {published} there")
    )


def direction_verdict(result: Comparison, claimed: Literal[1, -1], p: float, least: int = FEWEST) -> Verdict:
    """Whether a paired contrast points where the paper says.

    claimed: the sign of "first less second". p: the contrast's own, or Holm's. least: fewer tasks state no direction.
    """
    detail = f"difference {signed(result.difference)}, n = {result.n}, p = {p:.2g}"
    if result.n < least:
        return Verdict(TOO_SMALL, f"{detail}; a direction needs {least} tasks")
    if p <= LEVEL and result.difference.value:
        return Verdict(AGREES if (result.difference.value > 0) == (claimed > 0) else OPPOSES, detail)
    differing = result.wins + result.losses
    if differing < FEWEST:
        return Verdict(TOO_SMALL, f"{differing} of {result.n} tasks differ, and a test needs {FEWEST}")
    return Verdict(
        TOO_SMALL, f"n = {result.n} would show {smallest_difference(result.difference):.2g} or more; {detail}"
    )


def signed(difference: Interval) -> str:
    """ "+5 [-3.33, +13.3]"."""
    return difference.text(lambda end: f"{0.0 + round(end, 4):+.3g}")
