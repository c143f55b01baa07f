"""§6: how often an agent reads and reads again without a note: No-TN, No-TN with an extended goal, and networks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from lab import tables
from procllm.domains import domain
from procllm.experiments.episodes import Results, split
from procllm.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd

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


def rows(runs: Iterable[Results]) -> list[tables.Row]:
    """For each run, domain and condition: reads that follow a read, and episodes with a loop, in percent."""
    return [row for run in runs for row in _rows(run)]


def _rows(run: Results) -> list[tables.Row]:
    instances, found = run.setup.instances(), []
    for condition in run.setup.conditions:
        of = {name: t for name, t in run.trajectories.items() if split(name)[0] == condition}
        for place in dict.fromkeys(instances[split(name)[1]][0].domain for name in of):
            counts = [reads_of(t) for name, t in of.items() if instances[split(name)[1]][0].domain == place]
            found += _of_condition(condition, run, domain(place).title, counts)
    return found


def _of_condition(condition: str, run: Results, title: str, counts: Sequence[Reads]) -> list[tables.Row]:
    looped, reads = sum(count.longest >= LOOP for count in counts), sum(count.reads for count in counts)
    found = [
        tables.rate_row(condition, run.backbone, f"episodes with a loop, {title}", looped, len(counts), run.evidence)
    ]
    if reads:
        again = sum(count.again for count in counts)
        found.append(
            tables.rate_row(condition, run.backbone, f"reads after a read, {title}", again, reads, run.evidence)
        )
    return found


def frame(runs: Iterable[Results]) -> pd.DataFrame:
    """The rows as a results table. The n of "reads after a read" counts reads, the other one episodes."""
    return tables.table(rows(runs))
