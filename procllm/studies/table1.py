"""Table 1: Travel Planner, success up to each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.results import tables
from lab.runs.study import Metric
from lab.runs.trial import Trial
from procllm.studies.conditions import HUMAN, LLM, NONE, PLACEBO, TRAVEL, declared
from procllm.studies.outcomes import bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = ("Flight 1", "Flight 2", "Hotel")  # parts of the answer; each includes those before it
STUDY = declared(
    "procllm-table1",
    [TRAVEL],
    (HUMAN, LLM, PLACEBO, NONE),
    metrics=tuple(Metric(column, column, "rate") for column in COLUMNS),
    headline=COLUMNS[-1],
    published=("Table 1 Travel Planner", "procllm"),
)


def selection(trial: Trial) -> pd.DataFrame:
    """How many requests of Travel Planner are left after each filter, beside the paper's 43."""
    import pandas as pd

    from procllm.domains.travel import funnel
    from worlds.travelplanner import TravelPlannerQueries

    world = TravelPlannerQueries(data=trial.data).world()
    remaining = funnel(world.tasks("validation"), world.listings)
    steps = {
        "to one city, validation split": remaining.single,
        "all flights of both days are known": remaining.known,
        "flying is allowed": remaining.flying,
        "there is a flight each way": remaining.existing,
        "solvable within the budget": remaining.solvable,
        "played": len(trial.part(TRAVEL, trial.methods[0]).instances()),
    }
    lines = [{"requests": name, "n": n, "data": trial.data, "evidence": "measured"} for name, n in steps.items()]
    paper = {"requests": "the paper's, from the same split", "n": 43, "data": "official", "evidence": "published"}
    return pd.DataFrame([*lines, paper])


def draw(results: pd.DataFrame, metrics: Sequence[str]) -> Figure:
    """Plot success by backbone, bars by condition, one panel a metric; a published value has no interval."""
    results = tables.telling(results)
    panels = [(metric, results[results["metric"] == metric]) for metric in metrics]
    return bars([panels], "backbone", (3.2 + 3.2 * len(metrics), 3.8), "success (%)", tilt=30)
