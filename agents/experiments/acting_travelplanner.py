"""Acting agents on TravelPlanner: the queries, the desk and the cap of steps that SDP has."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from agents import noise, rules_travelplanner  # noqa: F401  (registers what answers offline)
from agents.experiments.acting import Acting
from agents.experiments.travelplanner import Queries, first_failure
from agents.play import Settings
from agents.worlds.travelplanner import Planning, delivered
from lab.models.engines import ORACLE
from lab.results.outcomes import Judged
from lab.runs.experiment import NOT_TOLD
from lab.runs.run import Episode
from worlds.travelplanner import TripTask
from worlds.travelplanner.expert import solve
from worlds.travelplanner.itinerary import days_read
from worlds.travelplanner.listings import SELF_DRIVING
from worlds.travelplanner.world import blank_draft


@dataclass(frozen=True, kw_only=True)
class Setup(Queries, Acting):
    """An agent that searches and hands in a plan, in at most 100 steps as SDP.

    cities: "reference", told as SDP is by default (privileged), or "propose", chosen by the agent.
    Rules read the words of synthetic queries, where the cities are told; the engine `oracle` knows the cheapest honest
    plan.
    """

    engine: str = ORACLE
    cities: Literal["reference", "propose"] = "reference"
    settings: Settings = Settings(steps=100)
    constant: str = field(default="Submit[[]]", metadata=NOT_TOLD)

    method: ClassVar[str] = "acting-travelplanner"
    benchmark: ClassVar[str] = "TravelPlanner"
    ruled: ClassVar[tuple[str, ...]] = ("synthetic",)

    def environment(self, task: str) -> Planning:
        query = self.named(task)
        return Planning(self.world().apart(), query, query.ref_cities if self.cities == "reference" else ())

    def solution(self, task: str) -> list[str]:
        """The searches that a plan takes, and the cheapest honest plan; a blank one where there is none."""
        query = self.named(task)
        found = solve(query, self.world().listings, query.ref_cities).plan if query.ref_cities else None
        plan = found or blank_draft(query)
        return [*searches(query, plan), f"Submit[{json.dumps(plan)}]"]

    def judged(self, episode: Episode) -> Judged:
        """The official evaluator's word on the plan, beside how the episode ended."""
        judged = super().judged(episode)
        if episode.failed or judged.score == 1:
            return judged
        failure = first_failure(self.verdict(episode.task, delivered(episode.result)))
        return Judged(judged.score, f"{judged.reason}; {failure}")


def searches(query: TripTask, plan: Sequence[Any]) -> Iterator[str]:
    """What is to be looked up for a plan: its ways on their days, and what there is in each city."""
    for day in days_read(plan, query.days):
        if day.travels:
            org, dest = day.cities
            yield f"GoogleDistanceMatrix[{org}, {dest}, {SELF_DRIVING}]"
            yield f"FlightSearch[{org}, {dest}, {query.dates[day.number - 1]}]"
    for city in query.ref_cities:
        yield from (f"{kind}Search[{city}]" for kind in ("Accommodation", "Restaurant", "Attraction"))
