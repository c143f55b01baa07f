"""Table 2: SDP on TravelPlanner under each reading of A.2, next to the paper's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from lab.results import tables
from lab.results.exports import readable
from lab.runs.study import Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from sdp.adapters.travelplanner.adapter import Policy
from sdp.experiments import travelplanner
from sdp.studies.conditions import SDP
from worlds.travelplanner import first_failure
from worlds.travelplanner.evaluator import Denominators

BENCHMARK = "TravelPlanner"
METRICS = {
    "delivery": "Delivery Rate",
    "commonsense_micro": "Commonsense Micro",
    "commonsense_macro": "Commonsense Macro",
    "hard_micro": "Hard Constraint Micro",
    "hard_macro": "Hard Constraint Macro",
    "final": "Final Pass Rate",
}
MAIN = "validation, medium and hard"
# The easy queries are separate, because the official flight table at hand is incomplete for some of them.
SAMPLES: dict[str, dict[str, Any]] = {
    MAIN: {"split": "validation", "levels": ("medium", "hard")},
    "train": {"split": "train", "levels": ("easy", "medium", "hard")},
    "validation, easy": {"split": "validation", "levels": ("easy",)},
}
# Points that A.2 leaves open or states twice; the first two conditions are the readings of its meal predicate.
ALL_MEALS = SDP.but("SDP, all meals", "policy.every_meal", True, recorded=False)
READINGS = (
    ALL_MEALS,
    SDP,
    ALL_MEALS.but("SDP, all meals, cities by Propose", "policy.cities", "propose"),
    SDP.but("SDP, cities by Propose", "policy.cities", "propose", recorded=False),
    ALL_MEALS.but("SDP, all meals, numbered order", "policy.order", "numbered"),
    SDP.but("SDP, numbered order", "policy.order", "numbered", recorded=False),
    ALL_MEALS.but("SDP, all meals, money kept back", "policy.keep_back", True),
)
# Beyond the paper, whose Replan only retries.
UNDOING = SDP.but("SDP, undoing Replan", "policy.undo", 3, extra=True, recorded=False)
UNDOINGS = (UNDOING, ALL_MEALS.but("SDP, all meals, undoing Replan", "policy.undo", 3, extra=True))


def label(results: Results, condition: str) -> str:
    """A row's name: which meals, whose cities, and any other difference."""
    policy: Policy = results.setup.part(BENCHMARK, condition).policy
    parts = [
        "all meals (A.2)" if policy.every_meal else "meals as the evaluator asks",
        "reference cities" if policy.cities == "reference" else "cities by Propose",
        *(["A.2's numbered order"] if policy.order == "numbered" else []),
        *(["money kept back for meals"] if policy.keep_back else []),
        *([f"undoing Replan ({policy.undo})"] if policy.undo else []),
    ]
    return ", ".join(["SDP", *parts])


def sample(trial: Trial, benchmark: str) -> str:
    """The name of the queries: a key of SAMPLES, or the split with its levels."""
    split, levels = trial.options["split"], tuple(trial.options["levels"])
    names = (name for name, options in SAMPLES.items() if options == {"split": split, "levels": levels})
    return next(names, f"{split}, {' and '.join(levels)}")


def rates(
    results: Results, benchmark: str, condition: str, denominators: Denominators = "stated"
) -> Iterator[tables.Row]:
    """The six rates; the micro rates count constraints. denominators: see `worlds.travelplanner.evaluator`."""
    run = results.part(benchmark, condition)
    counts, source = run.rates(denominators), (run.evidence, f"this run, {sample(results.setup, benchmark)}")
    # Only queries can be "not measured"; the micro rates and the official ones do not count queries.
    of_queries = ("delivery", "commonsense_macro", "hard_macro", "final") if denominators == "stated" else ()
    for name, title in METRICS.items():
        outcomes, (passes, n) = run.outcomes() if name in of_queries else None, getattr(counts, name)
        yield tables.rate_row(label(results, condition), run.backbone, title, passes, n, *source, outcomes)


STUDY = register(
    Study(
        name="sdp-table2",
        benchmarks=(BENCHMARK,),
        conditions=(*READINGS, *UNDOINGS),
        metrics=(),
        metric="final pass",
        against=SDP.name,
        published=("Table 2 TravelPlanner", "sdp"),
        options=SAMPLES[MAIN],
        source=sample,
        label=label,
        rows=rates,
        headline=METRICS["final"],
    )
)


def honesty(runs: Mapping[str, travelplanner.Results]) -> pd.DataFrame:
    """Final passes of runs by name, and how many of them also pass the strict reading."""
    rows = [(name, len(run.tasks), sum(v.final for v in run.verdicts), sum(run.honest)) for name, run in runs.items()]
    table = pd.DataFrame(rows, columns=["sample", "n", "final passes", "of them honest"])
    labels = {"data": [run.setup.data for run in runs.values()], "evidence": [run.evidence for run in runs.values()]}
    return table.assign(**labels, backbone=[run.backbone for run in runs.values()])


def failures(runs: Mapping[str, travelplanner.Results]) -> pd.DataFrame:
    """Every query that does not pass: where the loop got stuck, its last diagnostic, and the evaluator's verdict."""
    rows = [
        (name, task.id, task.level, "episode failed", "", str(episode.error).strip().splitlines()[-1])
        if episode.failed
        else (name, task.id, task.level, *(episode.result[key] for key in ("end", "stuck")), first_failure(verdict))
        for name, run in runs.items()
        for task, episode, verdict in zip(run.tasks, run.episodes.values(), run.verdicts, strict=True)
        if not verdict.final
    ]
    return readable(rows, columns=["sample", "task", "level", "ended by", "diagnostic", "evaluator"])
