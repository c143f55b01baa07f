"""SDP in a contest with other methods and with its own controls, which reject as often as SDP's Validate does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lab.runs import contest, recordings
from sdp.placebo import rejected
from sdp.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd

SDP, PLACEBO, BLANKED = "SDP", "SDP, placebo", "SDP, target's sentence blanked"
RECORDED_AS = {"SDP's placebo": BLANKED}  # recordings of before there was a placebo without any content
C = TypeVar("C", bound=contest.Contest)


@dataclass(frozen=True)
class Results(contest.Results[C], Generic[C]):
    """The episodes of a run, by dataset and method."""

    def played(self, method: str) -> list[dict[str, Any]]:
        """What the episodes of a method came to, on all datasets, but for those that failed."""
        episodes = (one for dataset in self.setup.datasets for one in self.of(dataset, method).values())
        return [one.result for one in episodes if not one.failed]

    def trajectories(self, method: str) -> list[Trajectory]:
        """Of a variant of SDP; episodes that failed have none."""
        return [Trajectory.from_json(one["trajectory"]) for one in self.played(method)]


R = TypeVar("R", bound=Results[Any])


def with_placebo(setup: Any, collect: Callable[[Any], R]) -> R:
    """All methods of a contest. Its `rejects` is the share of attempts that SDP's controls reject; where none is
    stated, SDP is played first, and the share is the one that its own Validate rejects.
    """
    resolved = setup.resolved()
    if {PLACEBO, BLANKED} & {*resolved.methods} and not resolved.rejects:
        alone = replace(setup, methods=(SDP,))
        engines = {operator: engine for operator, engine in setup.engines.items() if operator in alone.operators()}
        setup = replace(setup, rejects=rejected(collect(replace(alone, engines=engines)).trajectories(SDP)))
    return collect(setup)


def comparisons(results: Results[Any]) -> pd.DataFrame:
    """Each method less SDP on the same tasks, in points: see `lab.runs.contest.comparisons`."""
    return contest.comparisons(results, SDP).assign(data=results.setup.data)


def named(methods: Iterable[str]) -> list[str]:
    """Methods as they are called here, of a recording that called some otherwise; what stands behind a name stays."""
    return [
        next((new + name.removeprefix(old) for old, new in RECORDED_AS.items() if name.startswith(old)), name)
        for name in methods
    ]


def recorded(method: str) -> pd.DataFrame:
    """The rows of every recording of a run method, under the names that methods have here, with the data it was of."""
    rows, known = recordings.rows(method), recordings.manifests()
    data = {name: about.parameters.get("data", "") for name, about in known.items()}
    made_by = rows["source"].str.extract(r"^recording ([^,]+),", expand=False)
    return rows.assign(method=named(rows["method"]), data=made_by.map(data))
