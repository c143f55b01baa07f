"""§6: how often an agent reads and reads again without a note: No-TN, No-TN with an extended goal, and networks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from lab.results import plots, tables
from lab.results.exports import EMPTY
from procllm.domains import domain
from procllm.experiments.episodes import Results, split
from procllm.experiments.scores import colors
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
    """Count an episode's reads and repetitions; a malformed answer is no command and ends a row."""
    commands = [step.command for step in trajectory.steps]
    kinds = [command.startswith("Read ") for command in commands]
    return Reads(
        sum(kinds),
        sum(first and second for first, second in pairwise(kinds)),
        max((len(list(row)) for read, row in groupby(kinds) if read), default=0),
        max((len(list(row)) for command, row in groupby(commands) if command), default=0),
    )


def rows(run: Results) -> list[tables.Row]:
    """For each domain and condition of a run, in percent: reads that follow a read, episodes with many reads in a row,
    and episodes that repeat a command. A failed episode is in the n of the latter two.
    """
    instances, found = run.setup.instances(), []
    groups: dict[tuple[str, str], list[str]] = {}
    for name in run.episodes:
        condition, instance = split(name)
        groups.setdefault((instances[instance][0].domain, condition), []).append(name)
    for (place, condition), played in groups.items():
        counts = [reads_of(run.trajectories[name]) for name in played if name in run.trajectories]
        outcomes = run.outcomes(run.of(condition, place))
        shares = (
            (sum(count.again for count in counts), sum(count.reads for count in counts)),
            (sum(count.longest >= LOOP for count in counts), len(played)),
            (sum(count.same >= LOOP for count in counts), len(played)),
        )
        for metric, (passed, of) in zip(METRICS, shares, strict=True):
            if of:
                title = f"{metric}, {domain(place).title}"
                found.append(
                    tables.rate_row(condition, run.backbone, title, passed, of, run.evidence, outcomes=outcomes)
                )
    return found


def frame(runs: Iterable[Results]) -> pd.DataFrame:
    """The rows as a results table. The n of "reads after a read" counts reads, the others episodes."""
    return tables.table(row for run in runs for row in rows(run))


def layout(results: pd.DataFrame) -> pd.DataFrame:
    """For reading: a row a domain, backbone and condition, a column `value [low, high] of n` a metric."""
    import pandas as pd

    cells = []
    for row in results.to_dict("records"):
        metric, _, title = row["metric"].rpartition(", ")
        counted = tables.counted(row)
        n = counted.pop("n")
        about = {"domain": title, "condition": row["method"]} | counted
        cells.append(about | {metric: f"{tables.with_interval(row, 0)} of {n}"})
    keys = ["domain", "condition", *(name for name in tables.COUNTED if name != "n")]
    return pd.DataFrame(cells).groupby(keys, sort=False).first().fillna(EMPTY).reset_index()


def draw(results: pd.DataFrame) -> Figure:
    """A panel a metric, bars by condition over the backbones and domains."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(METRICS), figsize=(14, 4.4), sharey=True)
    for axes, metric in zip(panels, METRICS, strict=True):
        shown = results[results["metric"].str.startswith(f"{metric}, ")]
        who = shown["backbone"].str.replace(" (local)", "") + "\n" + shown["metric"].str.removeprefix(f"{metric}, ")
        plots.bars_with_intervals(shown.assign(who=who), "who", "value", "ci_low", "ci_high", "method", axes, colors())
        axes.set(title=metric, xlabel="", ylabel="%", ylim=(0, 105))
        axes.set_xticks(axes.get_xticks(), axes.get_xticklabels(), rotation=40, ha="right")
    plots.one_legend(figure)
    plots.label_evidence(figure, results)
    return figure
