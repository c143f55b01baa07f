"""Figure 3: success against the size of the problem, for Blocks World and Unit Movement, under the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.results import plots
from procllm.studies.conditions import BLOCKS, HUMAN, NONE, PLACEBO, TITLES, UNITS, declared
from procllm.studies.outcomes import by_size, colors

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The paper goes from b=3 to b=9; (9, 6), (10, 6) and (15, 9) are sizes that its text names, the others are ours.
SIZES = {
    "blocks": ((3, 2), (5, 3), (7, 5), (9, 6)),  # b starting blocks, h high goal stack
    "units": ((5, 3), (10, 6), (15, 9), (20, 12)),  # n units a group, k units at each of three neighbours
}
STUDY = declared(
    "procllm-figure3",
    [BLOCKS, UNITS],
    (HUMAN, PLACEBO, NONE),
    SIZES,
    rows=by_size,
    published=("Figure 3 Blocks World", "procllm"),
)


def sized(blocks: Sequence[Any], units: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Benchmarks and options of a trial with these sizes; a domain without sizes is not played."""
    sizes = {"blocks": blocks, "units": units}
    return {"benchmarks": [TITLES[name] for name, of in sizes.items() if of], "options": {**sizes, **options}}


def draw(results: pd.DataFrame) -> Figure:
    """Success against size: a row of panels a domain, a panel a backbone, bars by condition with Wilson intervals."""
    import matplotlib.pyplot as plt

    backbones = list(dict.fromkeys(results["backbone"]))
    names = list(dict.fromkeys(results["metric"].str.split(", ").str[1]))
    shape = (3.6 * len(backbones) + 0.6, 3.0 * len(names))
    figure, panels = plt.subplots(len(names), len(backbones), figsize=shape, sharey=True, squeeze=False)
    for row, name in zip(panels, names, strict=True):
        for axes, backbone in zip(row, backbones, strict=True):
            _panel(axes, results[results["backbone"] == backbone], name, backbone)
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure


def _panel(axes: Axes, results: pd.DataFrame, title: str, backbone: str) -> None:
    rows = results[results["metric"].str.contains(f", {title}, ", regex=False)]
    sizes = rows["metric"].str.split(f", {title}, ", regex=False).str[1]
    rows = rows.assign(size=sizes.str.replace(", ", "\n"))
    plots.bars_with_intervals(rows, "size", "value", "ci_low", "ci_high", "method", axes, colors(), "n")
    axes.set(title=f"{title}, {backbone}", xlabel="", ylabel="success (%)", ylim=(0, 105))
