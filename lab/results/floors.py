"""Floors and ceilings of benchmarks: a method's headroom between the best null model and the ceiling."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.models import engines
from lab.results import plots
from lab.results.stored import CEILING as CEILING
from lab.results.stored import FLOOR as FLOOR
from lab.results.stored import METHOD, Scores, Stored

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# role: "floor" or "ceiling". better: "higher" or "lower", for scores. engine: "none" for agents that ask no engine.
COLUMNS = (
    "benchmark", "agent", "role", "metric", "better", "value", "ci_low", "ci_high", "n", "data", "evidence", "engine",
    "run",
)  # fmt: skip


class Ends(NamedTuple):
    """A benchmark's best floor, the agent with that score, and its ceiling; NaN for an unknown ceiling."""

    floor: float
    agent: str
    ceiling: float


def headroom(value: float, floor: float, ceiling: float) -> float:
    """A method's position between the best floor (0) and the ceiling (1).

    Below 0 it is worse than an agent without skill, above 1 better than the ceiling. All values have the same unit;
    lower scores may be better. NaN if an argument is, or if floor and ceiling are equal.
    """
    return (value - floor) / (ceiling - floor) if ceiling != floor else math.nan


def ends(panel: pd.DataFrame) -> dict[str, Ends]:
    """Benchmark -> best floor and ceiling, from a table with the columns of COLUMNS and a floor for each benchmark."""
    ends_of = {}
    for name, rows in panel.groupby("benchmark", sort=False):
        floors, ceilings = (rows[rows["role"] == role] for role in (FLOOR, CEILING))
        lower = (rows["better"] == "lower").any()
        best = floors.loc[floors["value"].idxmin() if lower else floors["value"].idxmax()]
        ceiling = ceilings["value"].min() if lower else ceilings["value"].max()
        ends_of[str(name)] = Ends(float(best["value"]), str(best["agent"]), float(ceiling))
    return ends_of


def of_models(stored: Stored) -> pd.DataFrame:
    """All stored results of real models with headroom: a row per benchmark, condition and engine; see `standing`.

    A condition that is an agent without skill, such as Monotonic, asks no model though it is played beside one.
    """
    import pandas as pd

    panel = stored.rows("0_floors", "0_floors")
    lower = set() if panel is None else {*panel.loc[panel["better"] == "lower", "metric"]}
    floors = {(side.benchmark, side.condition.lower()) for side, s in stored.scores.items() if s.role == FLOOR}
    rows = [
        {"run": scores.run, **standing(scores, stored, lower=scores.metric in lower)}
        for scores in stored.scores.values()
        if scores.role == METHOD
        and scores.evidence == "measured"
        and (scores.side.benchmark, scores.side.condition.lower()) not in floors
        and not engines.parse(scores.side.engine).kinds.isdisjoint(engines.MODELS)
    ]
    return pd.DataFrame(rows)


def standing(scores: Scores, stored: Stored, lower: bool = False) -> dict[str, Any]:
    """A method's score with the best agent without skill, the ceiling and the headroom, as scores are stored.

    lower: whether lower scores are better.

    Floor and ceiling are means over the method's own tasks. If no agent without skill has played all of these, they are
    means over the benchmark's tasks of the same data ("floor on": "other tasks"). Without any the floor is NaN.
    """
    same_data = [
        agent
        for side, agent in stored.scores.items()
        if side.benchmark == scores.side.benchmark and agent.role != METHOD and agent.data == scores.data
    ]
    on_the_same = [agent for agent in same_data if scores.values.keys() <= agent.values.keys()]
    covering = any(agent.role == FLOOR for agent in on_the_same)
    means = {
        role: {
            agent.side.condition: agent.mean(scores.values if covering else agent.values)
            for agent in (on_the_same if covering else same_data)
            if agent.role == role
        }
        for role in (FLOOR, CEILING)
    }
    best = (min if lower else max)(means[FLOOR], key=means[FLOOR].__getitem__, default="")
    value, floor = scores.mean(scores.values), means[FLOOR].get(best, math.nan)
    # Models' scores are in [0, 1], so without an expert the ceiling is 1, or 0 if lower scores are better.
    ceiling = min(means[CEILING].values(), default=0.0) if lower else max(means[CEILING].values(), default=1.0)
    return {
        "benchmark": scores.side.benchmark, "method": scores.side.condition, "model": scores.side.engine,
        "value": value, "best floor": floor, "floor agent": best, "ceiling": ceiling, "lower": lower,
        "headroom": headroom(value, floor, ceiling), "n": len(scores.values), "data": scores.data,
        "floor on": "the same tasks" if covering else "other tasks" if same_data else "",
    }  # fmt: skip


def draw(panel: pd.DataFrame) -> Figure:
    """The agents of each benchmark as dots with intervals, and a grey bar from its best floor to its ceiling.

    If a benchmark was not played on official data, its label names the data.
    Benchmarks with better lower scores have their own axes.
    """
    import matplotlib.pyplot as plt

    synthetic = panel["benchmark"] + " (" + panel["data"] + ")"
    panel = panel.assign(benchmark=synthetic.where(panel["data"] != "official", panel["benchmark"]))
    parts = [rows for _, rows in panel.groupby("better")]
    sizes = [rows["benchmark"].nunique() for rows in parts]
    floors = panel[panel["role"] == FLOOR]
    names = list(dict.fromkeys(floors["agent"]))
    colors = plots.colored(names)
    shape = (8, 0.22 * sum(sizes) + 0.7 * len(sizes) + 0.9)
    figure, axes = plt.subplots(len(parts), 1, figsize=shape, height_ratios=sizes, squeeze=False)
    for axis, rows in zip(axes[:, 0], parts, strict=True):
        lines = list(dict.fromkeys(rows["benchmark"]))
        limits = [ends(rows)[name] for name in lines]
        axis.barh(range(len(lines)), [e.ceiling - e.floor for e in limits], 0.7, [e.floor for e in limits], color="0.9")
        dots = rows[rows["role"] == FLOOR]
        plots.dots_with_intervals(dots, "benchmark", "value", "ci_low", "ci_high", "agent", axis, colors)
        axis.plot([e.ceiling for e in limits], range(len(lines)), "|", color="black", markersize=9, label="ceiling")
        lower = (rows["better"] == "lower").all()
        axis.legend()
        axis.set(xlabel=f"{rows['metric'].iloc[0]}, lower is better" if lower else "score, %")
        axis.set_axisbelow(True)
        if not lower:
            axis.set_xlim(-2, 102)  # so that dots at 0 and 100 are not clipped
    plots.one_legend(figure, columns=4)
    plots.label_evidence(figure, panel.rename(columns={"engine": "backbone"}))
    return figure
