"""Table 6: each mechanism of SDP removed, on the paper's five benchmarks, by replay and by running again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from lab.models.connect import connected
from lab.models.replay import Replay
from lab.results import tables
from lab.runs.collecting import collect
from lab.runs.manifest import Manifest
from lab.runs.registry import STUDIES
from lab.runs.study import Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from sdp.ablation import ABLATIONS
from sdp.studies.conditions import SDP
from sdp.studies.mechanisms import AGAIN, BENCHMARKS, FULL, REPLAY, Ablated, ablated, method_of, rows
from sdp.studies.table4 import UNREMOVED


def both_ways(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """The rows of a benchmark, with those of the full loop."""
    if condition == SDP.name:
        for runs in ablated(results, benchmark):
            yield from rows(runs)


STUDY = register(
    Study(
        name="sdp-table6",
        benchmarks=tuple(BENCHMARKS),
        conditions=UNREMOVED,
        metrics=(),
        against=SDP.name,
        published=("Table 6 ablation", "sdp"),
        rows=both_ways,
    )
)


def played(trials: Iterable[Trial], workers: int = 0, cluster: str = "") -> list[Ablated]:
    """What each trial has of SDP, with and without its mechanisms.

    A recording of any table has the benchmarks and conditions that it was made with; the replay needs SDP alone.
    Raises ValueError for recordings of none of the benchmarks, and what `lab.collect` raises.
    """
    trials, runs = list(trials), list[Ablated]()
    for trial in trials:
        backbone = connected(trial.engine)
        if isinstance(backbone, Replay):
            recorded: Any = STUDIES.named(Manifest.read(backbone.folder).parameters["study"])
            run = recorded.run(engine=trial.engine, workers=workers, cluster=cluster)
        else:
            run = collect(trial, workers, cluster)
        for benchmark in trial.datasets:
            runs += ablated(run, benchmark)
    if trials and not runs:
        engines = ", ".join(dict.fromkeys(trial.engine for trial in trials))
        wanted = ", ".join(benchmark for trial in trials for benchmark in trial.datasets)
        raise ValueError(f"{engines} was made on none of {wanted}; name a recording of SDP on one of them")
    return runs


def with_published(results: pd.DataFrame) -> pd.DataFrame:
    """The paper's rows and ours, in the order of conditions; metrics are benchmarks."""
    published = tables.published("Table 6 ablation", "sdp")
    names = {column.metric: name for name, column in BENCHMARKS.items()} | {name: name for name in BENCHMARKS}
    published = published[published["metric"].isin(names)]
    # The paper's own ablated scores are replay estimates (Appendix C), so they stand beside ours of that kind.
    methods = {ablation.name: method_of(REPLAY, ablation) for ablation in ABLATIONS}
    published = published.assign(metric=published["metric"].map(names), method=published["method"].replace(methods))
    order = [FULL, *(method_of(way, ablation) for ablation in ABLATIONS for way in (REPLAY, AGAIN))]
    whole = pd.concat([published, results], ignore_index=True)
    return whole.sort_values("method", key=lambda m: m.map(order.index), kind="stable", ignore_index=True)


def layout(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 6's shape: a row a condition and backbone, a column a benchmark; what nobody could recover stays empty.

    rows: of `with_published`. Behind each number that was made here stands the data that it was made on.
    """
    texts = [
        row["text"] if row["evidence"] == "published" else f"{tables.with_interval(row, 1)}, {row['data']}"
        for row in rows.to_dict("records")
    ]
    return tables.side_by_side(rows.assign(text=texts), list(BENCHMARKS))
