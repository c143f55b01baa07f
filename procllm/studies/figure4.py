"""Figures 4 and A.2: what the conditions cost.

The paper's two figures are known by their captions and by §6 alone. Figure 4 compares backbones on each benchmark, over
all sizes; §6 reads iterations, time an iteration and time in all from it. Figure A.2 has the full details.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lab.results import tables
from lab.runs import collecting, experiment, recordings
from lab.runs.registry import STUDIES
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
SHORT = {"Travel Planner": "TP", "Recipe Generator": "RG", "Blocks World": "BW", "Unit Movement": "UM"}  # the captions'
RECORDED = (figure3.STUDY, recipes.STUDY)  # studies with recordings of real models


def costs(results: Results, benchmark: str, condition: str, by_size: bool = False) -> Iterator[tables.Row]:
    """The statistics of Figures 4 and A.2: means over episodes, with bootstrap intervals; one episode has none.

    by_size: of each size. Seconds are given only where a model answered and none of its answers came from a cache.
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
    """Those of COSTS, a value an episode; rules have iterations alone."""
    used = {name: run.usage.get(name) or {} for name in instances if name in run.episodes}
    finished = {name: run.episodes[name].result for name in used if not run.episodes[name].failed}
    iterations = {name: float(result["iterations"]) for name, result in finished.items()}
    if run.by_rules:
        return {"iterations": [*iterations.values()]}
    timed = [name for name, of in used.items() if not any(operator["cached"] for operator in of.values())]
    seconds = {name: took(used[name], "seconds") for name in timed}
    paces = [seconds[name] / count for name, count in iterations.items() if name in seconds]
    tokens = [took(of, "tokens_in") + took(of, "tokens_out") for of in used.values()]
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
    """Figure A.2 as a results table: tokens as well, and these runs at each size. A recording has one size each."""
    import pandas as pd

    return pd.concat([*(run.frame(by_size=by_size) for run in runs), recorded(COSTS)], ignore_index=True)


def recorded(metrics: Collection[str]) -> pd.DataFrame:
    """Rows of all recordings of real models whose metric begins with one of these."""
    import pandas as pd

    rows = pd.concat([recordings.rows(study.name) for study in RECORDED], ignore_index=True)
    return rows[rows["metric"].str.startswith(tuple(metrics))]


def replays(names: Sequence[str] = ()) -> list[Results]:
    """Recordings of real models, played again by the studies that made them; by default all."""
    chosen = names or [name for study in RECORDED for name in recordings.names(study.name)]
    known = recordings.manifests()
    return [STUDIES.named(known[name].method).run(engine=f"replay:{name}") for name in chosen]


def record(run: Results) -> None:
    """Save a run with what it cost as a recording, if `python -m lab record` runs the notebook."""
    import pandas as pd

    taken = tables.table(row for part in run.parts for row in costs(run, *part))
    collecting.record(run, pd.concat([run.frame(), taken], ignore_index=True), run.costs())


layout = partial(outcomes.layout, keys=("benchmark", "condition"), decimals=1)  # a column a statistic


def draw(results: pd.DataFrame) -> Figure:
    """Either figure: a panel for each statistic and backbone that has it, bars by condition over the benchmarks."""
    panels = []
    for title in COSTS:
        rows = results[results["metric"].str.startswith(f"{title}, ")]
        names = rows["metric"].str.removeprefix(f"{title}, ").replace(SHORT, regex=True).str.replace(", ", " ")
        groups = rows.assign(benchmark=names).groupby("backbone", sort=False)
        panels += [(f"{title}\n{backbone}", group) for backbone, group in groups]
    lines = [panels[first : first + ACROSS] for first in range(0, len(panels), ACROSS)]
    return outcomes.bars(lines, "benchmark", (14, 3.3 * len(lines) + 0.6), tilt=40)
