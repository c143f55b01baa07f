"""Figures 4 and A.2: what the conditions cost.

The paper's two figures are known by their captions and by §6 alone. Figure 4 compares backbones on each benchmark, over
all sizes; §6 reads iterations, time an iteration and time in all from it. Figure A.2 has the full details.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.results import plots, tables
from procllm.experiments.episodes import Problems, Results
from procllm.experiments.figure3 import problems
from procllm.experiments.scores import COSTS, colors, cost_rows, recorded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

COMPARED = ("iterations", "seconds an iteration", "seconds in all")  # of COSTS, those that §6 reads from Figure 4
ACROSS = 3  # panels in a row
SHORT = {"Travel Planner": "TP", "Recipe Generator": "RG", "Blocks World": "BW", "Unit Movement": "UM"}  # the captions'


def all_problems(count: int) -> tuple[Problems, ...]:
    """`count` instances of each domain, and of each size where there are sizes."""
    return (Problems("travel", count), Problems("recipes", count), *problems(count))


def frame(runs: Sequence[Results]) -> pd.DataFrame:
    """Figure 4 as a results table: these runs and the recordings of real models, over all sizes of a benchmark."""
    import pandas as pd

    rows = pd.concat([tables.table(cost_rows(runs)), recorded(COSTS.values())], ignore_index=True)
    return rows[rows["metric"].str.startswith(tuple(f"{title}, " for title in COMPARED))].reset_index(drop=True)


def details(runs: Sequence[Results]) -> pd.DataFrame:
    """Figure A.2 as a results table: tokens as well, and these runs at each size. A recording has one size each."""
    import pandas as pd

    return pd.concat([tables.table(cost_rows(runs, by_size=True)), recorded(COSTS.values())], ignore_index=True)


def layout(results: pd.DataFrame) -> pd.DataFrame:
    """For reading: a row a benchmark, condition and backbone, a column `mean [low, high]` a statistic."""
    cells = []
    for row in results.to_dict("records"):
        title = next(title for title in COSTS.values() if row["metric"].startswith(f"{title}, "))
        about = {"benchmark": row["metric"].removeprefix(f"{title}, "), "condition": row["method"]}
        cells.append(about | tables.counted(row) | {title: tables.with_interval(row, 1)})
    return tables.spread(cells, ["benchmark", "condition", *tables.COUNTED])


def draw(results: pd.DataFrame) -> Figure:
    """Either figure: a panel for each statistic and backbone that has it, bars by condition over the benchmarks."""
    import matplotlib.pyplot as plt

    known = [(title, backbone) for title in COSTS.values() for backbone in _backbones(results, title)]
    down = -(-len(known) // ACROSS)
    figure, panels = plt.subplots(down, ACROSS, figsize=(14, 3.3 * down + 0.6), squeeze=False)
    for axes, (title, backbone) in zip(panels.flat, known, strict=False):
        rows = results[(results["backbone"] == backbone) & results["metric"].str.startswith(f"{title}, ")]
        benchmark = rows["metric"].str.removeprefix(f"{title}, ").replace(SHORT, regex=True)
        rows = rows.assign(benchmark=benchmark.str.replace(", ", " "))
        plots.bars_with_intervals(rows, "benchmark", "value", "ci_low", "ci_high", "method", axes, colors(), "n")
        axes.set(title=f"{title}\n{backbone}", xlabel="", ylabel="")
        axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), rotation=40, ha="right", rotation_mode="anchor")
    for axes in panels.flat[len(known) :]:
        axes.set_visible(False)
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure


def _backbones(results: pd.DataFrame, title: str) -> list[str]:
    return list(dict.fromkeys(results.loc[results["metric"].str.startswith(f"{title}, "), "backbone"]))
