"""Verdicts on made numbers whose answer is known."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.results import tables
from lab.results.statistics import Interval, compare, wilson
from lab.results.verdicts import (
    DIFFERENT,
    EPIC,
    REPRODUCED,
    TOO_SMALL,
    count_verdict,
    direction_verdict,
    value_verdict,
    with_verdicts,
    word,
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


def test_a_direction_needs_a_difference_that_is_no_chance() -> None:
    tasks = [f"t{number}" for number in range(10)]
    won, lost = dict.fromkeys(tasks, 1.0), dict.fromkeys(tasks, 0.0)
    assert direction_verdict(compare(won, lost), 1).word == "direction: AGREES"
    assert direction_verdict(compare(won, lost), -1).word == "direction: OPPOSITE"
    corrected = direction_verdict(compare(won, lost), 1, p=0.2)
    assert corrected.word == "direction: TOO SMALL TO SAY" and "n = 10 would show" in corrected.detail
    few = {"a": 1.0, "b": 0.0}
    assert "0 of 2 tasks differ" in direction_verdict(compare(few, few), 1).detail


def row(method: str, backbone: str, value: float, evidence: str = "measured") -> tables.Row:
    interval = None if evidence == "published" else (value - 0.001, value + 0.001)
    n = None if evidence == "published" else 300
    return tables.row(method, backbone, "EPIC", value, evidence=evidence, source="", n=n, interval=interval)


def test_only_the_papers_own_backbone_and_what_asks_no_model_are_held_against_its_values() -> None:
    published = tables.table(
        [
            row("A", "gpt-oss-20b", 0.30, "published"),
            row("B", "gpt-oss-20b (Low)", 0.36, "published"),
            row("C", "gpt-oss-20b", math.nan, "published"),
        ]
    )
    rows = [
        row("A", "GPT-OSS 20B", 0.31),
        row("A", "gpt-oss-20b?temperature=0.01&reasoning_effort=medium", 0.40),
        row("B", "gpt-oss-20b?reasoning_effort=low", 0.36),
        row("A", "none", 0.30),
        row("A", "none", 0.32),
        row("A", "gpt-oss-20b?reasoning_effort=low", 0.30),
        row("A", "rules", 0.30),
        row("A", "gpt-oss-20b", 0.30, "simulated"),
        row("C", "gpt-oss-20b", 0.30),
    ]
    marked = with_verdicts(tables.table(rows), published, EPIC)
    assert [word(text) for text in marked["verdict"]] == [
        REPRODUCED,
        DIFFERENT,
        REPRODUCED,
        REPRODUCED,
        DIFFERENT,
        *[""] * 4,
    ]


def test_a_cell_without_a_verdict_has_no_word() -> None:
    assert word(pd.Series([None], dtype=object)[0]) == word(math.nan) == ""
