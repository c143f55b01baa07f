"""Figure 3: success against the size of the problem, for Blocks World and Unit Movement, under the three conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.results import plots, tables
from procllm.domains import domain
from procllm.experiments.episodes import Problems, Results
from procllm.experiments.scores import colors, success_rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The paper goes from b=3 to b=9; (9, 6), (10, 6) and (15, 9) are sizes that its text names, the others are ours.
BLOCKS = ((3, 2), (5, 3), (7, 5), (9, 6))  # b starting blocks, h high goal stack
UNITS = ((5, 3), (10, 6), (15, 9), (20, 12))  # n units a group, k units at each of three neighbours


def problems(
    count: int, blocks: Sequence[Sequence[int]] = BLOCKS, units: Sequence[Sequence[int]] = UNITS
) -> tuple[Problems, ...]:
    """`count` instances of each size. blocks: pairs (b, h); units: pairs (n, k); either may be empty."""
    sizes = [("blocks", ("b", "h"), pair) for pair in blocks] + [("units", ("n", "k"), pair) for pair in units]
    return tuple(Problems(name, count, tuple(zip(names, pair, strict=True))) for name, names, pair in sizes)


def frame(runs: Sequence[Results]) -> pd.DataFrame:
    """A results table with a row a backbone, size and condition."""
    return tables.table(success_rows(runs))


def draw(runs: Sequence[Results]) -> Figure:
    """Success against size: a row of panels a domain, a panel a backbone, bars by condition with Wilson intervals."""
    import matplotlib.pyplot as plt

    results = frame(runs)
    names = list(dict.fromkeys(problems.domain for run in runs for problems in run.setup.problems))
    shape = (3.6 * len(runs) + 0.6, 3.0 * len(names))
    figure, panels = plt.subplots(len(names), len(runs), figsize=shape, sharey=True, squeeze=False)
    for row, name in zip(panels, names, strict=True):
        for axes, run in zip(row, runs, strict=True):
            _panel(axes, results[results["backbone"] == run.backbone], name, run.backbone)
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure


def _panel(axes: Axes, results: pd.DataFrame, name: str, backbone: str) -> None:
    title = domain(name).title
    rows = results[results["metric"].str.contains(f", {title}, ", regex=False)]
    sizes = rows["metric"].str.split(f", {title}, ", regex=False).str[1]
    rows = rows.assign(size=sizes.str.replace(", ", "\n"))
    plots.bars_with_intervals(rows, "size", "value", "ci_low", "ci_high", "method", axes, colors(), "n")
    axes.set(title=f"{title}, {backbone}", xlabel="", ylabel="success (%)", ylim=(0, 105))
