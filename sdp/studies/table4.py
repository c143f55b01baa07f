"""Table 4: SDP on ScienceWorld by the length of tasks, with plans of three grains, and without each mechanism.

Scores are as SwiftSage's protocol has them: percent, means over types of the means over their episodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import mean
from typing import Any

from lab.models.engines import ORACLE
from lab.results import tables
from lab.runs.study import Study, register
from lab.runs.study_results import Results
from sdp.experiments import certifying
from sdp.experiments.scienceworld import Setup
from sdp.studies.conditions import PLACEBO, SDP, WITHOUT_CASCADE, WITHOUT_REPLAN, WITHOUT_VALIDATE, rejections
from worlds.scienceworld import length_of
from worlds.scienceworld.tasks import LENGTHS, name_and_variation

BENCHMARK = "ScienceWorld"
GROUPS = (*(length.capitalize() for length in LENGTHS), "Overall")
Run = certifying.Results[Setup]
BY_STAGE = SDP.but("SDP, a predicate a stage", "policy.grain", "stage", extra=True, recorded=False)
BY_ACTION = BY_STAGE.but("SDP, a predicate an action", "policy.grain", "action")
GRAINS = {"stage": BY_STAGE.name, "change": SDP.name, "action": BY_ACTION.name}  # §4.1; a change is the default
UNREMOVED = (SDP, WITHOUT_VALIDATE.but(WITHOUT_VALIDATE.name, recorded=False), WITHOUT_REPLAN, WITHOUT_CASCADE)


def by_length(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """A condition's rows."""
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
    """The parts of a run by the length of tasks, but for those without episodes."""

    def part(length: str) -> Run:
        def own(by_task: Mapping[str, Any]) -> dict[str, Any]:
            return {task: value for task, value in by_task.items() if length_of(name_and_variation(task)[0]) == length}

        return replace(run, episodes=own(run.episodes), not_measured=own(run.not_measured), usage=own(run.usage))

    return {length: own for length in LENGTHS if (own := part(length)).episodes}


def by_type(run: Run) -> list[float]:
    """Of each task type, the mean score of its episodes in percent."""
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
        against=SDP.name,
        published=("Table 4 ScienceWorld", "sdp"),
        options={"lengths": tuple(LENGTHS)},
        matched=rejections,
        rows=by_length,
        engine=ORACLE,  # no rules play it
    )
)
