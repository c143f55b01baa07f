"""Acting agents on multi-hop questions: the questions, the search and the cap of steps that SDP has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from agents import noise, rules  # noqa: F401  (registers what answers offline)
from agents.experiments.acting import Acting
from agents.experiments.multihop import Questions
from agents.play import Settings
from agents.worlds.multihop import Asking
from lab.runs.experiment import NOT_TOLD


@dataclass(frozen=True, kw_only=True)
class Setup(Questions, Acting):
    """An agent that searches and answers; in the distractor setting, a question's own paragraphs are searched."""

    constant: str = field(default="finish[yes]", metadata=NOT_TOLD)

    searched: ClassVar[bool] = True
    ruled: ClassVar[tuple[str, ...]] = ("synthetic", "official")  # on real questions both SDP's rules and these give up

    def environment(self, task: str) -> Asking:
        return Asking(self.world().apart(), self.world().named(task))

    def solution(self, task: str) -> list[str]:
        """A search for each gold paragraph by its title, and the answer."""
        question = self.world().hidden(self.world().named(task))
        return [*(f"search[{paragraph.title}]" for paragraph in question.gold), f"finish[{question.answer}]"]


@dataclass(frozen=True, kw_only=True)
class HotpotQA(Setup):
    """HotpotQA, in at most 20 steps as SDP (A.5)."""

    dataset: ClassVar[str] = "hotpotqa"
    method: ClassVar[str] = "acting-hotpotqa"
    benchmark: ClassVar[str] = "HotpotQA"


@dataclass(frozen=True, kw_only=True)
class MuSiQue(Setup):
    """MuSiQue, in at most 25 steps as SDP (A.6)."""

    settings: Settings = Settings(steps=25)

    dataset: ClassVar[str] = "musique"
    method: ClassVar[str] = "acting-musique"
    benchmark: ClassVar[str] = "MuSiQue"
