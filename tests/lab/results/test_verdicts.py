"""Verdicts on made numbers whose answer is known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.results.statistics import Interval, compare, wilson
from lab.results.verdicts import (
    AGREES,
    DIFFERENT,
    OPPOSES,
    REPRODUCED,
    TOO_SMALL,
    count_verdict,
    direction_verdict,
    value_verdict,
)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.525, 0.535, REPRODUCED),
        (0.533, 0.539, REPRODUCED),  # not the same, but so little that it does not matter
        (0.522, 0.542, REPRODUCED),  # the margin belongs to it
        (0.515, 0.527, DIFFERENT),
        (0.600, 0.700, DIFFERENT),
        (0.500, 0.560, TOO_SMALL),
    ],
)
def test_an_interval_is_within_the_margin_beside_the_value_or_too_wide(low: float, high: float, expected: str) -> None:
    assert value_verdict(0.532, Interval((low + high) / 2, low, high), 0.01, 100).word == expected


numbers = st.floats(-100, 100)


@given(numbers, numbers, st.floats(0, 50), st.floats(0, 50), st.integers(1, 1000))
def test_a_wider_margin_or_the_mirror_image_takes_no_reproduction_back(
    published: float, value: float, width: float, margin: float, n: int
) -> None:
    verdict = value_verdict(published, Interval(value, value - width, value + width), margin, n)
    mirrored = value_verdict(-published, Interval(-value, -value - width, -value + width), margin, n)
    wider = value_verdict(published, Interval(value, value - width, value + width), margin + 1, n)
    assert verdict.word == mirrored.word and verdict.word in (REPRODUCED, DIFFERENT, TOO_SMALL)
    assert verdict.word != REPRODUCED or wider.word == REPRODUCED
    assert n >= 6 or verdict.word == TOO_SMALL


def test_too_small_says_what_would_have_been_seen() -> None:
    rate = Interval(*(100 * end for end in wilson(30, 40)))
    verdict = value_verdict(80, rate, 5, 40)
    assert verdict.word == TOO_SMALL and "n = 40 would show 19 or more" in verdict.detail
    assert "n = 2, fewer than 6" in value_verdict(80, rate, 5, 2).detail


def test_a_count_is_the_same_or_it_is_not() -> None:
    assert str(count_verdict(336, 336)) == "REPRODUCED (336)"
    assert str(count_verdict(43, 39)) == "DIFFERENT (39 here, 43 there)"


def test_a_direction_needs_a_difference_that_is_no_chance_and_enough_tasks() -> None:
    tasks = [f"t{number}" for number in range(10)]
    won, lost = dict.fromkeys(tasks, 1.0), dict.fromkeys(tasks, 0.0)
    result = compare(won, lost)
    assert direction_verdict(result, 1, result.p).word == AGREES
    assert direction_verdict(result, -1, result.p).word == OPPOSES
    assert direction_verdict(result, 1, p=0.05).word == AGREES
    corrected = direction_verdict(result, 1, p=0.051)
    assert corrected.word == TOO_SMALL and "n = 10 would show" in corrected.detail
    assert "a direction needs 11 tasks" in direction_verdict(result, 1, result.p, least=11).detail
    few = compare({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0})
    assert "0 of 2 tasks differ" in direction_verdict(few, 1, 1.0, least=2).detail
