"""Summing ScienceWorld's scores up as SwiftSage does; the published numbers where `LAB_DATA` has them."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.scienceworld import overall, protocol_score

DATA = Path(os.environ.get("LAB_DATA") or "nowhere") / "scienceworld"
PUBLISHED = DATA / "swiftsage_published_scores.csv"


def test_a_failure_counts_as_the_score_before_it() -> None:
    assert protocol_score([0, 8, 17, -100]) == 0.17
    assert protocol_score([0, 8, 100]) == 1.0
    assert protocol_score([-100]) == 0.0 == protocol_score([])


@given(st.lists(st.integers(0, 100), min_size=1), st.booleans())
def test_an_episodes_score_is_its_last_one_that_is_no_failure(scores: list[int], failed: bool) -> None:
    assert protocol_score([*scores, -100] if failed else scores) == scores[-1] / 100


def test_every_type_counts_the_same_however_many_episodes_it_has() -> None:
    assert overall({"boil": [1.0, 0.0, 0.5, 0.5], "melt": [1.0]}) == 0.75
    with pytest.raises(ValueError, match="melt"):
        overall({"boil": [1.0], "melt": []})
    with pytest.raises(ValueError, match="any task type"):
        overall({})


@pytest.mark.official
@pytest.mark.skipif(not PUBLISHED.exists(), reason="LAB_DATA has no published ScienceWorld scores")
def test_the_published_overall_scores_are_means_over_the_thirty_types() -> None:
    scores: dict[str, dict[str, list[float]]] = defaultdict(dict)
    totals = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["paper_task_id"][:1].isdigit():
                scores[row["method"]][row["task_name"]] = [float(row["score"])]
            elif "overall" in (row["paper_task_id"] + row["task_name"] + row["length_group"]).lower():
                totals[row["method"]] = float(row["score"])
    assert totals
    for method, total in totals.items():
        assert len(scores[method]) == 30 and abs(overall(scores[method]) - total) <= 0.0051, method
