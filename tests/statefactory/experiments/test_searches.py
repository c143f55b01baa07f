"""Tree search led by each predictor: what it reaches with a budget, and how that stands beside EPIC distances."""

from __future__ import annotations

from lab.runs.collecting import collect
from statefactory.experiments.rivals import MONOTONIC, ORACLE, RANDOM
from statefactory.experiments.searches import Search
from statefactory.studies.policy import tree_search


def test_the_oracle_leads_straight_to_the_goal_and_luck_does_not() -> None:
    trial = tree_search([RANDOM, MONOTONIC]).trial(benchmarks=("blocksworld",), data="synthetic", limit=3)
    run = collect(trial, workers=1, show_progress=False)
    reached = {name: list(run.scores_of("blocksworld", name).values()) for name in (RANDOM, MONOTONIC, ORACLE)}
    assert reached[ORACLE] == [1.0] * 3
    assert sum(map(bool, reached[RANDOM])) < 3 and sum(map(bool, reached[MONOTONIC])) < 3
    assert all(0 < episode.result["outcomes"] <= Search().search.outcomes for episode in run.episodes.values())
