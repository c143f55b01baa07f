"""Beside Table 4: what the loop did by length of tasks, mechanisms removed, and SwiftSage's means made again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import mean
from typing import Any

import pandas as pd

from lab.machine.faults import MissingData
from lab.machine.paths import official_data
from lab.results.statistics import bootstrap_mean
from lab.runs.study_results import Results
from sdp.adapters.scienceworld.adapter import UNKNOWN
from sdp.studies import mechanisms
from sdp.studies.comparing import labels
from sdp.studies.table4 import BENCHMARK, Run, by_type, lengths
from worlds.scienceworld.tasks import LENGTHS

PUBLISHED = "scienceworld/swiftsage_published_scores.csv"


def recomputed() -> pd.DataFrame:
    """SwiftSage's published means beside those of its per-task table: a row a method and group, scores in percent.

    Raises MissingData without the official data.
    """
    path = official_data() / PUBLISHED
    if not path.exists():
        raise MissingData(f"SwiftSage's per-task scores are not at {path}; set LAB_DATA to the official data")
    scores = pd.read_csv(path)
    of_tasks = scores["task_name"].isin(set().union(*LENGTHS.values()))
    rows = []
    for line in scores[~of_tasks].itertuples():
        counted = of_tasks & (scores["method"] == line.method)
        if line.length_group != "overall":
            counted &= scores["length_group"] == line.length_group
        own = scores["score"][counted].mean()
        group = line.length_group.capitalize()
        rows.append((line.method, group, int(counted.sum()), line.score, own, abs(line.score - own)))
    columns = ["method", "group", "types", "published", "recomputed", "apart"]
    return pd.DataFrame(rows, columns=columns).assign(evidence="published")


def anatomy(runs: Mapping[str, Run]) -> pd.DataFrame:
    """What the loop did, a row a run and length: means an episode, and shares in percent.

    predicates: of the first plan, without the goal. actions a predicate: plan compression, of the episodes that got to
    the goal. cascades: certifying actions with k >= 2. rejected: attempts with k = 0; refused: by the simulator.
    """
    lines = [
        {"condition": name, "length": length, **_anatomy(part)}
        for name, run in runs.items()
        for length, part in lengths(run).items()
    ]
    return pd.DataFrame(lines)


def _anatomy(run: Run) -> dict[str, Any]:
    played = run.trajectories
    planned = [len(trajectory.plans[0].predicates) - 1 for trajectory in played]
    attempts = [attempt for trajectory in played for attempt in trajectory.attempts]
    certified = [transition.k for trajectory in played for transition in trajectory.transitions]
    per_predicate = [
        len(trajectory.attempts) / length
        for trajectory, length in zip(played, planned, strict=True)
        if trajectory.reached_goal
    ]
    score = bootstrap_mean(by_type(run))
    return {
        "n": len(played), "score": score.value, "low": score.low, "high": score.high, "predicates": _mean(planned),
        "actions": len(attempts) / max(len(played), 1), "actions a predicate": _mean(per_predicate),
        "calls": _mean(trajectory.cost.calls for trajectory in played),
        "cascades, %": 100 * _mean(k >= 2 for k in certified),
        "rejected, %": 100 * _mean(attempt.k == 0 for attempt in attempts),
        "refused, %": 100 * _mean(attempt.reason == UNKNOWN for attempt in attempts),
        "replans": _mean(trajectory.replans for trajectory in played), **labels(run),
    }  # fmt: skip


def _mean(values: Iterable[float]) -> float:
    listed = [float(value) for value in values]
    return mean(listed) if listed else math.nan


def ablated(results: Results) -> list[mechanisms.Ablated]:
    """SDP with and without each mechanism, once for each length: what `mechanisms.comparisons` and `bounds` take."""
    (whole,) = mechanisms.ablated(results, BENCHMARK)
    without = {name: lengths(run) for name, run in whole.without.items()}
    return [
        mechanisms.Ablated(f"{BENCHMARK}, {length}", full, {name: parts[length] for name, parts in without.items()})
        for length, full in lengths(whole.full).items()
    ]
