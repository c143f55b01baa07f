"""Figure 4: iterations, seconds an iteration, seconds in all and tokens, of each benchmark under each condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.results import plots, tables
from lab.results.exports import EMPTY
from procllm.experiments.episodes import Problems, Results
from procllm.experiments.figure3 import problems
from procllm.experiments.scores import COSTS, colors, cost_rows, recorded

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def all_problems(count: int) -> tuple[Problems, ...]:
    """`count` instances of each domain, and of each size where there are sizes."""
    return (Problems("travel", count), Problems("recipes", count), *problems(count))


def frame(runs: Sequence[Results]) -> pd.DataFrame:
    """A results table: the statistics of these runs, and of the recordings of real models."""
    import pandas as pd

    return pd.concat([tables.table(cost_rows(runs)), recorded(COSTS.values())], ignore_index=True)


def layout(results: pd.DataFrame) -> pd.DataFrame:
    """For reading: a row a benchmark, condition and backbone, a column `mean [low, high]` a statistic."""
    import pandas as pd

    cells = []
    for row in results.to_dict("records"):
        title = next(title for title in COSTS.values() if row["metric"].startswith(f"{title}, "))
        about = {"benchmark": row["metric"].removeprefix(f"{title}, "), "condition": row["method"]}
        cells.append(about | tables.counted(row) | {title: tables.with_interval(row, 1)})
    keys = ["benchmark", "condition", *tables.COUNTED]
    return pd.DataFrame(cells).groupby(keys, sort=False).first().fillna(EMPTY).reset_index()


def draw(results: pd.DataFrame) -> Figure:
    """A row of panels a statistic, a panel a backbone that has it, bars by condition over the benchmarks."""
    import matplotlib.pyplot as plt

    known = [(title, backbone) for title in COSTS.values() for backbone in _backbones(results, title)]
    figure, panels = plt.subplots(-(-len(known) // 3), 3, figsize=(12, 3.1 * -(-len(known) // 3)), squeeze=False)
    for axes, (title, backbone) in zip(panels.flat, known, strict=False):
        rows = results[(results["backbone"] == backbone) & results["metric"].str.startswith(f"{title}, ")]
        rows = rows.assign(benchmark=rows["metric"].str.removeprefix(f"{title}, "))
        plots.bars_with_intervals(rows, "benchmark", "value", "ci_low", "ci_high", "method", axes, colors())
        axes.set(title=f"{title}\n{backbone}", xlabel="", ylabel="")
        axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), rotation=20, ha="right")
    for axes in panels.flat[len(known) :]:
        axes.set_visible(False)
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure


def _backbones(results: pd.DataFrame, title: str) -> list[str]:
    return list(dict.fromkeys(results.loc[results["metric"].str.startswith(f"{title}, "), "backbone"]))
