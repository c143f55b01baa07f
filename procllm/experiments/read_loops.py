"""§6: how often an agent reads and reads again without a note: No-TN, No-TN with an extended goal, and networks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from lab import plots, tables
from procllm.experiments.episodes import Results, split
from procllm.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

METRICS = ("reads after a read", "episodes with a loop")
LOOP = 4  # reads in a row: §6 prints two rounds over two files


class Reads(NamedTuple):
    """Of an episode. reads: commands that read. again: those of them that directly follow another read. longest: the
    most reads in a row.
    """

    reads: int
    again: int
    longest: int


def reads_of(trajectory: Trajectory) -> Reads:
    """Count an episode's reads; commands of any other kind, unreadable answers too, end a row of them."""
    kinds = [step.command.startswith("Read ") for step in trajectory.steps]
    longest = row = 0
    for read in kinds:
        row = row + 1 if read else 0
        longest = max(longest, row)
    return Reads(sum(kinds), sum(first and second for first, second in pairwise(kinds)), longest)


def rows(run: Results) -> list[tables.Row]:
    """For each condition of a run: the reads that follow a read, and the episodes with a loop, in percent."""
    found = []
    for condition in dict.fromkeys(split(name)[0] for name in run.episodes):
        played = [name for name in run.episodes if split(name)[0] == condition]
        counts = [reads_of(run.trajectories[name]) for name in played if name in run.trajectories]
        again, reads = sum(count.again for count in counts), sum(count.reads for count in counts)
        looped = sum(count.longest >= LOOP for count in counts)
        shares = [(METRICS[0], again, reads), (METRICS[1], looped, len(played))]
        found += [
            tables.rate_row(condition, run.backbone, metric, passed, of, run.evidence)
            for metric, passed, of in shares
            if of
        ]
    return found


def frame(runs: Iterable[Results]) -> pd.DataFrame:
    """The rows as a results table. The n of "reads after a read" counts reads, the other one episodes."""
    return tables.table(row for run in runs for row in rows(run))


def draw(results: pd.DataFrame) -> Figure:
    """A panel a metric, bars by condition over the backbones."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(METRICS), figsize=(10, 3.8), sharey=True)
    for axes, metric in zip(panels, METRICS, strict=True):
        shown = results[results["metric"] == metric]
        plots.bars_with_intervals(shown, "backbone", "value", "ci_low", "ci_high", hue="method", axes=axes)
        axes.set(title=metric, xlabel="", ylabel="%", ylim=(0, 105))
        axes.tick_params(axis="x", labelrotation=15)
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure
