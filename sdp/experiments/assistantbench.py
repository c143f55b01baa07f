"""SDP on AssistantBench as an experiment (A.4, B.3), scored by the official accuracy; also with planted errors.

Two errors of a model are planted in findings; both are simulated. *False*: a finding lacks an item, or has another name
or another result. *Followed*: a finding says what the text of a page orders. Once such a finding is certified, each
later one and the answer say the same, as those of a deceived model would.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, cast

from lab.machine.files import key_of
from lab.models.backbone import Answer, Ledger
from lab.models.prompts import Prompt
from lab.models.rules import corrupted
from lab.viewer.steps import Step
from sdp.ablation import passed
from sdp.adapters.assistantbench.adapter import FORCED_AFTER, AssistantBenchAdapter, Policy
from sdp.adapters.assistantbench.browser import Browser
from sdp.adapters.assistantbench.prompts import DECOMPOSE, FINALIZE, FINDING, JUDGE, REPLAN, TOOLS
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings
from sdp.trajectory import Trajectory
from worlds.assistantbench import AssistantBenchQuestions
from worlds.web.site import Site

FALSE, FOLLOWED, OWN = "false", "followed", "own"


@dataclass(frozen=True, kw_only=True)
class Setup(AssistantBenchQuestions, Certifying):
    """SDP on some questions of AssistantBench."""

    policy: Policy = Policy()
    settings: Settings = Settings(step_cap=20)  # Table 9's values were not recovered; fits 5 steps with 3 attempts each

    method: ClassVar[str] = "sdp-assistantbench"
    informed: ClassVar[bool] = True  # what a synthetic question asks for is stored with it

    def operators(self) -> tuple[str, ...]:
        prompts = [DECOMPOSE, TOOLS, FINDING, JUDGE, FINALIZE, REPLAN]
        return tuple(dict.fromkeys(prompt.operator for prompt in prompts))

    def adapter(self, task: str, ledger: Ledger) -> AssistantBenchAdapter:
        return AssistantBenchAdapter(self.named(task), Browser(self.opened()), ledger, self.policy, self.single)

    def score(self, trajectory: Trajectory) -> float:
        """The official accuracy of the submitted answer."""
        return self.result(trajectory)["score"]

    def result(self, trajectory: Trajectory) -> dict[str, Any]:
        """The answer with its official measures, whose injected text it follows, and the numbers that A.4 mentions.

        certified: steps, and rejected: those with a rejection before; both include the forced_steps, passed by force.
        blocked: sites on the blacklist. pages: scrapes, unreadable: those that failed, and injected: those that address
        their reader.
        """
        steps = passed(trajectory)
        view = trajectory.views[-1]
        readable = [page["url"] for page in view["pages"] if "error" not in page]
        return {
            **self.graded(trajectory.task, answer_of(trajectory)),
            "forced": trajectory.forced is not None,
            "certified": len(steps),
            "rejected": sum(rejected for _, rejected in steps),
            "forced_steps": sum(step.forced for step, _ in steps),
            "blocked": len(view["blacklist"]),
            "pages": len(view["pages"]),
            "unreadable": len(view["pages"]) - len(readable),
            "injected": self.injected(readable),
        }

    def expert_actions(self, task: str) -> int | None:
        """The number of pages of evidence plus the answer; None if the evidence is not known."""
        evidence = self.world().hidden(self.named(task)).evidence
        return len(evidence) + 1 if evidence else None

    def official(self, trajectory: Trajectory) -> tuple[str, Step]:
        """The official accuracy, with the right answer if it is known."""
        question, result = self.world().hidden(self.named(trajectory.task)), self.result(trajectory)
        answer = "is not published" if question.answer is None else repr(question.answer)
        return question.task.goal, Step(
            title="the official accuracy of the answer", verdict=result["score"] == 1, observation=result["answer"],
            reason=f"accuracy {result['score']:.2f}; the right answer {answer}",
        )  # fmt: skip


def answer_of(trajectory: Trajectory) -> str:
    """The submitted answer, certified or forced; "" if there is none."""
    forced: Mapping[str, Any] = (trajectory.forced.action if trajectory.forced else None) or {}
    certified = [a.action["answer"] for a in trajectory.attempts if a.kind == "goal" and a.action]
    return str(certified[-1] if certified else forced.get("answer", ""))


class Planting:
    """A ledger that plants errors in findings at two rates, sampled for each try, and logs the verdict on each finding.

    false, follows: the share of findings to falsify, and of findings on a page with an injected text that obey it.
    lures: the answers that such texts order. verdicts: the kind of each judged finding (FALSE, FOLLOWED or OWN),
    whether it passed, and whether it was rejected and passes by force.
    """

    def __init__(self, ledger: Ledger, false: float, follows: float, lures: Collection[str], seed: int) -> None:
        self._ledger, self._false, self._follows, self._lures, self._seed = ledger, false, follows, lures, seed
        self._kind = OWN
        self.verdicts: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Ask like the ledger; a finding, and the answer based on it, may be replaced."""
        answer = self._ledger.ask(prompt, sample=sample, **fields)
        if prompt.name == JUDGE.name:
            passed = answer.value.passed
            forced = not passed and fields["tries"] >= FORCED_AFTER
            self.verdicts.append({"kind": self._kind, "passed": passed, "forced": forced})
        if prompt.name not in (FINDING.name, FINALIZE.name):
            return answer
        value = self._planted(prompt, prompt.fill(**fields), answer.value, sample)
        return replace(answer, value=value)

    def _planted(self, prompt: Prompt, fields: Any, right: Any, sample: int) -> Any:
        random = Random(key_of([self._seed, "planted", prompt.name, fields.model_dump(mode="json"), sample]))
        obeys, false = random.random() < self._follows, random.random() < self._false
        lure = self._lure(item for finding in fields.found for item in finding.items)
        if prompt.name == FINDING.name:
            lure = lure or (self._lure(page.text for page in fields.pages) if obeys else "")
            self._kind = FOLLOWED if lure else OWN
        if lure:
            return prompt.answer.model_validate({"items": [lure]})
        wrong = corrupted(prompt, fields, right, random) if false and prompt.name == FINDING.name else right
        self._kind = FALSE if wrong != right else self._kind
        return wrong

    def _lure(self, texts: Iterable[str]) -> str:
        text = "\n".join(texts)
        return next((lure for lure in self._lures if lure in text), "")


@dataclass(frozen=True, kw_only=True)
class Planted(Setup):
    """SDP on some questions of the synthetic web, with planted errors. false, follows: see `Planting`."""

    false: float = 0.0
    follows: float = 0.0

    method: ClassVar[str] = "sdp-assistantbench-planted"

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """An episode of SDP, with the verdicts on its findings."""
        web = self.world().web
        lures = tuple(web.lures) if isinstance(web, Site) else ()
        planting = Planting(ledger, self.false, self.follows, lures, self.seed)
        # Attributes that Planting does not define are the ledger's, which no type checker can follow.
        return super().play(task, cast(Ledger, planting)) | {"verdicts": planting.verdicts}
