"""Acting agents on AssistantBench: the questions, the web and the cap of steps that SDP has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agents.experiments.acting import Acting
from agents.experiments.assistantbench import Questions, graded, injected
from agents.history import History
from agents.worlds.assistantbench import Browsing
from lab.models.backbone import Ledger
from lab.models.engines import ORACLE
from lab.runs.experiment import NOT_TOLD
from worlds.assistantbench.expert import Expert


@dataclass(frozen=True, kw_only=True)
class Setup(Questions, Acting):
    """An agent that searches, reads and answers, in at most 20 steps.

    No honest rule reads pages one by one: offline the engine `oracle`, which knows the evidence and the answer.
    """

    engine: str = ORACLE
    constant: str = field(default="answer yes", metadata=NOT_TOLD)

    method: ClassVar[str] = "acting-assistantbench"
    benchmark: ClassVar[str] = "AssistantBench"

    def environment(self, task: str) -> Browsing:
        return Browsing(self.world().apart(), self.task(task))

    def solution(self, task: str) -> list[str]:
        return Expert(self.world()).actions(self.task(task))

    def episode(
        self, task: str, ledger: Ledger, watch: Callable[[History], None] = lambda history: None
    ) -> tuple[History, dict[str, Any]]:
        """As of every acting agent, with all that the official scorer says of the answer."""
        history, result = super().episode(task, ledger, watch)
        about = {"injected": injected(self, result["read"])}
        return history, result | graded(self, task, result["answer"]) | about
