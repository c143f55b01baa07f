"""Read loops (§6): how often agents read again without a note, under No-TN, an extended goal, and networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from lab.results import tables
from lab.runs.study import Settings
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from procllm.experiments.episodes import trajectories
from procllm.studies import outcomes
from procllm.studies.conditions import (
    BLOCKS,
    BY_TURNS,
    CHECKED,
    CHECKED_TWICE,
    EXTENDED,
    HUMAN,
    NARROWED,
    NONE,
    NONE_BY_TURNS,
    declared,
    source,
)
from procllm.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LOOPS = "4 or more reads in a row"
METRICS = ("reads after a read", LOOPS, "the same command 4 or more times in a row")
LOOP = 4  # reads in a row; §6 prints two rounds over two files


class Reads(NamedTuple):
    """The reads of an episode.

    reads: Read commands, also refused ones. again: those that directly follow another.
    longest: the most reads in a row. same: the most times in a row that the same command was given.
    """

    reads: int
    again: int
    longest: int
    same: int


def reads_of(trajectory: Trajectory) -> Reads:
    """Count an episode's reads and repetitions. A malformed answer is not a command and ends a sequence."""
    commands = [step.command for step in trajectory.steps]
    is_read = [command.startswith("Read ") for command in commands]
    return Reads(
        sum(is_read),
        sum(first and second for first, second in pairwise(is_read)),
        max((len(list(group)) for read, group in groupby(is_read) if read), default=0),
        max((len(list(group)) for command, group in groupby(commands) if command), default=0),
    )


def rows(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """In percent: reads that follow a read, and episodes with LOOP or more reads, or equal commands, in a row.

    The n of the latter two includes failed episodes.
    """
    run = results.part(benchmark, condition)
    counts, n = [reads_of(trajectory) for trajectory in trajectories(run).values()], len(run.episodes)
    outcomes = run.outcomes()  # of episodes, so not of reads
    shares = (
        (sum(count.again for count in counts), sum(count.reads for count in counts), None),
        (sum(count.longest >= LOOP for count in counts), n, outcomes),
        (sum(count.same >= LOOP for count in counts), n, outcomes),
    )
    origin = (run.evidence, f"this run, {source(results.setup, benchmark)}")
    for metric, (part, total, of_episodes) in zip(METRICS, shares, strict=True):
        if total:
            yield tables.rate_row(condition, run.backbone, f"{metric}, {benchmark}", part, total, *origin, of_episodes)


PLAYED = (HUMAN, NARROWED, BY_TURNS, CHECKED, CHECKED_TWICE, NONE, NONE_BY_TURNS, EXTENDED)
STUDY = declared("procllm-read-loops", [BLOCKS], PLAYED, {"blocks": ((5, 3),)}, rows=rows)


def frame(runs: Iterable[Results]) -> pd.DataFrame:
    """The rows of runs of any study. For "reads after a read" n counts reads, for the others episodes."""
    return tables.table(row for run in runs for part in run.parts for row in rows(run, *part))


class Loops(NamedTuple):
    """Runs of this study, for `page.this_run`."""

    runs: Sequence[Results]

    def answer(self) -> str:
        """A line per engine: the episodes with LOOP or more reads in a row, by condition."""
        loops = frame(self.runs)
        loops = loops[loops["metric"].str.startswith(LOOPS)]
        return "\n".join(
            f"{engine}, % of episodes with {metric} ({group.iloc[0]['evidence']}, n = {tables.span(group['n'])}): "
            + "; ".join(f"{row['method']}: {tables.with_interval(row, 1)}" for row in group.to_dict("records"))
            + "."
            for (engine, metric), group in loops.groupby(["backbone", "metric"], sort=False)
        )


def commands(runs: Iterable[Results]) -> pd.DataFrame:
    """What the agents of each run did: numbers of answers, and of reads, writes, verifications and malformed answers.

    Writes include appends. Answers include malformed ones and commands that the workspace refused.
    """
    import pandas as pd

    rows = []
    for run in runs:
        steps = [step for trajectory in trajectories(run).values() for step in trajectory.steps]
        names = [step.command.split(" ")[0] for step in steps]
        counts = {"answers": len(names), "reads": names.count("Read"), "verifications": names.count("Verify")}
        counts |= {"writes": names.count("Write") + names.count("Append"), "malformed": names.count("")}
        origin = {"n": len(run.episodes), "evidence": run.evidence, "backbone": run.backbone}
        rows.append({"domain": ", ".join(run.setup.datasets), **counts, **origin})
    return pd.DataFrame(rows)


def narrowed(engine: str, noise: Sequence[float], limit: int, options: Settings) -> list[Trial]:
    """Trials of narrowed actions and other verifiers, with at most 20 instances.

    They are answered by the engine, if it is not `rules`; by rules with each level of noise; and by a random null
    model.
    """
    played = [name for name in STUDY.names() if name not in (EXTENDED.name, NONE.name)]
    engines = [*([engine] if engine != "rules" else []), *(f"rules@{level:g}" for level in noise)]
    trials = [(name, played) for name in engines] + [("random", played[1:])]
    return [
        STUDY.trial(name, conditions=conditions, limit=min(limit, 20), options=options) for name, conditions in trials
    ]


def first_episode(run: Results) -> pd.DataFrame:
    """The first episode of a run, one row a step."""
    import pandas as pd

    name, trajectory = next(iter(trajectories(run).items()))
    columns = {"episode": name, "ended": trajectory.ended, "evidence": run.evidence, "backbone": run.backbone}
    steps = [{"task": s.task, "command": s.command or "malformed", "outcome": s.outcome} for s in trajectory.steps]
    return pd.DataFrame(steps).assign(**columns)


layout = partial(outcomes.layout, keys=("domain", "condition"), of_n=True)  # a column a metric


def draw(results: pd.DataFrame) -> Figure:
    """Plot one row of panels a domain, one panel a metric, bars by condition over the backbones.

    A bar's n counts episodes, not reads, so few episodes are marked as few, and single ones are left out.
    """
    parts = results["metric"].str.rpartition(", ")
    results = results.assign(metric=parts[0], domain=parts[2], agent=results["backbone"].str.replace(" (local)", ""))
    episodes = results.loc[results["metric"] == LOOPS, ["domain", "backbone", "method", "n"]]
    results = results.merge(episodes.rename(columns={"n": "episodes"}), on=["domain", "backbone", "method"])
    results = tables.telling(results, "episodes")
    panels = [
        [(f"{metric}\n{name}", domain_rows[domain_rows["metric"] == metric]) for metric in METRICS]
        for name, domain_rows in results.groupby("domain", sort=False)
    ]
    return outcomes.bars(panels, "agent", (14, 3.2 * len(panels) + 0.6), "%", tilt=20, n="episodes")
