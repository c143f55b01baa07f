"""Table 4: SDP on ScienceWorld by the length of tasks, with plans of three grains, and without each mechanism.

Scores are as SwiftSage's protocol has them: percent, means over types of the means over their episodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean

from lab.models.engines import ORACLE
from lab.results import tables
from lab.runs.study import Study, register
from lab.runs.study_results import Results
from sdp.experiments import certifying
from sdp.experiments.scienceworld import Setup
from sdp.studies.conditions import (
    PLACEBO,
    SDP,
    WITHOUT_CASCADE,
    WITHOUT_REPLAN,
    WITHOUT_VALIDATE,
    rejections,
)
from worlds.scienceworld.benchmark import length_of
from worlds.scienceworld.tasks import LENGTHS, name_and_variation

BENCHMARK = "ScienceWorld"
GROUPS = {length.capitalize(): length for length in LENGTHS} | {"Overall": ""}
BY_STAGE = SDP.but("SDP, a predicate a stage", "policy.grain", "stage", extra=True, recorded=False)
BY_ACTION = BY_STAGE.but("SDP, a predicate an action", "policy.grain", "action")
GRAINS = {"stage": BY_STAGE.name, "change": SDP.name, "action": BY_ACTION.name}  # §4.1; a change is the default
UNREMOVED = (SDP, WITHOUT_VALIDATE.but(WITHOUT_VALIDATE.name, recorded=False), WITHOUT_REPLAN, WITHOUT_CASCADE)


def by_length(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """A condition's rows."""
    return scores(condition, results.part(benchmark, condition))


def scores(name: str, run: certifying.Results[Setup]) -> Iterator[tables.Row]:
    """Scores in percent by GROUPS; n counts types, which the intervals resample."""
    for group, length in GROUPS.items():
        if types := by_type(run, length):
            played = sum(map(len, types.values()))
            source = f"this run, {played} episodes, b = {run.setup.settings.budget}, cap {run.setup.settings.step_cap}"
            outcomes = run.outcomes([task for task in run.episodes if length in ("", length_of_task(task))])
            percent = [100 * mean(of) for of in types.values()]
            yield tables.mean_row(name, run.backbone, group, percent, run.evidence, source, outcomes=outcomes)


def by_type(run: certifying.Results[Setup], length: str = "") -> dict[str, list[float]]:
    """Task type -> scores of its episodes in [0, 1]; of a group of LENGTHS, or of all."""
    found: dict[str, list[float]] = {}
    for task, score in run.scores.items():
        if length in ("", length_of_task(task)):
            found.setdefault(name_and_variation(task)[0], []).append(score)
    return found


def length_of_task(task: str) -> str:
    """The group of a task's type."""
    return length_of(name_and_variation(task)[0])


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
