"""Figure 3: success by problem size in Blocks World and Unit Movement, for each condition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lab.runs.study_results import Results
from procllm.studies.conditions import BLOCKS, HUMAN, LLM, LLM_PAPER, NONE, PLACEBO, SUCCESS, TITLES, UNITS, declared
from procllm.studies.outcomes import bars, by_size

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# The paper goes from b=3 to b=9; (9, 6), (10, 6) and (15, 9) are sizes that its text names, the others are ours.
SIZES = {
    "blocks": ((3, 2), (5, 3), (7, 5), (9, 6)),  # b starting blocks, h high goal stack
    "units": ((5, 3), (10, 6), (15, 9), (20, 12)),  # n units a group, k units at each of three neighbours
}
NAMED = {"success, b=9": f"{SUCCESS.title.format(benchmark=BLOCKS)}, b=9, h=6"}  # §5's only number -> our metric
STUDY = declared(
    "procllm-figure3",
    [BLOCKS, UNITS],
    (HUMAN, LLM_PAPER, LLM, PLACEBO, NONE),
    SIZES,
    rows=by_size,
    published=("Figure 3 Blocks World", "procllm"),
)


def sized(blocks: Sequence[Any], units: Sequence[Any], **options: Any) -> dict[str, Any]:
    """Benchmarks and options of a trial with these sizes; a domain without sizes is left out."""
    sizes = {"blocks": blocks, "units": units}
    return {"benchmarks": [TITLES[name] for name, values in sizes.items() if values], "options": {**sizes, **options}}


def beside_published(runs: Iterable[Results]) -> pd.DataFrame:
    """The numbers of the paper's text, and the rows of these runs and of recordings."""
    rows = STUDY.beside_published(*(run.frame() for run in runs)).replace({"metric": NAMED})
    return rows[rows["metric"].str.startswith("success, ")].reset_index(drop=True)


def largest(results: pd.DataFrame) -> list[str]:
    """The metric of the last size of each domain."""
    return [*{metric.split(", ")[1]: metric for metric in results["metric"]}.values()]


def draw(results: pd.DataFrame) -> Figure:
    """Plot success by size: a row of panels a domain, a panel a backbone, bars by condition with Wilson intervals."""
    parts = results["metric"].str.split(", ", n=2, expand=True)
    results = results.assign(domain=parts[1], size=parts[2].str.replace(", ", "\n"))
    panels = [
        [(f"{name}, {backbone}", rows) for backbone, rows in domain_rows.groupby("backbone", sort=False)]
        for name, domain_rows in results.groupby("domain", sort=False)
    ]
    return bars(panels, "size", (3.6 * len(panels[0]) + 0.6, 3.0 * len(panels)), "success (%)")
