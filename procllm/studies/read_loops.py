"""§6: how often an agent reads and reads again without a note: No-TN, No-TN with an extended goal, and networks."""

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


def rows(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """In percent: reads that follow a read, episodes with many reads in a row, and episodes that repeat a command.

    A failed episode is in the n of the latter two.
    """
    run = results.part(benchmark, condition)
    counts, n = [reads_of(trajectory) for trajectory in trajectories(run).values()], len(run.episodes)
    shares = (
        (sum(count.again for count in counts), sum(count.reads for count in counts)),
        (sum(count.longest >= LOOP for count in counts), n),
        (sum(count.same >= LOOP for count in counts), n),
    )
    about = (run.evidence, f"this run, {source(results.setup, benchmark)}", run.outcomes())
    for metric, (passed, of) in zip(METRICS, shares, strict=True):
        if of:
            yield tables.rate_row(condition, run.backbone, f"{metric}, {benchmark}", passed, of, *about)


PLAYED = (HUMAN, NARROWED, BY_TURNS, CHECKED, CHECKED_TWICE, NONE, NONE_BY_TURNS, EXTENDED)
STUDY = declared("procllm-read-loops", [BLOCKS], PLAYED, {"blocks": ((5, 3),)}, rows=rows)


def frame(runs: Iterable[Results]) -> pd.DataFrame:
    """The rows of runs of any study. The n of "reads after a read" counts reads, the others episodes."""
    return tables.table(row for run in runs for part in run.parts for row in rows(run, *part))


def commands(runs: Iterable[Results]) -> pd.DataFrame:
    """What the agents of each run did: how many answers they gave, how many of these read, write or append, and verify.

    An answer that could not be read, or that the workspace refused, is counted among the answers.
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
    """Trials of narrowed actions and other verifiers, of at most 20 instances: by the engine where it is another than
    rules, by rules with each level of noise, and by nobody who thinks.
    """
    played = [name for name in STUDY.names() if name not in (EXTENDED.name, NONE.name)]
    asked = [*([engine] if engine != "rules" else []), *(f"rules@{level:g}" for level in noise)]
    asked_of = [(name, played) for name in asked] + [("random", played[1:])]
    return [
        STUDY.trial(name, conditions=conditions, limit=min(limit, 20), options=options) for name, conditions in asked_of
    ]


def first_episode(run: Results) -> pd.DataFrame:
    """The first episode of a run, a row a step."""
    import pandas as pd

    name, trajectory = next(iter(trajectories(run).items()))
    about = {"episode": name, "ended": trajectory.ended, "evidence": run.evidence, "backbone": run.backbone}
    steps = [{"task": s.task, "command": s.command or "malformed", "outcome": s.outcome} for s in trajectory.steps]
    return pd.DataFrame(steps).assign(**about)


layout = partial(outcomes.layout, keys=("domain", "condition"), of_n=True)  # a column a metric


def draw(results: pd.DataFrame) -> Figure:
    """A row of panels a domain, a panel a metric, bars by condition over the backbones.

    What a few episodes came to is drawn as such, however many reads they have.
    """
    about = results["metric"].str.rpartition(", ")
    results = results.assign(metric=about[0], domain=about[2], agent=results["backbone"].str.replace(" (local)", ""))
    episodes = results.loc[results["metric"] == LOOPS, ["domain", "backbone", "method", "n"]]
    results = results.merge(episodes.rename(columns={"n": "episodes"}), on=["domain", "backbone", "method"])
    panels = [
        [(f"{metric}\n{name}", of[of["metric"] == metric]) for metric in METRICS]
        for name, of in results.groupby("domain", sort=False)
    ]
    return outcomes.bars(panels, "agent", (14, 3.2 * len(panels) + 0.6), "%", tilt=20, n="episodes")
