"""Tree search led by each predictor: what it reaches with a budget, and how that stands beside EPIC distances."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.runs.experiment import BadSetting
from statefactory.experiments import rivals
from statefactory.experiments.rivals import MONOTONIC, ORACLE, RANDOM
from statefactory.experiments.searches import Setup

MADE = Setup(data="synthetic", limit=3)


def test_the_oracle_leads_straight_to_the_goal_and_luck_does_not() -> None:
    found = rivals.collect(MADE, [RANDOM, MONOTONIC, ORACLE], workers=1, show_progress=False)
    reached = {name: [run.setup.judged(one).score for one in run.episodes.values()] for name, run in found.items()}
    assert reached[ORACLE] == [1.0] * 3
    assert sum(map(bool, reached[RANDOM])) < 3 and sum(map(bool, reached[MONOTONIC])) < 3
    for run in found.values():
        for episode in run.episodes.values():
            assert 0 < episode.result["outcomes"] <= MADE.search.outcomes


def test_a_world_that_is_not_searched_is_refused() -> None:
    with pytest.raises(BadSetting, match="blocksworld"):
        replace(MADE, world="webshop")
