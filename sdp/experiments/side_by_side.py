"""SDP in a contest with other methods and with its own placebo, which rejects as often as SDP's Validate does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from lab.runs import contest
from sdp.placebo import rejected
from sdp.trajectory import Trajectory

SDP, PLACEBO = "SDP", "SDP's placebo"
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
    """All methods of a contest. Its `rejects` is the share of attempts that the placebo rejects; where none is stated,
    SDP is played first, and the share is the one that its own Validate rejects.
    """
    resolved = setup.resolved()
    if PLACEBO in resolved.methods and not resolved.rejects:
        alone = replace(setup, methods=(SDP,))
        engines = {operator: engine for operator, engine in setup.engines.items() if operator in alone.operators()}
        setup = replace(setup, rejects=rejected(collect(replace(alone, engines=engines)).trajectories(SDP)))
    return collect(setup)
