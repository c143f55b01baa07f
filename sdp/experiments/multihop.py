"""SDP on multi-hop questions as experiments: HotpotQA (A.5) and MuSiQue (A.6), with the official EM and F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lab.models.backbone import Answer, Backbone, Ledger
from lab.models.prompts import Prompt
from lab.viewer.steps import Step
from sdp.adapters.multihop.adapter import MultiHopAdapter, Policy, beginning
from sdp.adapters.multihop.prompts import ANSWER, CONSISTENT, DECOMPOSE, EXTRACT, GUESS, QUERY, REPLAN, VERIFY
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings
from sdp.trajectory import Trajectory
from worlds.multihop import HotpotQAQuestions, MultiHopQuestions, MuSiQueQuestions
from worlds.multihop.metrics import judged, recall


@dataclass(frozen=True, kw_only=True)
class Setup(MultiHopQuestions, Certifying):
    """SDP on some questions; `HotpotQA` and `MuSiQue` have the paper's policy for each.

    redraw: whether Validate's verdict on the same claim is sampled again each time.
    """

    policy: Policy = Policy()
    redraw: bool = False
    settings: Settings = Settings(step_cap=20)  # A.5; the paper's budget was not recovered: the loop's default

    def operators(self) -> tuple[str, ...]:
        prompts = [DECOMPOSE, EXTRACT, VERIFY, ANSWER, REPLAN]
        prompts += [QUERY, GUESS] if self.setting == "open" else []
        prompts += [CONSISTENT] if self.policy.strict else []
        return tuple(dict.fromkeys(prompt.operator for prompt in prompts))

    def adapter(self, task: str, ledger: Ledger) -> MultiHopAdapter:
        backbone = Redrawing(ledger) if self.redraw else ledger
        return MultiHopAdapter(self.named(task), self.opened(), backbone, self.policy, self.single)

    def score(self, trajectory: Trajectory) -> float:
        """Exact match of the answer."""
        return self.result(trajectory)["em"]

    def result(self, trajectory: Trajectory) -> dict[str, Any]:
        """The answer, its EM and F1, whether it was forced, and the share of gold paragraphs shown, None if unknown."""
        question, answer = self._hidden(trajectory), answer_of(trajectory)
        match, beginnings = judged(answer, question), set(trajectory.views[-1]["paragraphs"])
        gold = [paragraph for paragraph in question.gold if beginning(paragraph) in beginnings]
        return {
            "score": match.em, "answer": answer, "em": match.em, "f1": match.f1,
            "forced": trajectory.forced is not None,
            "gold_seen": recall(gold, question.gold) if question.gold else None,
        }  # fmt: skip

    def expert_actions(self, task: str) -> int | None:
        """The number of gold paragraphs plus the answer; None if they are not annotated."""
        gold = self.world().hidden(self.named(task)).gold
        return len(gold) + 1 if gold else None

    def official(self, trajectory: Trajectory) -> tuple[str, Step]:
        """The official metric, with the right answer."""
        question, result = self._hidden(trajectory), self.result(trajectory)
        return question.task.goal, Step(
            title="the official metric on the answer", verdict=result["em"] == 1, observation=result["answer"],
            reason=f"F1 {result['f1']:.2f}; right is {question.answer}",
        )  # fmt: skip

    def _hidden(self, trajectory: Trajectory) -> Any:
        world = self.world()
        return world.hidden(world.named(trajectory.task))


@dataclass(frozen=True, kw_only=True)
class HotpotQA(HotpotQAQuestions, Setup):
    """A.5: two hops, at most 20 attempts."""

    method: ClassVar[str] = "sdp-hotpotqa"


@dataclass(frozen=True, kw_only=True)
class MuSiQue(MuSiQueQuestions, Setup):
    """A.6: the number of hops in the id, other queries after failed searches, stricter answers, at most 25 attempts."""

    policy: Policy = Policy(hops="id", strict=True, escalate=True)
    settings: Settings = Settings(step_cap=25)

    method: ClassVar[str] = "sdp-musique"


class Redrawing:
    """A backbone for one episode that gives a new sample whenever Validate repeats a prompt."""

    def __init__(self, backbone: Backbone) -> None:
        self.engine, self._backbone, self._asked = backbone.engine, backbone, Counter[str]()

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        if prompt.operator == VERIFY.operator:
            question = prompt.fill(**fields).model_dump_json()
            sample, self._asked[question] = self._asked[question], self._asked[question] + 1
        return self._backbone.ask(prompt, sample=sample, **fields)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return self._backbone.request(prompt, sample=sample, **fields)


def answer_of(trajectory: Trajectory) -> str:
    """The certified answer, else the forced one, else ""."""
    forced: Mapping[str, Any] = (trajectory.forced.action if trajectory.forced else None) or {}
    return trajectory.states[-1]["answer"] or forced.get("answer", "")
