"""Does a better reward make a better planner? Three studies in which only a predictor's rewards decide.

Predictors are the conditions. They are arguments of the studies, so that a user's own can be registered before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lab.results import tables
from lab.runs.study import Metric, Study
from lab.runs.study_results import Results
from statefactory.benchmark.domains import title
from statefactory.experiments.best_of_n import CHANCE, END, MIDWAY, BestOfN, attempted, choices, success
from statefactory.experiments.guided import SUCCESS
from statefactory.experiments.hacking import Hacking
from statefactory.experiments.rivals import ORACLE, Search, answering, names_for, quick, study
from statefactory.experiments.scoring import STANDARD, Scoring

BOTH = ("blocksworld", "alfworld")
# Attempted tasks per world. Synthetic data is for a first look, except TextWorld's, which has no other data.
ATTEMPTED = {
    "synthetic": {"blocksworld": 8, "alfworld": 3, "scienceworld": 3, "webshop": 3, "textworld": 20},
    "official": {"blocksworld": 50, "alfworld": 30, "scienceworld": 20, "webshop": 20, "textworld": 20},
}
COUNTS = {"options": {"acting": "", "count": 20}, "synthetic": {"count": 5, "textworld:count": 20}}
SEARCHED = {"synthetic": {"blocksworld": 2, "alfworld": 1}, "official": {"blocksworld": 50, "alfworld": 20}}
HACKED = {"synthetic": {"blocksworld": 1, "alfworld": 1}, "official": {"blocksworld": 10, "alfworld": 3}}


def best_of_n(names: Sequence[str]) -> Study:
    """Study in which predictors choose among attempts of one agent."""
    fields: dict[str, Any] = {"limits": ATTEMPTED, "rows": chosen, **COUNTS}
    return study("statefactory-best-of-n", BestOfN, (*ATTEMPTED["official"],), names, **fields)


def chosen(run: Results, world: str, name: str, scoring: Scoring = STANDARD) -> Iterator[tables.Row]:
    """Rows of a predictor's choices, in percent; after the last predictor also those of chance and the oracle."""
    results, names = attempted(run.setup.part(world, name).attempts), run.setup.methods_of(world)
    reported = {name, CHANCE, ORACLE} if name == names[-1] else {name}
    for when in (END, MIDWAY):
        choosing = [choice for choice in choices(results, run, when, scoring) if choice.name in reported]
        yield from (success(results, choice) for choice in choosing if choice.success)  # no row without a choice


def tree_search(names: Sequence[str]) -> Study:
    """Study in which fast predictors and an oracle guide a tree search. ALFWorld has about 30 actions per turn."""
    outcomes = "alfworld:search.outcomes"
    fields: dict[str, Any] = {"options": {outcomes: 600}, "synthetic": {outcomes: 150}, "metric": SUCCESS,
           "rows": reached, "headline": "Tree search, {benchmark}"}  # fmt: skip
    return study("statefactory-tree-search", Search, BOTH, [*quick(names), ORACLE], limits=SEARCHED, **fields)


def reached(run: Results, world: str, name: str) -> Iterator[tables.Row]:
    """Row of the success rate in percent; simulated, since the world itself is the world model."""
    scores, data = list(run.scores_of(world, name).values()), run.setup.data_of(world)
    yield tables.rate_row(
        run.setup.part(world, name).how.title, answering(run, world, name) or "none", f"Tree search, {title(world)}",
        int(sum(scores)), len(scores), "simulated", f"this run, {data} data, exact world model",
    )  # fmt: skip


def hacking(names: Sequence[str]) -> Study:
    """Study that searches states without progress for high scores of the fast predictors."""
    highest = Metric("Highest reward without progress, {benchmark}", "highest", "mean", scale=1)
    fields: dict[str, Any] = {"limits": HACKED, "synthetic": {"walks": 2, "actions": 6}, "scale": 1}
    return study("statefactory-hacking", Hacking, BOTH, quick(names), (highest,), **fields)


BEST_OF_N, TREE_SEARCH, HACKING = (make(names_for(official=True)) for make in (best_of_n, tree_search, hacking))
