"""Table 4: SDP on ScienceWorld by the length of tasks, with plans of three grains, and without each mechanism.

Scores follow SwiftSage's protocol: in percent, the mean over task types of the mean over their episodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import mean
from typing import Any, NamedTuple

import pandas as pd

from lab.machine.faults import MissingData
from lab.machine.paths import official_data
from lab.models.engines import ORACLE
from lab.results import tables
from lab.results.statistics import bootstrap_mean
from lab.runs.study import Study, register
from lab.runs.study_results import Results
from sdp.adapters.scienceworld.adapter import UNKNOWN
from sdp.anatomy import score_by_replans
from sdp.experiments import certifying
from sdp.experiments.scienceworld import Setup
from sdp.studies import table6
from sdp.studies.comparing import labels
from sdp.studies.conditions import PLACEBO, SDP, UNREMOVED, rejections
from worlds.scienceworld import length_of
from worlds.scienceworld.tasks import LENGTHS, name_and_variation

BENCHMARK = "ScienceWorld"
PUBLISHED = "scienceworld/swiftsage_published_scores.csv"
GROUPS = (*(length.capitalize() for length in LENGTHS), "Overall")
Run = certifying.Results[Setup]
BY_STAGE = SDP.but("SDP, a predicate a stage", "policy.grain", "stage", extra=True, recorded=False)
BY_ACTION = BY_STAGE.but("SDP, a predicate an action", "policy.grain", "action")
NOISY_LENGTHS, NOISY_CAP = ("short", "medium"), 80
JUDGED, AS_A_JUDGE = "oracle@0.9?judge=GPT-5.2", "SDP, Validate as a published judge"
GRAINS = {"stage": BY_STAGE.name, "change": SDP.name, "action": BY_ACTION.name}  # §4.1; a change is the default


def by_length(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """The score rows of a condition."""
    return scores(condition, results.part(benchmark, condition))


def scores(name: str, run: Run) -> Iterator[tables.Row]:
    """Scores in percent by GROUPS; n counts types, which the intervals resample."""
    settings = run.setup.settings
    for group, part in [*lengths(run).items(), ("overall", run)]:
        source = f"this run, {len(part.scores)} episodes, b = {settings.budget}, cap {settings.step_cap}"
        outcomes = run.outcomes(part.episodes)
        yield tables.mean_row(
            name, run.backbone, group.capitalize(), by_type(part), run.evidence, source, outcomes=outcomes
        )


def lengths(run: Run) -> dict[str, Run]:
    """The parts of a run by the length of tasks, without empty parts."""

    def part(length: str) -> Run:
        def keep(by_task: Mapping[str, Any]) -> dict[str, Any]:
            return {task: value for task, value in by_task.items() if length_of(name_and_variation(task)[0]) == length}

        return replace(run, episodes=keep(run.episodes), not_measured=keep(run.not_measured), usage=keep(run.usage))

    return {length: subset for length in LENGTHS if (subset := part(length)).episodes}


def by_type(run: Run) -> list[float]:
    """For each task type, the mean score of its episodes in percent."""
    scores: dict[str, list[float]] = {}
    for task, score in run.scores.items():
        scores.setdefault(name_and_variation(task)[0], []).append(score)
    return [100 * mean(of_type) for of_type in scores.values()]


STUDY = register(
    Study(
        name="sdp-table4",
        benchmarks=(BENCHMARK,),
        conditions=(*UNREMOVED, PLACEBO, BY_STAGE, BY_ACTION),
        metrics=(),
        headline="Overall",
        against=SDP.name,
        published=("Table 4 ScienceWorld", "sdp"),
        options={"lengths": tuple(LENGTHS)},
        matched=rejections,
        rows=by_length,
        engine=ORACLE,  # rules cannot play it
    )
)


def recomputed() -> pd.DataFrame:
    """SwiftSage's published means next to those of its per-task table: one row per method and group, in percent.

    Raises MissingData without the official data.
    """
    path = official_data() / PUBLISHED
    if not path.exists():
        raise MissingData(f"SwiftSage's per-task scores are not at {path}; set LAB_DATA to the official data")
    scores = pd.read_csv(path)
    is_task = scores["task_name"].isin(set().union(*LENGTHS.values()))
    rows = []
    for row in scores[~is_task].itertuples():
        selected = is_task & (scores["method"] == row.method)
        if row.length_group != "overall":
            selected &= scores["length_group"] == row.length_group
        average = scores["score"][selected].mean()
        group = row.length_group.capitalize()
        rows.append((row.method, group, int(selected.sum()), row.score, average, abs(row.score - average)))
    columns = ["method", "group", "types", "published", "recomputed", "apart"]
    return pd.DataFrame(rows, columns=columns).assign(evidence="published")


def anatomy(runs: Mapping[str, Run]) -> pd.DataFrame:
    """What the loop did, one row per run and length: means per episode, and shares in percent.

    predicates: of the first plan, without the goal. actions a predicate: plan compression, over episodes that reached
    the goal. cascades: certifying actions with k >= 2. rejected: attempts with k = 0; refused: by the simulator.
    """
    rows = [
        {"condition": name, "length": length, **_anatomy(part)}
        for name, run in runs.items()
        for length, part in lengths(run).items()
    ]
    return pd.DataFrame(rows)


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
        "replans": _mean(trajectory.replanned for trajectory in played), **labels(run),
    }  # fmt: skip


class UnderNoise(NamedTuple):
    """Tables for an oracle with errors, on short and medium tasks.

    grains: what the loop did with predicates of each grain. rows: scores of SDP, of its placebo with as many attempts,
    and of SDP whose Validate errs like a published judge. removed, bounds: see `table6`. replans: score by number of
    Replans (Figure 3b). tasks, step_cap: of each run.
    """

    grains: pd.DataFrame
    rows: pd.DataFrame
    removed: pd.DataFrame
    bounds: pd.DataFrame
    replans: pd.DataFrame
    tasks: int
    step_cap: int


def under_noise(engine: str, options: Mapping[str, Any], grain: str, **asked: Any) -> UnderNoise:
    """Play the noisy oracle. options: of the study; at most NOISY_CAP attempts, since 500 take hours on long tasks."""
    cap = min(options["settings.step_cap"], NOISY_CAP)
    capped = {**options, "lengths": NOISY_LENGTHS, "settings.step_cap": cap}
    with_grain = capped | {"policy.grain": grain}
    full = STUDY.run(engine=engine, conditions=[condition.name for condition in UNREMOVED], options=with_grain, **asked)
    others = [name for level, name in GRAINS.items() if (level, grain) != ("change", "change")]
    coarse = STUDY.run(engine=engine, conditions=others, options=capped, **asked)
    by_grain = {level: (coarse if name in others else full).part(BENCHMARK, name) for level, name in GRAINS.items()}
    rate = {f"{PLACEBO.name}:placebo": rejections(full)}
    placebo = STUDY.run(engine=engine, conditions=[PLACEBO.name], options=with_grain | rate, **asked)
    judged = STUDY.run(engine=JUDGED, conditions=[SDP.name], options=with_grain, **asked)
    frames = [full.frame().query("method == 'SDP'"), placebo.frame(), judged.frame().assign(method=AS_A_JUDGE)]
    parts, sdp = ablated(full), full.part(BENCHMARK, SDP.name)
    return UnderNoise(
        anatomy(by_grain), pd.concat(frames, ignore_index=True), table6.comparisons(parts), table6.bounds(parts),
        score_by_replans(sdp.trajectories, sdp.scores), len(sdp.episodes), cap,
    )  # fmt: skip


def _mean(values: Iterable[float]) -> float:
    listed = [float(value) for value in values]
    return mean(listed) if listed else math.nan


def ablated(results: Results) -> list[table6.Ablated]:
    """SDP with and without each mechanism, one entry per length, for `table6.comparisons` and `table6.bounds`."""
    (all_lengths,) = table6.ablated(results, BENCHMARK)
    without = {name: lengths(run) for name, run in all_lengths.without.items()}
    return [
        table6.Ablated(f"{BENCHMARK}, {length}", full, {name: parts[length] for name, parts in without.items()})
        for length, full in lengths(all_lengths.full).items()
    ]
