"""Mechanisms removed, by Appendix C's replay and by running again: scores, contrasts, and the replay as a bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from lab.results import tables
from lab.results.statistics import compare, holm
from lab.runs import study
from sdp.ablation import ABLATIONS, Ablation, replayed
from sdp.experiments.certifying import Results
from sdp.studies.conditions import SDP


class Column(NamedTuple):
    """A benchmark of Table 6. metric: what its published scores are kept under. of: see `certifying.Results.named`."""

    metric: str
    of: str = "score"


# In the paper's order.
BENCHMARKS = {
    "TravelPlanner": Column("Final Pass Rate"),
    "AssistantBench": Column("Accuracy"),
    "ScienceWorld": Column("ScienceWorld score"),
    "HotpotQA": Column("HotpotQA F1", "f1"),
    "MuSiQue": Column("MuSiQue F1", "f1"),
}
FULL, REPLAY, AGAIN = "full", "replay", "run again"
# How a replay compares with the re-run.
ABOVE, BELOW, UNTOLD, SAME = "above", "below", "not told apart", "the same"


class Ablated(NamedTuple):
    """A benchmark's runs: the full loop, and the loop without each mechanism, by its name.

    benchmark: of BENCHMARKS; a part of its tasks is named behind a comma.
    """

    benchmark: str
    full: Results[Any]
    without: dict[str, Results[Any]]

    def scores(self, way: str, ablation: Ablation) -> dict[str, float]:
        """Task -> score in [0, 1]: of the full loop, of its replay without a mechanism, or of the run without it."""
        run = self.without[ablation.name] if way == AGAIN else self.full
        scores = run.named(BENCHMARKS[self.benchmark.partition(",")[0]].of)
        if way != REPLAY:
            return scores
        trajectories = {trajectory.task: trajectory for trajectory in run.trajectories}
        # A failed episode has no trajectory to replay; its score of 0 stays in the mean.
        return {t: replayed(ablation, trajectories[t], s) if t in trajectories else 0.0 for t, s in scores.items()}


def ablated(results: study.Results, benchmark: str) -> list[Ablated]:
    """What a run has of SDP on a benchmark, with and without a mechanism; none where it has no SDP there."""
    methods = results.setup.methods
    if SDP.name not in methods or benchmark not in results.setup.datasets:
        return []
    names = {ablation.name: f"SDP without {ablation.name[1:]}" for ablation in ABLATIONS}
    without = {name: results.part(benchmark, method) for name, method in names.items() if method in methods}
    return [Ablated(benchmark, results.part(benchmark, SDP.name), without)]


def rows(runs: Ablated) -> Iterator[tables.Row]:
    """Full, replayed and re-run scores in percent."""
    yield _row(runs, FULL, FULL, ABLATIONS[0])
    for ablation in ABLATIONS:
        yield _row(runs, method_of(REPLAY, ablation), REPLAY, ablation)
        if ablation.name in runs.without:
            yield _row(runs, method_of(AGAIN, ablation), AGAIN, ablation)


def method_of(way: str, ablation: Ablation) -> str:
    """A row's name."""
    return f"{ablation.name}, {way}"


def _row(runs: Ablated, name: str, way: str, ablation: Ablation) -> tables.Row:
    run = runs.without[ablation.name] if way == AGAIN else runs.full
    scores = [100 * score for score in runs.scores(way, ablation).values()]
    key = (name, run.backbone, runs.benchmark)
    source = (run.evidence, "this run, Appendix C" if way == REPLAY else "this run")
    if {*scores} <= {0.0, 100.0}:  # a rate, which a bootstrap would call certain where all tasks agree
        row = tables.rate_row(*key, scores.count(100.0), len(scores), *source, run.outcomes())
    else:
        row = tables.mean_row(*key, scores, *source, outcomes=run.outcomes(), top=100.0)
    return row | {"data": run.setup.data}


def comparisons(*families: Sequence[Ablated]) -> pd.DataFrame:
    """Each run without a mechanism less the full loop; the paper's claim is that each removal costs.

    A row a benchmark and mechanism: difference in points with its bootstrap interval, task by task. higher, lower:
    tasks with a higher and a lower score. p: McNemar's where every score is 0 or 1, else the permutation test's.
    p (Holm): for all rows of a family together.
    """
    return _contrasts(families, AGAIN, FULL)


def bounds(*families: Sequence[Ablated]) -> pd.DataFrame:
    """Each replay less the re-run, as `comparisons`; the paper's claim is an optimistic bound, so above 0.

    found: which of the two is above, at a p (Holm) of .05.
    """
    table = _contrasts(families, REPLAY, AGAIN)
    moved, significant = table["higher"] + table["lower"] > 0, table["p (Holm)"] <= 0.05
    direction = table["difference"].gt(0).map({True: ABOVE, False: BELOW})
    return table.assign(found=direction.where(significant, UNTOLD).where(moved, SAME))


def orders(ablated: Sequence[Ablated]) -> pd.DataFrame:
    """The benchmarks in the order of what a removal costs, with the points, by both ways: a row a mechanism.

    Appendix C says that the replay tells this order. tau: Kendall's, of both; NaN where one finds all of them alike.
    """
    from scipy.stats import kendalltau

    lines = []
    for ablation in ABLATIONS:
        costs: dict[str, dict[str, float]] = {REPLAY: {}, AGAIN: {}}
        for way, runs in product(costs, ablated):
            if ablation.name in runs.without:
                full, without = (fmean(runs.scores(scored, ablation).values()) for scored in (FULL, way))
                costs[way][runs.benchmark] = 100 * (full - without)
        falling = {way: sorted(points.items(), key=lambda cost: -cost[1]) for way, points in costs.items()}
        texts = {way: ", ".join(f"{name} {cost:.1f}" for name, cost in points) for way, points in falling.items()}
        tau = kendalltau(*([*points.values()] for points in costs.values())).statistic
        lines.append({"condition": ablation.name, **texts, "tau": float(tau)})
    labels = {"data": {runs.full.setup.data for runs in ablated}, "evidence": {runs.full.evidence for runs in ablated}}
    return pd.DataFrame(lines).assign(**{name: " and ".join(sorted(words)) for name, words in labels.items()})


def _contrasts(families: Iterable[Sequence[Ablated]], first: str, second: str) -> pd.DataFrame:
    """One way to score less another, in points. See `comparisons`."""
    lines = []
    for ablated in families:
        pairs = [(runs, ablation) for runs in ablated for ablation in ABLATIONS if ablation.name in runs.without]
        compared = [compare(runs.scores(first, ablation), runs.scores(second, ablation)) for runs, ablation in pairs]
        adjusted = holm([c.p for c in compared])
        for (runs, ablation), c, p in zip(pairs, compared, adjusted, strict=True):
            points = [100 * value for value in (c.mean_a, c.mean_b, *c.difference)]
            key = (runs.benchmark, runs.full.setup.data, ablation.name, c.n)
            evidence = (runs.full.evidence, runs.full.backbone)
            lines.append((*key, *points, c.wins, c.losses, c.p, p, *evidence))
    columns = ["benchmark", "data", "condition", "n", first, second, "difference", "low", "high", "higher", "lower"]
    return pd.DataFrame(lines, columns=[*columns, "p", "p (Holm)", "evidence", "backbone"])
