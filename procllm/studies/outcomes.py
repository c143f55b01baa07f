"""Outcomes of episodes: success by size, how episodes ended, and which failed."""

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
    """Plot rows of panels (title, table): bars by condition over the column `x`, with intervals and shared colors.

    ylabel: for percentages, which share a y axis; without it each panel has its own. tilt: angle of the names on the x
    axis, in degrees. n: the column of counts.
    """
    import matplotlib.pyplot as plt
    import pandas as pd

    methods = dict.fromkeys(name for axes_row in panels for _, rows in axes_row for name in rows["method"])
    names = [*ALL, *(name for name in methods if name not in ALL)]
    colors = plots.colored(names)
    across = max(map(len, panels))
    figure, grid = plt.subplots(len(panels), across, figsize=shape, sharey=bool(ylabel), squeeze=False)
    for axes_row, row_panels in zip(grid, panels, strict=True):
        for axes, (title, rows) in zip(axes_row, row_panels, strict=False):
            plots.bars_with_intervals(rows, x, "value", "ci_low", "ci_high", "method", axes, colors, n)
            axes.set(title=title, xlabel="", ylabel=ylabel, **({"ylim": (0, 105)} if ylabel else {}))
            if tilt:
                ticks = axes.get_xticks(), axes.get_xticklabels()
                axes.set_xticks(*ticks, rotation=tilt, ha="right", rotation_mode="anchor")
        for axes in axes_row[len(row_panels) :]:
            axes.set_visible(False)
    plots.one_legend(figure)
    plots.label_evidence(figure, pd.concat([rows for row_panels in panels for _, rows in row_panels]))
    return figure


def titled(what: str, benchmark: str, size: str) -> str:
    """The title of a metric, such as "success, Blocks World, b=3, h=2"."""
    return ", ".join(part for part in (what, benchmark, size) if part)


def by_size(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """The success rate of each size, in percent, with its Wilson interval."""
    run, success = results.part(benchmark, condition), results.values(benchmark, condition, SUCCESS)
    source = f"this run, {results.of_study.source(results.setup, benchmark)}"
    for size, instances in run.setup.by_size().items():
        if played := [success[name] for name in instances if name in success]:
            columns = (int(sum(played)), len(played), run.evidence, source, run.outcomes(instances))
            yield tables.rate_row(condition, run.backbone, titled(SUCCESS, benchmark, size), *columns)


def layout(
    results: pd.DataFrame, keys: Sequence[str] = ("problems",), decimals: int = 0, of_n: bool = False
) -> pd.DataFrame:
    """A table to read: one row a domain, size and backbone; one column a condition; cells are `value [low, high]`.

    keys: names for the domain with its size and for the condition; with both, a column is a metric. of_n: append n to
    each value, for metrics of a row that differ in n.
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
    """How episodes ended, with counts of steps by outcome; one row a domain, condition and backbone.

    right at a timeout: a right answer that passed no check in time, which is no success.
    """
    import pandas as pd

    parts = [(run, *part) for run in runs for part in run.parts if run.of(*part)]
    # A null model answers without a step, so its episodes have no end to count.
    return pd.DataFrame([_endings(*part) for part in parts if part[0].of_study.condition(part[2]).role != "null"])


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
    """The episodes without success: how they ended and what the checker found wrong, without the answer's text."""
    played, lines = trajectories(run), []
    for name, episode in run.episodes.items():
        names = entry(name)[1:]
        if episode.failed:
            lines.append((*names, "failed", str(episode.error).strip().splitlines()[-1]))
        elif not played[name].success:
            missed = (f"fails at {part}" for part, holds in played[name].verdict.parts.items() if not holds)
            lines.append((*names, played[name].ended, next(missed, "right")))
    return readable(lines, columns=["condition", "instance", "ended", "checker"])
