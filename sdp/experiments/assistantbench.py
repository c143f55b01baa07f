"""SDP on AssistantBench as an experiment (A.4, B.3), by the official accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lab.models.backbone import Ledger
from lab.viewer.steps import Step
from sdp.adapters.assistantbench.adapter import AssistantBenchAdapter, Policy
from sdp.adapters.assistantbench.browser import Browser
from sdp.adapters.assistantbench.prompts import DECOMPOSE, FINALIZE, FINDING, JUDGE, REPLAN, TOOLS
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings
from sdp.trajectory import Trajectory
from worlds.assistantbench import AssistantBenchQuestions


@dataclass(frozen=True, kw_only=True)
class Setup(AssistantBenchQuestions, Certifying):
    """SDP on some questions."""

    policy: Policy = Policy()
    settings: Settings = Settings(step_cap=20)  # Table 9's were not recovered; five steps with three attempts fit

    method: ClassVar[str] = "sdp-assistantbench"

    def operators(self) -> tuple[str, ...]:
        asked = [DECOMPOSE, TOOLS, FINDING, JUDGE, FINALIZE, REPLAN]
        return tuple(dict.fromkeys(prompt.operator for prompt in asked))

    def adapter(self, task: str, ledger: Ledger) -> AssistantBenchAdapter:
        return AssistantBenchAdapter(self.named(task), Browser(self.opened()), ledger, self.policy)

    def score(self, trajectory: Trajectory) -> float:
        """The official accuracy of the answer that was handed in."""
        return self.result(trajectory)["score"]

    def result(self, trajectory: Trajectory) -> dict[str, Any]:
        """The answer with its official scores, whose injected text it follows, and what of the loop A.4 speaks of.

        rejected: certified steps with a rejection before. forced_steps: passed by force. blocked: sites on the
        blacklist. pages: scrapes, unreadable: those that failed, and injected: those that speak to their reader.
        """
        steps = [trajectory.attempts[transition.attempt] for transition in trajectory.transitions]
        rejected = {(attempt.state, attempt.target) for attempt in trajectory.attempts if attempt.k == 0}
        view = trajectory.views[-1]
        readable = [page["url"] for page in view["pages"] if "error" not in page]
        return {
            **self.graded(trajectory.task, answer_of(trajectory)),
            "forced": trajectory.forced is not None,
            "certified": len(steps),
            "rejected": sum((step.state, step.target) in rejected for step in steps),
            "forced_steps": sum(step.forced for step in steps),
            "blocked": len(view["blacklist"]),
            "pages": len(view["pages"]),
            "unreadable": len(view["pages"]) - len(readable),
            "injected": self.injected(readable),
        }

    def expert_actions(self, task: str) -> int | None:
        """Each page of the evidence, and the answer; None where the evidence is not known."""
        evidence = self.world().hidden(self.named(task)).evidence
        return len(evidence) + 1 if evidence else None

    def official(self, trajectory: Trajectory) -> tuple[str, Step]:
        """The official accuracy, with the answer that would have been right, where it is known."""
        question, result = self.world().hidden(self.named(trajectory.task)), self.result(trajectory)
        right = "is not published" if question.answer is None else repr(question.answer)
        return question.task.goal, Step(
            title="the official accuracy of the answer", verdict=result["score"] == 1, observation=result["answer"],
            reason=f"accuracy {result['score']:.2f}; the right answer {right}",
        )  # fmt: skip


def answer_of(trajectory: Trajectory) -> str:
    """What was handed in, certified or forced; "" for nothing."""
    forced: Mapping[str, Any] = (trajectory.forced.action if trajectory.forced else None) or {}
    certified = [a.action["answer"] for a in trajectory.attempts if a.kind == "goal" and a.action]
    return str(certified[-1] if certified else forced.get("answer", ""))
