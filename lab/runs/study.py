"""Studies: benchmarks × conditions, declared once; rows, contrasts, costs and recordings follow from the declaration.

    DIRECT = Condition("direct", {"HotpotQA": multihop.HotpotQA}, {"evidence": "none"})
    STUDY = register(Study("my-study", ("HotpotQA",), (SDP, SDP.but("SDP without Validate", "settings.validate", False),
                           DIRECT), (Metric("{benchmark} EM", "em"),), against="SDP"))
    results = STUDY.run(engine="rules", limit=20)
    results.frame(); results.compare()

A condition differs from another by its `settings`, each a field of the experiment or, with dots, of what is in one.
All conditions play the same tasks, and a run holds them all: it is resumed, recorded and replayed as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.results import tables
from lab.runs import collecting, paired, recordings
from lab.runs.conditions import Settings
from lab.runs.declaration import Declaration
from lab.runs.experiment import BadSetting
from lab.runs.study_results import KEPT, Results
from lab.runs.trial import Trial

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Study(Declaration):
    """A declaration that can be played; its fields are those of `Declaration`."""

    def trial(
        self, engine: str = "", benchmarks: Iterable[str] = (), conditions: Iterable[str] = (),
        options: Settings | None = None, **settings: Any,
    ) -> Trial:  # fmt: skip
        """What `run` plays. settings: `engines`, `data`, `limit` and `seed` of `Experiment`."""
        engine = engine or self.engine
        trial = Trial(
            study=self.name, engine=engine, datasets=tuple(benchmarks) or self.benchmarks,
            methods=tuple(conditions) or self.names(engine), options=dict(options or {}), declared=self,
            **settings,
        )  # fmt: skip
        return replace(trial, engines={**self.others(trial), **trial.engines})

    def run(self, *, workers: int = 0, cluster: str = "", **settings: Any) -> Results:
        """Play it, or what is missing of it. settings: those of `trial`. Raises as `lab.runs.collecting.collect`."""
        return collecting.collect(self.trial(**settings), workers, cluster)

    def replays(self, workers: int = 0) -> list[Results]:
        """Every recording of the study that can be replayed with the data at hand."""
        replayed = []
        for name in recordings.names(self.name):
            try:
                replayed.append(self.run(engine=f"replay:{name}", workers=workers))
            except (MissingData, BadSetting) as error:
                progress.say(f"{name}: {error}")
        return replayed

    def kept(self) -> pd.DataFrame:
        """The contrasts that `Results.keep` kept."""
        return recordings.paired(f"{self.name}{KEPT}")

    def beside_published(self, *measured: pd.DataFrame) -> pd.DataFrame:
        """Rows of runs, and those of recordings, behind those that the paper and its rivals report."""
        import pandas as pd

        known = recordings.rows_with_data(self.name)
        for rows in measured:  # a recording that is replayed is among them
            known = known[~known["backbone"].isin(rows["backbone"])]
        kept = recordings.rows_with_data(f"{self.name}{KEPT}")
        parts = [tables.published(*self.published), *measured, known, kept]
        return pd.concat([part for part in parts if len(part)], ignore_index=True)


def primary(runs: Sequence[Results]) -> pd.DataFrame:
    """The protocol's comparison in each run: see `lab.runs.paired.primary`; nothing of no runs."""
    import pandas as pd

    if not runs:
        return pd.DataFrame()
    study = runs[0].of_study
    rows = paired.primary(runs, study.against, study.primary)
    data = {(run.backbone, dataset): run.setup.data_of(dataset) for run in runs for dataset in run.setup.datasets}
    return rows.assign(data=[data[row.backbone, row.dataset] for row in rows.itertuples()])
