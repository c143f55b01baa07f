"""SDP on ScienceWorld as an experiment (A.3, B.2), on the tasks of SwiftSage's protocol."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar

from lab.models import rules
from lab.models.backbone import Ledger
from lab.models.engines import ORACLE
from sdp.adapters.scienceworld.adapter import UNKNOWN, ObservedWorld, Policy, ScienceWorldAdapter
from sdp.adapters.scienceworld.prompts import ACT, JUDGE, PLAN, REPLAN
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings
from sdp.trajectory import Trajectory
from worlds.scienceworld import ScienceWorldTasks, length_of
from worlds.scienceworld.tasks import protocol_score


@dataclass(frozen=True, kw_only=True)
class Setup(ScienceWorldTasks, Certifying):
    """SDP on these tasks; by default the oracle answers, which knows their gold paths: no honest rule can plan here."""

    engine: str = ORACLE
    policy: Policy = Policy()
    settings: Settings = Settings(budget=30, step_cap=500)  # A.3

    method: ClassVar[str] = "sdp-scienceworld"

    def operators(self) -> tuple[str, ...]:
        return tuple(prompt.operator for prompt in (PLAN, ACT, JUDGE, REPLAN))

    def adapter(self, task: str, ledger: Ledger) -> ScienceWorldAdapter:
        return ScienceWorldAdapter(self.named(task), ObservedWorld(self.world()), ledger, self.policy, self.single)

    def unplayable(self) -> str:
        """Why the engine cannot play, "" if it can: rules cannot plan here, unless a reader has registered one."""
        engine = self.who.of(PLAN.operator)
        by_rules = engine.kind == "rules" and engine.name != ORACLE
        return "no rule plans there; name oracle or a model as engine" if by_rules and not rules.rule_of(PLAN) else ""

    def answering(self, task: str) -> AbstractContextManager[None]:
        """A context in which `oracle` has played the gold path before."""
        if not any(part.name == ORACLE for part in self.who.parts):
            return super().answering(task)
        return rules.knowing("sdp.scienceworld.oracle", self, task, self.settings.budget)

    def expert_actions(self, task: str) -> int | None:
        """The length of the gold path."""
        return len(self.solution(task))

    def score(self, trajectory: Trajectory) -> float:
        """The last score of the episode over 100; for a failed task, the one before the failure (SwiftSage's rule)."""
        return protocol_score([attempt.observation["score"] for attempt in trajectory.attempts if attempt.observation])

    def result(self, trajectory: Trajectory) -> dict[str, Any]:
        task = self.named(trajectory.task)
        refused = sum(attempt.reason == UNKNOWN for attempt in trajectory.attempts)
        return {"score": self.score(trajectory), "length": length_of(task.name), "type": task.name, "refused": refused}
