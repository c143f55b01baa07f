"""Table 1: Travel Planner, success up to each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.runs.study import Metric
from lab.runs.trial import Trial
from procllm.studies.conditions import HUMAN, LLM, NONE, PLACEBO, TRAVEL, declared
from procllm.studies.outcomes import bars

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COLUMNS = ("Flight 1", "Flight 2", "Hotel")  # parts of the answer, each with those before it
STUDY = declared(
    "procllm-table1",
    [TRAVEL],
    (HUMAN, LLM, PLACEBO, NONE),
    metrics=tuple(Metric(column, column, "rate") for column in COLUMNS),
    headline=COLUMNS[-1],
    published=("Table 1 Travel Planner", "procllm"),
)


def selection(trial: Trial) -> pd.DataFrame:
    """How Travel Planner's requests were chosen: how many are left after each condition, beside the paper's 43."""
    import pandas as pd

    from procllm.domains.travel import funnel
    from worlds.travelplanner import load

    world = load(trial.data)
    left = funnel(world.tasks("validation"), world.listings)
    steps = {
        "to one city, validation split": left.single,
        "all flights of both days are known": left.known,
        "flying is allowed": left.flying,
        "there is a flight each way": left.existing,
        "solvable within the budget": left.solvable,
        "played": len(trial.part(TRAVEL, trial.methods[0]).instances()),
    }
    lines = [{"requests": name, "n": n, "data": trial.data, "evidence": "measured"} for name, n in steps.items()]
    paper = {"requests": "the paper's, from the same split", "n": 43, "data": "official", "evidence": "published"}
    return pd.DataFrame([*lines, paper])


def draw(results: pd.DataFrame, metrics: Sequence[str]) -> Figure:
    """Success by backbone, bars by condition, a panel a metric; a published value has no interval."""
    panels = [(metric, results[results["metric"] == metric]) for metric in metrics]
    return bars([panels], "backbone", (3.2 + 3.2 * len(metrics), 3.8), "success (%)", tilt=30)
