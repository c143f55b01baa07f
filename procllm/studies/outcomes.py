"""What came of episodes: success by size, how they ended, and which failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lab.results import plots, tables
from lab.results.exports import readable
from lab.runs.study_results import Results, entry
from procllm.conditions import ALL
from procllm.experiments.episodes import trajectories

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SUCCESS = "success"
COUNTED = ("verified", "rejected", "refused", "malformed")  # outcomes of steps that are counted


def bars(
    panels: Sequence[Sequence[tuple[str, pd.DataFrame]]], x: str, shape: tuple[float, float], ylabel: str = "",
    tilt: int = 0, n: str = "n",
) -> Figure:  # fmt: skip
    """Lines of panels, a title and rows each: bars by condition over a column, with intervals; the same colors in all.

    ylabel: of percentages, which share an axis; without it each panel has its own. tilt: degrees, of the names on the
    x axis. n: the column of counts.
    """
    import matplotlib.pyplot as plt
    import pandas as pd
    import seaborn

    methods = dict.fromkeys(name for line in panels for _, rows in line for name in rows["method"])
    names = [*ALL, *(name for name in methods if name not in ALL)]
    colors = dict(zip(names, seaborn.color_palette(plots.PALETTE, len(names)), strict=True))
    across = max(map(len, panels))
    figure, grid = plt.subplots(len(panels), across, figsize=shape, sharey=bool(ylabel), squeeze=False)
    for line, shown in zip(grid, panels, strict=True):
        for axes, (title, rows) in zip(line, shown, strict=False):
            plots.bars_with_intervals(rows, x, "value", "ci_low", "ci_high", "method", axes, colors, n)
            axes.set(title=title, xlabel="", ylabel=ylabel, **({"ylim": (0, 105)} if ylabel else {}))
            if tilt:
                ticks = axes.get_xticks(), axes.get_xticklabels()
                axes.set_xticks(*ticks, rotation=tilt, ha="right", rotation_mode="anchor")
        for axes in line[len(shown) :]:
            axes.set_visible(False)
    plots.one_legend(figure)
    plots.label_evidence(figure, pd.concat([rows for shown in panels for _, rows in shown]))
    return figure


def titled(what: str, benchmark: str, size: str) -> str:
    """A metric, "success, Blocks World, b=3, h=2"."""
    return ", ".join(part for part in (what, benchmark, size) if part)


def by_size(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """The success rate in percent of each size, with its Wilson interval."""
    run, success = results.part(benchmark, condition), results.values(benchmark, condition, SUCCESS)
    source = f"this run, {results.of_study.source(results.setup, benchmark)}"
    for size, instances in run.setup.by_size().items():
        if played := [success[name] for name in instances if name in success]:
            about = (int(sum(played)), len(played), run.evidence, source, run.outcomes(instances))
            yield tables.rate_row(condition, run.backbone, titled(SUCCESS, benchmark, size), *about)


def layout(
    results: pd.DataFrame, keys: Sequence[str] = ("problems",), decimals: int = 0, of_n: bool = False
) -> pd.DataFrame:
    """For reading: a row a domain, size and backbone; cells are `value [low, high]`, a column for each condition.

    keys: names for the domain with its size and for the condition; with both, a column is a metric. of_n: n stands
    behind each value, where metrics of a row have different ones.
    """
    cells = []
    for row in results.to_dict("records"):
        metric, problems = row["metric"].split(", ", 1)
        counted, value = tables.counted(row), tables.with_interval(row, decimals)
        if of_n:
            value += f" of {counted.pop('n')}"
        names = dict(zip(keys, (problems, row["method"]), strict=False))
        cells.append(names | counted | {metric if len(keys) == 2 else row["method"]: value})
    return tables.spread(cells, [*keys, *(name for name in tables.COUNTED if not (of_n and name == "n"))])


def endings(runs: Iterable[Results]) -> pd.DataFrame:
    """How episodes ended, and what else was counted; a row a domain, condition and backbone.

    right at a timeout: a right answer that no check let pass in time, which is no success.
    """
    import pandas as pd

    return pd.DataFrame([_endings(run, *part) for run in runs for part in run.parts if run.of(*part)])


def _endings(results: Results, benchmark: str, condition: str) -> dict[str, Any]:
    run = results.part(benchmark, condition)
    played, outcomes = trajectories(run).values(), run.outcomes()
    ended = Counter((trajectory.ended, trajectory.verdict.solved) for trajectory in played)
    steps = Counter[str](step.outcome for trajectory in played for step in trajectory.steps)
    return (
        {"domain": benchmark, "condition": condition, "n": len(run.episodes), "solved": ended["done", True]}
        | {"wrong, yet verified": ended["done", False], "right at a timeout": ended["horizon", True]}
        | {"wrong at a timeout": ended["horizon", False]}
        | {"failed": outcomes.failed, "not measured": outcomes.not_measured}
        | {f"{name} steps": steps[name] for name in COUNTED}
        | {"evidence": run.evidence, "backbone": run.backbone}
    )


def failures(run: Results) -> pd.DataFrame:
    """Every episode without success: how it ended and what the checker says of its answer. No text of the answer."""
    played, lines = trajectories(run), []
    for name, episode in run.episodes.items():
        names = entry(name)[1:]
        if episode.failed:
            lines.append((*names, "failed", str(episode.error).strip().splitlines()[-1]))
        elif not played[name].success:
            missed = (f"fails at {part}" for part, holds in played[name].verdict.parts.items() if not holds)
            lines.append((*names, played[name].ended, next(missed, "right")))
    return readable(lines, columns=["condition", "instance", "ended", "checker"])
