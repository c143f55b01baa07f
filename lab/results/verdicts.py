"""Verdicts on single numbers and comparisons; `lab/results/claims.py` has the verdicts on claims.

A *value* verdict is for a number that needs no model:

    REPRODUCED   its 95 % interval lies within the margin around the published value: equivalent by two one-sided tests,
                 each at 2.5 %
    DIFFERENT    not reproduced, and the interval excludes the published value
    TOO SMALL    neither; the detail states the smallest difference that n tasks could have shown

A *direction* verdict is for a real model's paired contrast. The published value is taken as exact: no paper here
reports how much its value varies between samples of tasks.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from lab.results.statistics import Comparison, Interval, smallest_difference

REPRODUCED, DIFFERENT, TOO_SMALL = "REPRODUCED", "DIFFERENT", "TOO SMALL"
AGREES, OPPOSES = "AGREES", "OPPOSES"
LEVEL = 0.05  # significance level of all tests

FEWEST = 6  # tasks that have to differ: with five, all in one direction, an exact paired test still has p = .0625


class Verdict(NamedTuple):
    """One of the words above, and the numbers behind it."""

    word: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.word} ({self.detail})"


def value_verdict(published: float, here: Interval, margin: float, n: int) -> Verdict:
    """Verdict on whether a published value was reproduced. All numbers except n have the same unit.

    here: our value with its 95 % interval. n: number of tasks.
    """
    difference = Interval(*(end - published for end in here))
    detail = f"difference {signed(difference)}, margin {margin:g}"
    # A tolerance for rounding, so that a value exactly at the margin is inside.
    edge = margin + 1e-9 * max(1.0, abs(published))
    if n < FEWEST:
        return Verdict(TOO_SMALL, f"n = {n}, fewer than {FEWEST}; {detail}")
    if -edge <= difference.low and difference.high <= edge:
        return Verdict(REPRODUCED, detail)
    if difference.low > 0 or difference.high < 0:
        return Verdict(DIFFERENT, detail)
    return Verdict(TOO_SMALL, f"n = {n} would show {smallest_difference(difference):.2g} or more; {detail}")


def count_verdict(published: object, here: object) -> Verdict:
    """Verdict on a count, a fact or a text, which has no sampling error: REPRODUCED if equal, else DIFFERENT."""
    return (
        Verdict(REPRODUCED, f"{here}") if here == published else Verdict(DIFFERENT, f"{here} here, {published} there")
    )


def direction_verdict(result: Comparison, claimed: Literal[1, -1], p: float, least: int = FEWEST) -> Verdict:
    """Verdict on whether a paired contrast has the direction that the paper claims.

    claimed: sign of first minus second. p: of the contrast, or Holm's. least: with fewer tasks it is TOO SMALL.
    """
    detail = f"difference {signed(result.difference)}, n = {result.n}, p = {p:.2g}"
    if result.n < least:
        return Verdict(TOO_SMALL, f"{detail}; a direction needs {least} tasks")
    if p <= LEVEL and result.difference.value:
        return Verdict(AGREES if (result.difference.value > 0) == (claimed > 0) else OPPOSES, detail)
    differing = result.wins + result.losses
    if differing < FEWEST:
        return Verdict(TOO_SMALL, f"{differing} of {result.n} tasks differ, and a test needs {FEWEST}")
    if result.p <= LEVEL:
        return Verdict(TOO_SMALL, f"not significant after Holm's correction (p = {result.p:.2g} before); {detail}")
    return Verdict(
        TOO_SMALL, f"n = {result.n} would show {smallest_difference(result.difference):.2g} or more; {detail}"
    )


def signed(difference: Interval) -> str:
    """ "+5 [-3.33, +13.3]": three digits, and 0 for less than .00005."""
    return difference.text(lambda end: f"{end if abs(end) >= 5e-5 else 0.0:+.3g}")
