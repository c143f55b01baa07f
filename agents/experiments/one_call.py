"""Agents that answer a question in one call, from the evidence they are given."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from agents.prompts import CHAIN_OF_THOUGHT, DIRECT
from agents.worlds import assistantbench, multihop
from lab.models.backbone import Ledger, cost_of
from lab.results.outcomes import Judgement
from lab.runs.experiment import Experiment
from lab.runs.run import Episode
from worlds.assistantbench import AssistantBenchQuestions
from worlds.multihop import HotpotQAQuestions, MultiHopQuestions, MuSiQueQuestions
from worlds.multihop.metrics import recall
from worlds.multihop.world import as_text

PROMPTS = {"direct": DIRECT, "chain of thought": CHAIN_OF_THOUGHT}


@dataclass(frozen=True, kw_only=True)
class OneCall(Experiment):
    """The answer in one call, or after a chain of thought in the same call (Wei et al. 2022), without examples."""

    agent: Literal["direct", "chain of thought"] = "direct"

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents")

    @abstractmethod
    def answered(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The answer and its official measures, including `score`."""

    def operators(self) -> tuple[str, ...]:
        return (DIRECT.operator,)

    def calls(self, task: str) -> dict[str, int]:
        return {DIRECT.operator: 1}

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The answer with its official measures, and its cost."""
        result = self.answered(task, ledger)
        cost = cost_of(ledger.calls)
        return {**result, "calls": cost.calls, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out}

    def ask(self, ledger: Ledger, question: str, form: str, evidence: str = "") -> str:
        """The answer, from the evidence if there is any. form: the required form of the answer, as text."""
        return ledger.ask(PROMPTS[self.agent], evidence=evidence, question=question, form=form).value.answer

    def judged(self, episode: Episode) -> Judgement:
        """By the benchmark's official metric."""
        return super().judged(episode) if episode.failed else Judgement(episode.result["score"])


@dataclass(frozen=True, kw_only=True)
class AssistantBench(AssistantBenchQuestions, OneCall):
    """Closed book: answers from what the model knows."""

    method: ClassVar[str] = "agents-assistantbench"

    def answered(self, task: str, ledger: Ledger) -> dict[str, Any]:
        return self.graded(task, self.ask(ledger, self.named(task).goal, assistantbench.FORM))


@dataclass(frozen=True, kw_only=True)
class MultiHop(MultiHopQuestions, OneCall):
    """evidence: "none" (closed book); "shown", all paragraphs of the distractor setting; or "gold", the annotated ones
    alone. No agent would be given these: "gold" measures the ceiling of a model that reads.
    """

    evidence: Literal["none", "shown", "gold"] = "shown"

    def answered(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Exact match and F1, and the share of gold paragraphs in the evidence, None if unknown."""
        world, query = self.opened(), self.named(task)
        gold = world.hidden(query).gold
        texts = {"none": (), "shown": tuple(world.reset(query).facts["paragraphs"]), "gold": tuple(gold)}[self.evidence]
        if self.evidence == "gold" and not gold:
            raise ValueError(f"the gold paragraphs of {task} are not annotated; choose another split or evidence")
        answer = self.ask(ledger, query.goal, multihop.FORM, as_text(texts))
        facts = world.step(f"answer {answer}").facts if answer.strip() else {"em": 0.0, "f1": 0.0}
        return {
            "score": facts["em"], "answer": answer, "em": facts["em"], "f1": facts["f1"],
            "gold_seen": recall(texts, gold) if gold else None,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class HotpotQA(HotpotQAQuestions, MultiHop):
    method: ClassVar[str] = "agents-hotpotqa"


@dataclass(frozen=True, kw_only=True)
class MuSiQue(MuSiQueQuestions, MultiHop):
    method: ClassVar[str] = "agents-musique"
