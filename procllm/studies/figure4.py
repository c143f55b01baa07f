"""Figures 4 and A.2: the costs of the conditions.

Of the paper's two figures we only have the captions and §6. Figure 4 compares backbones on each benchmark, over all
sizes; §6 reads iterations, time per iteration and total time from it. Figure A.2 has the full details.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lab.results import tables
from lab.runs import collecting, experiment, recordings
from lab.runs.registry import STUDIES
from lab.runs.study import Study
from lab.runs.study_results import Results, took
from procllm.experiments.episodes import Episodes
from procllm.studies import figure3, outcomes, recipes
from procllm.studies.conditions import HUMAN, NONE, TITLES, declared, source

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COMPARED = ("iterations", "seconds an iteration", "seconds in all")  # what §6 reads from Figure 4
COSTS = (*COMPARED, "tokens")
ACROSS = 3  # panels in a row
SHORT = {"Travel Planner": "TP", "Recipe Generator": "RG", "Blocks World": "BW", "Unit Movement": "UM"}  # in captions
RECORDED = (figure3.STUDY, recipes.STUDY)  # studies with recordings of real models


def costs(results: Results, benchmark: str, condition: str, by_size: bool = False) -> Iterator[tables.Row]:
    """The statistics of Figures 4 and A.2: means over episodes with bootstrap intervals; a single episode has none.

    by_size: one row for each size. Seconds are given only if a model answered and no answer came from a cache.
    """
    run: experiment.Results[Episodes] = results.part(benchmark, condition)
    groups = run.setup.by_size() if by_size else {"": run.setup.instances()}
    origin: dict[str, Any] = {"evidence": run.evidence, "source": f"this run, {source(results.setup, benchmark)}"}
    for size, instances in groups.items():
        origin["outcomes"] = run.outcomes(instances)
        for statistic, values in _statistics(run, instances).items():
            where = (condition, run.backbone, outcomes.titled(statistic, benchmark, size))
            if len(values) == 1:
                yield tables.row(*where, values[0], **origin, n=1)
            elif values:
                yield tables.mean_row(*where, values, **origin)


def _statistics(run: experiment.Results[Episodes], instances: Collection[str]) -> Mapping[str, list[float]]:
    """Statistic of COSTS -> its values, one an episode. Rules have only iterations."""
    usage = {name: run.usage.get(name) or {} for name in instances if name in run.episodes}
    finished = {name: run.episodes[name].result for name in usage if not run.episodes[name].failed}
    iterations = {name: float(result["iterations"]) for name, result in finished.items()}
    if run.by_rules:
        return {"iterations": [*iterations.values()]}
    timed = [name for name, calls in usage.items() if not any(operator["cached"] for operator in calls.values())]
    seconds = {name: took(usage[name], "seconds") for name in timed}
    paces = [seconds[name] / count for name, count in iterations.items() if name in seconds]
    tokens = [took(calls, "tokens_in") + took(calls, "tokens_out") for calls in usage.values()]
    return dict(zip(COSTS, ([*iterations.values()], paces, [*seconds.values()], tokens), strict=True))


STUDY = declared(
    "procllm-figure4", list(TITLES.values()), (HUMAN, NONE), figure3.SIZES, rows=costs,
    headline="iterations, {benchmark}", against="",  # success is compared in the other studies
)  # fmt: skip


def frame(runs: Sequence[Results]) -> pd.DataFrame:
    """Figure 4 as a results table: these runs and the recordings of real models, over all sizes of a benchmark."""
    rows = details(runs, by_size=False)
    return rows[rows["metric"].str.startswith(tuple(f"{title}, " for title in COMPARED))].reset_index(drop=True)


def details(runs: Sequence[Results], by_size: bool = True) -> pd.DataFrame:
    """Figure A.2 as a results table: with tokens, and these runs at each size. A recording has one size."""
    import pandas as pd

    return pd.concat([*(run.frame(by_size=by_size) for run in runs), recorded(COSTS)], ignore_index=True)


def recorded(metrics: Collection[str], studies: Sequence[Study] = RECORDED) -> pd.DataFrame:
    """The rows of these studies' recordings of real models, those whose metric starts with one of `metrics`."""
    import pandas as pd

    rows = pd.concat([recordings.rows(study.name) for study in studies], ignore_index=True)
    return rows[rows["metric"].str.startswith(tuple(metrics))]


def replays(names: Sequence[str] = ()) -> list[Results]:
    """Replay recordings of real models, with the studies that made them. names: by default all."""
    chosen = names or [name for study in RECORDED for name in recordings.names(study.name)]
    known = recordings.manifests()
    return [STUDIES.named(known[name].method).run(engine=f"replay:{name}") for name in chosen]


def record(run: Results) -> None:
    """Save a run and its costs as a recording, if `python -m lab record` runs the notebook."""
    import pandas as pd

    cost_rows = tables.table(row for part in run.parts for row in costs(run, *part))
    collecting.record(run, pd.concat([run.frame(), cost_rows], ignore_index=True), run.costs())


layout = partial(outcomes.layout, keys=("benchmark", "condition"), decimals=1)  # a column a statistic


def draw(results: pd.DataFrame) -> Figure:
    """Plot either figure: one panel for each statistic and backbone, bars by condition over the benchmarks."""
    panels, results = [], tables.telling(results)
    for title in COSTS:
        rows = results[results["metric"].str.startswith(f"{title}, ")]
        labels = rows["metric"].str.removeprefix(f"{title}, ").replace(SHORT, regex=True).str.replace(", ", " ")
        groups = rows.assign(benchmark=labels).groupby("backbone", sort=False)
        panels += [(f"{title}\n{backbone}", group) for backbone, group in groups]
    rows_of_panels = [panels[start : start + ACROSS] for start in range(0, len(panels), ACROSS)]
    shape = 4.5 * len(rows_of_panels[0]), 3.3 * len(rows_of_panels) + 0.6
    return outcomes.bars(rows_of_panels, "benchmark", shape, tilt=40)
