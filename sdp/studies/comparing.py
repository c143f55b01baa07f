"""Tables for several studies of SDP: two runs on the same tasks, and what the loop did in addition to its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from lab.results.statistics import Interval
from lab.runs import experiment
from lab.runs.run import Episode
from lab.runs.study_results import Results
from sdp.anatomy import evidence_never_shown, rejected_first
from sdp.experiments.certifying import OF_PAIRS, paired
from sdp.studies.conditions import SDP, loops
from sdp.trajectory import Trajectory


def labels(results: experiment.Results[Any]) -> dict[str, str]:
    """Three columns: the data, the evidence and the backbone of a run."""
    return {"data": results.setup.data, "evidence": results.evidence, "backbone": results.backbone}


def between(first: Results, second: Results, named: Callable[[Results], str]) -> pd.DataFrame:
    """SDP's scores in two runs on their common tasks, first minus second in points, one row per dataset: see `paired`.

    named: gives the name of a run; the column of that name holds the run's mean in percent.
    """
    pairs = []
    for dataset in first.setup.datasets:
        first_scores, second_scores = (run.scores_of(dataset, SDP.name) for run in (first, second))
        shared = sorted(first_scores.keys() & second_scores.keys())
        first_scores, second_scores = (
            {task: scores[task] for task in shared} for scores in (first_scores, second_scores)
        )
        pairs.append(({"dataset": dataset}, first_scores, second_scores))
    table = paired(pairs)[["dataset", "first", "second", *OF_PAIRS, "smallest", "p (Holm)"]]
    names = {"first": named(first), "second": named(second)}
    return table.rename(columns=names).assign(data=first.setup.data, evidence=first.evidence)


def loop_counts(*runs: Results) -> pd.DataFrame:
    """One row per run, benchmark and variant of SDP, over the episodes that did not fail.

    calls, attempts: means per episode. rejected: share of attempts; rejected before: share of certified steps, with its
    interval. passed by force, replans, forced answers: sums. If episodes store how much of the gold evidence they were
    shown, also the failures whose evidence was never completely shown, and their share of all annotated failures.
    """
    rows = []
    for results, (dataset, name) in ((run, part) for run in runs for part in run.parts if part[1] in loops(run)):
        played = {task: episode.result for task, episode in results.of(dataset, name).items() if not episode.failed}
        if not played:
            continue
        episodes = pd.DataFrame(played).T
        trajectories = [Trajectory.from_json(trajectory) for trajectory in episodes["trajectory"]]
        attempts = [attempt for trajectory in trajectories for attempt in trajectory.attempts]
        (first_rejections,) = rejected_first(trajectories).to_dict("records")
        row = {
            "dataset": dataset, "method": name, "n": len(episodes), "calls": episodes["calls"].mean(),
            "attempts": len(attempts) / len(episodes),
            "rejected, %": 100 * sum(attempt.k == 0 for attempt in attempts) / max(len(attempts), 1),
            "certified steps": first_rejections["denominator"], "rejected before, %": _percent(first_rejections, 1),
            "passed by force": sum(attempt.forced for attempt in attempts),
            "replans": sum(trajectory.replanned for trajectory in trajectories),
            "forced answers": episodes["forced"].sum(),
        }  # fmt: skip
        if "gold_seen" in episodes:
            scores, gold_shown = (episodes[column].to_dict() for column in ("em", "gold_seen"))
            (unseen,) = evidence_never_shown(scores, gold_shown).to_dict("records")
            row |= {"failures": unseen["denominator"], "evidence never shown": unseen["numerator"],
                    "share, %": _percent(unseen, 0)}  # fmt: skip
        rows.append(row | labels(results))
    return pd.DataFrame(rows)


MALFORMED, OPEN, CERTIFIED = "malformed answer", "no certificate of the goal", "wrong certificate"


def failures(*runs: Results) -> pd.DataFrame:
    """One row per run, benchmark and variant of SDP: how many episodes were right, and where the others failed.

    Malformed: an answer, or the last plan, could not be read. No certificate: the loop stopped before the goal was
    certified, and may have forced a last answer. Wrong certificate: the goal was certified, but the score is below 1.
    """
    rows = []
    for results, (dataset, name) in ((run, part) for run in runs for part in run.parts if part[1] in loops(run)):
        scores, episodes = results.scores_of(dataset, name), results.of(dataset, name)
        kinds = [_failure(episodes[task]) for task, score in scores.items() if score < 1]
        counts = {kind: kinds.count(kind) for kind in (MALFORMED, OPEN, CERTIFIED)}
        row = {"dataset": dataset, "method": name, "n": len(scores), "right": len(scores) - len(kinds)}
        rows.append(row | counts | labels(results))
    return pd.DataFrame(rows)


def _failure(episode: Episode) -> str:
    """Where an episode whose score is below 1 failed."""
    if episode.failed:
        return MALFORMED
    trajectory = Trajectory.from_json(episode.result["trajectory"])
    return {"goal": CERTIFIED, "malformed plan": MALFORMED}.get(trajectory.end, OPEN)


def skeleton(results: Results, dataset: str, method: str, task: str) -> pd.DataFrame:
    """An episode of SDP without its texts: a row per run of attempts at a predicate with the same verdict.

    For benchmarks whose texts must not be shown. attempts: their number. tokens: of all of them.
    """
    trajectory = Trajectory.from_json(results.of(dataset, method)[task].result["trajectory"])
    attempts = pd.DataFrame(
        {
            "plan": attempt.plan,
            "predicate": f"{attempt.position + 1} of {len(trajectory.plans[attempt.plan].predicates)}",
            "verdict": f"{attempt.k} certified" if attempt.k else "rejected",
            "tokens": attempt.cost.tokens_in + attempt.cost.tokens_out,
        }
        for attempt in trajectory.attempts
    )
    keys = ["plan", "predicate", "verdict"]
    runs = (attempts[keys] != attempts[keys].shift()).any(axis="columns").cumsum()
    rows = attempts.groupby([runs, *keys], sort=False).agg(attempts=("tokens", "size"), tokens=("tokens", "sum"))
    return rows.reset_index(keys).assign(**labels(results))


def _percent(share: dict[str, float], decimals: int) -> str:
    """A row of `sdp.anatomy` as "40.1 [30.0, 50.2]"; "" if its denominator is 0."""
    interval = Interval(*(100 * share[end] for end in ("share", "low", "high")))
    return interval.text(f"{{:.{decimals}f}}".format) if share["denominator"] else ""
