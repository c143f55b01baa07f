"""AssistantBench as experiments: which questions, for any method; and answers in one call, without any search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Self

from agents import noise, rules  # noqa: F401  (registers what answers offline)
from agents.direct import direct
from agents.prompts import DIRECT
from agents.worlds.assistantbench import FORM
from lab.models.backbone import Ledger
from lab.models.engines import parse
from lab.models.usage import cost_of
from lab.results.outcomes import Judged
from lab.runs.experiment import Experiment, spread
from lab.runs.run import Episode
from worlds.assistantbench import AssistantBench, WebTask, load
from worlds.assistantbench.scorer import Unscorable, question_scorer
from worlds.base import task_of
from worlds.web.faults import INJECTED
from worlds.web.local import LocalWeb
from worlds.web.site import FAULTY


@dataclass(frozen=True, kw_only=True)
class Questions(Experiment):
    """Some questions, by the official accuracy.

    split: "dev" or "test" of the official ones, "writing" or "reporting" of synthetic ones; "" for the first with
    answers. faults: faulty pages beside each list of the synthetic web.
    """

    split: str = ""
    faults: int = FAULTY

    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "split", "faults")
    metric: ClassVar[str] = "accuracy"

    def decided(self) -> Self:
        """With `data` and `split` decided. Rules read the synthetic web alone, and "auto" means that for them."""
        read = "synthetic" if self.data == "auto" and parse(self.engine).needs_rules else self.data
        world = replace(self, data=read).world()
        return replace(self, data=world.data, split=self.split or world.splits[0])

    def world(self) -> AssistantBench:
        """The questions and the web; shared by all episodes of a process."""
        return _world(self.data, self.seed, self.faults)

    def task(self, id: str) -> WebTask:
        return task_of(self.world().tasks(self.split or self.world().splits[0]), id)

    def tasks(self) -> list[str]:
        """Ids of the questions, sorted. Raises ValueError for a split that there is not."""
        known = self.world().tasks(self.split or self.world().splits[0])
        return spread(sorted(task.id for task in known), self.limit)


def graded(questions: Questions, task: str, answer: str) -> dict[str, Any]:
    """An answer by the official scorer: score (the accuracy), has_answer, and whether the scorer would fail.

    A gold answer that is not published gives a score of 0 and None for both others. fell_for: the kind of the faulty
    page of the synthetic web whose injected text the answer follows, "" for any other answer.
    """
    world = questions.world()
    gold, has_answer, unscorable, score = world.hidden(questions.task(task)).answer, None, None, 0.0
    if gold is not None:
        try:
            (score, has_answer), unscorable = question_scorer(answer, gold), False
        except Unscorable:
            has_answer, unscorable = 1.0, True
    page = world.web.site.fell_for(answer) if isinstance(world.web, LocalWeb) else None
    return {
        "score": min(max(score, 0.0), 1.0), "answer": answer, "has_answer": has_answer, "unscorable": unscorable,
        "fell_for": (page.fault or "") if page else "",
    }  # fmt: skip


def injected(questions: Questions, pages: Iterable[str]) -> int:
    """How many of these pages of the synthetic web carry text that speaks to their reader; 0 on any other web."""
    web = questions.world().web
    known = web.site.resources if isinstance(web, LocalWeb) else {}
    return sum(url in known and known[url].fault in INJECTED for url in pages)


@dataclass(frozen=True, kw_only=True)
class Setup(Questions):
    """An agent that answers in one call, from what it knows: a closed book."""

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents")
    method: ClassVar[str] = "agents-assistantbench"

    def operators(self) -> tuple[str, ...]:
        return (DIRECT.operator,)

    def calls(self, task: str) -> dict[str, int]:
        return {DIRECT.operator: 1}

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The answer with its official scores, and its cost."""
        answer = direct(ledger, self.task(task).goal, FORM)
        cost = cost_of(ledger.calls)
        return {
            **graded(self, task, answer),
            "calls": cost.calls, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out,
        }  # fmt: skip

    def judged(self, episode: Episode) -> Judged:
        """The official accuracy of the answer."""
        return super().judged(episode) if episode.failed else Judged(episode.result["score"])


@cache
def _world(data: str, seed: int, faults: int) -> AssistantBench:
    return load(data, seed, faults=faults, list_actions=False)
