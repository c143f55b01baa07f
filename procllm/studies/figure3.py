"""Figure 3: success against the size of the problem, for Blocks World and Unit Movement, under the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from procllm.studies.conditions import BLOCKS, HUMAN, LLM, LLM_PAPER, NONE, PLACEBO, TITLES, UNITS, declared
from procllm.studies.outcomes import bars, by_size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# The paper goes from b=3 to b=9; (9, 6), (10, 6) and (15, 9) are sizes that its text names, the others are ours.
SIZES = {
    "blocks": ((3, 2), (5, 3), (7, 5), (9, 6)),  # b starting blocks, h high goal stack
    "units": ((5, 3), (10, 6), (15, 9), (20, 12)),  # n units a group, k units at each of three neighbours
}
STUDY = declared(
    "procllm-figure3",
    [BLOCKS, UNITS],
    (HUMAN, LLM_PAPER, LLM, PLACEBO, NONE),
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
    about = results["metric"].str.split(", ", n=2, expand=True)
    results = results.assign(domain=about[1], size=about[2].str.replace(", ", "\n"))
    panels = [
        [(f"{name}, {backbone}", rows) for backbone, rows in of.groupby("backbone", sort=False)]
        for name, of in results.groupby("domain", sort=False)
    ]
    return bars(panels, "size", (3.6 * len(panels[0]) + 0.6, 3.0 * len(panels)), "success (%)")
