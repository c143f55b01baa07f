"""AssistantBench as a benchmark, by the official accuracy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from worlds.assistantbench import AssistantBench, load
from worlds.assistantbench.scorer import Unscorable, question_scorer
from worlds.benchmark import Benchmark
from worlds.web.faults import INJECTED
from worlds.web.local import LocalWeb
from worlds.web.site import FAULTY


@dataclass(frozen=True, kw_only=True)
class AssistantBenchQuestions(Benchmark):
    """Some questions.

    split: "dev" or "test" of the official ones, "writing" or "reporting" of synthetic ones; "" for the first with
    answers. faults: faulty pages beside each list of the synthetic web.
    """

    faults: int = FAULTY

    benchmark: ClassVar[str] = "AssistantBench"
    package: ClassVar[str] = "assistantbench"
    reported: ClassVar[str] = ""
    read_by_rules: ClassVar[str] = "synthetic"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "faults")
    metric: ClassVar[str] = "accuracy"

    def options(self) -> dict[str, Any]:
        return {"faults": self.faults}

    def world(self) -> AssistantBench:
        """The questions and the web; shared by all episodes of a process."""
        return _world(self.data, self.faults)

    def opened(self) -> AssistantBench:
        return self.world().apart()

    def graded(self, task: str, answer: str) -> dict[str, Any]:
        """An answer by the official scorer: score (the accuracy), has_answer, and whether the scorer would fail.

        A gold answer that is not published gives a score of 0 and None for both others. fell_for: the kind of the
        faulty page of the synthetic web whose injected text the answer follows, "" for any other answer.
        """
        world = self.world()
        gold, has_answer, unscorable, score = world.hidden(self.named(task)).answer, None, None, 0.0
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

    def injected(self, pages: Iterable[str]) -> int:
        """How many of these pages of the synthetic web carry text that speaks to their reader; 0 on any other web."""
        web = self.world().web
        known = web.site.resources if isinstance(web, LocalWeb) else {}
        return sum(url in known and known[url].fault in INJECTED for url in pages)


@cache
def _world(data: str, faults: int) -> AssistantBench:
    return load(data, faults, list_actions=False)
