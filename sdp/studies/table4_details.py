"""Beside Table 4: what the loop did, SwiftSage's means made again, an episode to read."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING, Any

from lab.machine.faults import MissingData
from lab.machine.paths import official_data
from lab.results.exports import readable
from lab.results.statistics import bootstrap_mean
from lab.runs.study_results import Results
from sdp.adapters.scienceworld.adapter import UNKNOWN
from sdp.anatomy import score_by_replans
from sdp.experiments import certifying
from sdp.experiments.scienceworld import Setup
from sdp.studies import mechanisms
from sdp.studies.table4 import BENCHMARK, by_type, length_of_task
from sdp.trajectory import Attempt, Trajectory
from worlds.scienceworld.tasks import LENGTHS

if TYPE_CHECKING:
    import pandas as pd

Run = certifying.Results[Setup]
PUBLISHED = "scienceworld/swiftsage_published_scores.csv"


def recomputed() -> pd.DataFrame:
    """SwiftSage's published means beside those of its per-task table: a row a method and group, scores in percent.

    Raises MissingData without the official data.
    """
    import pandas as pd

    path = official_data() / PUBLISHED
    if not path.exists():
        raise MissingData(f"SwiftSage's per-task scores are not at {path}; set LAB_DATA to the official data")
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    tasks = [line for line in lines if line["task_name"] in set().union(*LENGTHS.values())]
    means = {(line["method"], line["length_group"]): float(line["score"]) for line in lines if line not in tasks}
    rows = []
    for (method, group), stated in means.items():
        scores = [
            float(line["score"])
            for line in tasks
            if line["method"] == method and group in ("overall", line["length_group"])
        ]
        rows.append((method, group.capitalize(), len(scores), stated, mean(scores), abs(stated - mean(scores))))
    columns = ["method", "group", "types", "published", "recomputed", "apart"]
    return pd.DataFrame(rows, columns=columns).assign(evidence="published")


def anatomy(runs: Mapping[str, Run]) -> pd.DataFrame:
    """What the loop did, a row a run and length: means an episode, and shares in percent.

    predicates: of the first plan, without the goal. actions a predicate: plan compression, of the episodes that got to
    the goal. cascades: certifying actions with k >= 2. rejected: attempts with k = 0; refused: by the simulator.
    """
    import pandas as pd

    lines = [
        {"condition": name, "length": length, **_anatomy(run, length)}
        for name, run in runs.items()
        for length in LENGTHS
        if by_type(run, length)
    ]
    return pd.DataFrame(lines)


def _anatomy(run: Run, length: str) -> dict[str, Any]:
    played = [one for one in run.trajectories if length_of_task(one.task) == length]
    attempts = [attempt for one in played for attempt in one.attempts]
    certified = [transition.k for one in played for transition in one.transitions]
    solved = [one for one in played if one.reached_goal]
    scores = bootstrap_mean([100 * mean(each) for each in by_type(run, length).values()])
    return {
        "n": len(played), "score": scores.value, "low": scores.low, "high": scores.high,
        "predicates": _mean(map(_planned, played)), "actions": len(attempts) / max(len(played), 1),
        "actions a predicate": _mean(len(one.attempts) / _planned(one) for one in solved),
        "calls": _mean(one.cost.calls for one in played),
        "cascades, %": 100 * _share(k >= 2 for k in certified), "rejected, %": 100 * _share(a.k == 0 for a in attempts),
        "refused, %": 100 * _share(a.reason == UNKNOWN for a in attempts),
        "replans": _mean(one.replans for one in played), "data": run.setup.data, "evidence": run.evidence,
        "backbone": run.backbone,
    }  # fmt: skip


def by_replans(run: Run) -> pd.DataFrame:
    """Figure 3b: the score in percent, and the share of episodes at 100, by the number of replans."""
    import pandas as pd

    solved = {task: float(score == 1) for task, score in run.scores.items()}
    score, at_100 = (score_by_replans(run.trajectories, scores) for scores in (run.scores, solved))
    table = pd.DataFrame({"replans": score["of"], "n": score["denominator"], "score": 100 * score["share"]})
    table[["at 100, %", "low", "high"]] = 100 * at_100[["share", "low", "high"]]
    return table[table["n"] > 0].assign(data=run.setup.data, evidence=run.evidence, backbone=run.backbone)


def aloud(trajectory: Trajectory) -> pd.DataFrame:
    """An episode to read: a row a plan, and a row an attempt with its target, action, answer, verdict and score."""
    lines: list[tuple[str, ...]] = []
    for number, plan in enumerate(trajectory.plans):
        targets = "; ".join(predicate.text for predicate in plan.predicates[plan.start : -1])
        lines.append((plan.operator, targets, "", "", plan.fault, ""))
        lines += [_line(attempt) for attempt in trajectory.attempts if attempt.plan == number]
    return readable(lines, columns=["what", "target", "action", "answer", "verdict", "score"])


def _line(attempt: Attempt) -> tuple[str, ...]:
    seen = attempt.observation or {"answer": "", "score": ""}
    first = seen["answer"].partition("\n")[0]
    verdict = f"{f'certified {attempt.k}' if attempt.k else 'rejected'}: {attempt.reason}"
    return f"attempt {attempt.step + 1}", attempt.target, str(attempt.action or ""), first, verdict, str(seen["score"])


def ablated(results: Results) -> list[mechanisms.Ablated]:
    """SDP with and without each mechanism, once for each length: what `mechanisms.comparisons` and `bounds` take."""
    (whole,) = mechanisms.ablated(results, BENCHMARK)
    return [
        mechanisms.Ablated(f"{whole.benchmark}, {length}", _of(whole.full, length),
                {name: _of(run, length) for name, run in whole.without.items()})
        for length in LENGTHS if by_type(whole.full, length)
    ]  # fmt: skip


def _of(run: Run, length: str) -> Run:
    def kept(named: Mapping[str, Any]) -> dict[str, Any]:
        return {task: value for task, value in named.items() if length_of_task(task) == length}

    return replace(run, episodes=kept(run.episodes), not_measured=kept(run.not_measured), usage=kept(run.usage))


def _planned(trajectory: Trajectory) -> int:
    """Predicates of the first plan, without the goal."""
    return len(trajectory.plans[0].predicates) - 1


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return mean(listed) if listed else math.nan


def _share(found: Iterable[bool]) -> float:
    return _mean(map(float, found))
