"""§6: how often an agent reads and reads again without a note: No-TN, No-TN with an extended goal, and networks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from lab import plots, tables
from procllm.experiments.episodes import Results, split
from procllm.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

METRICS = ("reads after a read", "4 or more reads in a row", "the same command 4 or more times in a row")
LOOP = 4  # §6 prints two rounds over two files


class Reads(NamedTuple):
    """Of an episode. reads: commands that read, refused ones too. again: those of them that directly follow another.
    longest: the most reads in a row. same: the most times in a row that one command was given.
    """

    reads: int
    again: int
    longest: int
    same: int


def reads_of(trajectory: Trajectory) -> Reads:
    """Count an episode's reads and repetitions; an unreadable answer is no command and ends a row."""
    commands = [step.command for step in trajectory.steps]
    kinds = [command.startswith("Read ") for command in commands]
    return Reads(
        sum(kinds),
        sum(first and second for first, second in pairwise(kinds)),
        max((len(list(row)) for read, row in groupby(kinds) if read), default=0),
        max((len(list(row)) for command, row in groupby(commands) if command), default=0),
    )


def rows(run: Results) -> list[tables.Row]:
    """For each condition of a run, in percent: reads that follow a read, episodes with many reads in a row, and
    episodes that repeat a command. A failed episode is in the n of the latter two.
    """
    found = []
    for condition in dict.fromkeys(split(name)[0] for name in run.episodes):
        played = [name for name in run.episodes if split(name)[0] == condition]
        counts = [reads_of(run.trajectories[name]) for name in played if name in run.trajectories]
        shares = (
            (sum(count.again for count in counts), sum(count.reads for count in counts)),
            (sum(count.longest >= LOOP for count in counts), len(played)),
            (sum(count.same >= LOOP for count in counts), len(played)),
        )
        found += [
            tables.rate_row(condition, run.backbone, metric, passed, of, run.evidence)
            for metric, (passed, of) in zip(METRICS, shares, strict=True)
            if of
        ]
    return found


def frame(runs: Iterable[Results]) -> pd.DataFrame:
    """The rows as a results table. The n of "reads after a read" counts reads, the others episodes."""
    return tables.table(row for run in runs for row in rows(run))


def draw(results: pd.DataFrame) -> Figure:
    """A panel a metric, bars by condition over the backbones."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(METRICS), figsize=(13, 3.8), sharey=True)
    for axes, metric in zip(panels, METRICS, strict=True):
        shown = results[results["metric"] == metric]
        plots.bars_with_intervals(shown, "backbone", "value", "ci_low", "ci_high", hue="method", axes=axes)
        axes.set(title=metric, xlabel="", ylabel="%", ylim=(0, 105))
        axes.tick_params(axis="x", labelrotation=15)
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure
