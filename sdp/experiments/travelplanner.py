"""SDP on TravelPlanner as an experiment: queries, loop, policy, and the results with their official verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from lab.models.backbone import Ledger
from lab.results.outcomes import Judgement
from lab.runs.run import Episode
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline
from sdp.adapters.travelplanner.adapter import Policy, TravelPlannerAdapter
from sdp.adapters.travelplanner.prompts import CITIES, SELECT
from sdp.adapters.travelplanner.trip import facts, itinerary, named, state_from_json
from sdp.experiments import certifying
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings
from sdp.timeline import timeline
from sdp.trajectory import Trajectory
from worlds.travelplanner import (
    PlanVerdict,
    Rates,
    TravelPlannerQueries,
    TripTask,
    evaluate,
    first_failure,
    rates,
    strict_faults,
)
from worlds.travelplanner.evaluator import Denominators


@dataclass(frozen=True, kw_only=True)
class Setup(TravelPlannerQueries, Certifying):
    """SDP on some of TravelPlanner's queries. A stored trajectory has about 60 KB."""

    policy: Policy = Policy()

    method: ClassVar[str] = "sdp-travelplanner"

    @property
    def results(self) -> type[Results]:
        return Results

    def operators(self) -> tuple[str, ...]:
        """Validate and Replan are programs on TravelPlanner (A.2), and so is Propose if the cities are given."""
        return (CITIES.operator, SELECT.operator) if self.policy.cities == "propose" else (SELECT.operator,)

    def adapter(self, task: str, ledger: Ledger) -> TravelPlannerAdapter:
        """Raises KeyError for an unknown task."""
        # Each episode has its own world: episodes in parallel only share the listings.
        return TravelPlannerAdapter(self.named(task), self.opened(), ledger, self.policy)

    def result(self, trajectory: Trajectory) -> dict[str, Any]:
        """The delivered plan; the evaluator scores it later."""
        return {"plan": self.plan(trajectory)}

    def score(self, trajectory: Trajectory) -> float:
        """Whether the delivered plan passes."""
        return float(self.verdict(trajectory.task, self.plan(trajectory)).final)

    def full(self) -> Setup:
        """This setup with all mechanisms of Algorithm 1 switched on, and the same policy."""
        return replace(self, settings=Settings())

    def judged(self, episode: Episode) -> Judgement:
        """The official evaluator's verdict on the delivered plan."""
        if episode.failed:
            return super().judged(episode)
        verdict = self.verdict(episode.task, episode.result["plan"])
        return Judgement(float(verdict.final), first_failure(verdict))

    def steps(self, trajectory: Trajectory, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The trajectory as a timeline, with the itinerary as facts."""
        return timeline(trajectory, exchanges, facts, named)

    def official(self, trajectory: Trajectory) -> tuple[str, Step]:
        """The evaluator's verdict on the plan."""
        plan = self.plan(trajectory)
        verdict = self.verdict(trajectory.task, plan)
        failures = "; ".join(f"{name}: {reason}" for name, reason in verdict.failures.items())
        step = Step(title="the evaluator on the plan", verdict=verdict.final, reason=failures, observation=plan)
        return self.named(trajectory.task).goal, step

    def plan(self, trajectory: Trajectory) -> list[dict[str, Any]]:
        """The itinerary of the last certified state, in the benchmark's submission format."""
        return itinerary(state_from_json(self.named(trajectory.task), trajectory.states[-1]))


@dataclass(frozen=True)
class Results(certifying.Results[Setup]):
    """The episodes of a run in the order of its tasks, with the official verdicts on their plans."""

    @cached_property
    def tasks(self) -> list[TripTask]:
        """The queries of the episodes that count."""
        return [self.setup.named(task) for task in self.episodes]

    @cached_property
    def plans(self) -> list[Any]:
        """The delivered plans; None for a failed episode."""
        return [None if episode.failed else episode.result["plan"] for episode in self.episodes.values()]

    @cached_property
    def verdicts(self) -> list[PlanVerdict]:
        """The official verdict on each plan."""
        listings = self.setup.world().listings
        return [evaluate(task, plan, listings) for task, plan in zip(self.tasks, self.plans, strict=True)]

    @property
    def honest(self) -> list[bool]:
        """Per episode, whether the plan passes and also has no fault of `strict_faults`."""
        listings = self.setup.world().listings
        judged = zip(self.tasks, self.plans, self.verdicts, strict=True)
        return [verdict.final and not strict_faults(task, plan, listings) for task, plan, verdict in judged]

    def rates(self, denominators: Denominators = "stated") -> Rates:
        """The six rates over these tasks, or over the official fixed denominators."""
        return rates(self.verdicts, self.tasks, denominators)
