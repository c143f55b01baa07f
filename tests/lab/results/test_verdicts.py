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
def test_a_wider_margin_or_mirror_image_agrees(
    published: float, value: float, width: float, margin: float, n: int
) -> None:
    verdict = value_verdict(published, Interval(value, value - width, value + width), margin, n)
    mirrored = value_verdict(-published, Interval(-value, -value - width, -value + width), margin, n)
    wider = value_verdict(published, Interval(value, value - width, value + width), margin + 1, n)
    assert verdict.word == mirrored.word and verdict.word in (REPRODUCED, DIFFERENT, TOO_SMALL)
    assert verdict.word != REPRODUCED or wider.word == REPRODUCED
    assert n >= 6 or verdict.word == TOO_SMALL


def test_six_tasks_are_enough_for_a_value_and_six_that_differ_for_a_direction() -> None:
    assert value_verdict(0.532, Interval(0.53, 0.525, 0.535), 0.01, 6).word == REPRODUCED
    won, lost = ({f"t{number}": float(number < wins) for number in range(6)} for wins in (6, 0))
    result = compare(won, lost)
    assert result.n == 6 and direction_verdict(result, 1, result.p).word == AGREES
    halves = {task: 1 - value for task, value in won.items()} | {"t0": 1.0, "t1": 1.0, "t2": 1.0}
    mixed = compare(halves, {task: 1 - value for task, value in halves.items()})
    assert "n = 6 would show" in direction_verdict(mixed, 1, mixed.p).detail
    five = compare({**halves, "t5": 0.5}, {**{task: 1 - value for task, value in halves.items()}, "t5": 0.5})
    assert "5 of 6 tasks differ, and a test needs 6" in direction_verdict(five, 1, five.p).detail


@pytest.mark.parametrize(("published", "margin"), [(0.0, 0.3), (1e9 + 0.1, 0.3), (90.1, 0.3)])
def test_a_value_on_the_margins_edge_is_reproduced_whatever_its_size(published: float, margin: float) -> None:
    edge = published + 0.1 + 0.2
    assert value_verdict(published, Interval(edge, edge, edge), margin, 100).word == REPRODUCED
    beyond = edge + 1e-6 * max(1, published)
    assert value_verdict(published, Interval(beyond, beyond, beyond), margin, 100).word == DIFFERENT


def test_too_small_says_what_would_have_been_seen() -> None:
    assert value_verdict(80, Interval(85, 76.666, 93.333), 5, 40).detail.endswith(
        "difference +5 [-3.33, +13.3], margin 5"
    )
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
    assert corrected.word == TOO_SMALL and "after Holm's correction (p = 0.002 before)" in corrected.detail
    assert "a direction needs 11 tasks" in direction_verdict(result, 1, result.p, least=11).detail
    few = compare({"a": 1.0, "b": 0.0}, {"a": 1.0, "b": 0.0})
    assert "0 of 2 tasks differ" in direction_verdict(few, 1, 1.0, least=2).detail
