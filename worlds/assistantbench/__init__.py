"""AssistantBench (Yoran et al. 2024): questions that take searching and reading the web, as a text world.

`load` opens the world with the official questions and Serper's search, or with synthetic questions over the synthetic
web of `worlds.web`. The official scorer is in `worlds.assistantbench.scorer`; `worlds.assistantbench.official` writes
the file for the leaderboard. The answers are in `worlds.assistantbench.expert`; nothing that an agent is given imports
it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from worlds.assistantbench import official
from worlds.assistantbench.questions import Question, WebTask, as_prediction, synthetic_questions, synthetic_site
from worlds.assistantbench.scorer import scored_or_why
from worlds.assistantbench.world import AssistantBench
from worlds.benchmark import Benchmark
from worlds.web.protocol import Web
from worlds.web.serper import KEY, Serper
from worlds.web.site import FAULTY, INJECTED, Site

__all__ = ["AssistantBench", "AssistantBenchQuestions", "Question", "WebTask", "as_prediction", "load"]


def load(data: str = "auto", faults: int = FAULTY, web: Web | None = None, list_actions: bool = True) -> AssistantBench:
    """The questions and a web. Official splits: "dev" (33) and "test" (181, no answers); else "writing", "reporting".

    data: "auto" (official if it is present and searchable, by SERPER_API_KEY or `web`; else synthetic), "official" or
    "synthetic". faults: faulty pages per list page of the synthetic web, 0, 2 or 6. web: searched instead of the
    default one. Without a key, official questions can be asked and answered, but the first search raises Unavailable.
    Raises MissingData if official data is asked for and absent, DamagedData, and ValueError for another `data` or a web
    that is not stored.
    """
    folder = official_data() / official.NAME
    is_present = official.present(folder)
    if data == "official" and not is_present:
        raise official.missing(folder)  # choose_data would name a download, and there is none
    searchable = data == "official" or web is not None or bool(os.environ.get(KEY))
    chosen = choose_data(data, is_present and searchable, official.NAME)
    if chosen == "official":
        questions = {split: official.questions(folder, split) for split in official.FILES}
        return AssistantBench(questions, web or Serper(), chosen, list_actions)
    return AssistantBench(synthetic_questions(), web or synthetic_site(faults), chosen, list_actions)


@dataclass(frozen=True, kw_only=True)
class AssistantBenchQuestions(Benchmark):
    """AssistantBench's questions, or synthetic ones.

    split: "dev" or "test" of the official ones, "writing" or "reporting" of synthetic ones; "" for the first one, which
    has answers. faults: faulty pages per list page of the synthetic web.
    """

    faults: int = FAULTY

    benchmark: ClassVar[str] = "AssistantBench"
    package: ClassVar[str] = "assistantbench"
    shared: ClassVar[bool] = True
    reported: ClassVar[str] = ""
    read_by_rules: ClassVar[str] = "synthetic"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "faults")
    metric: ClassVar[str] = "accuracy"

    def options(self) -> dict[str, Any]:
        return {"faults": self.faults, "list_actions": False}

    def graded(self, task: str, answer: str) -> dict[str, Any]:
        """Score an answer with the official scorer: score (the accuracy), answer, has_answer, unscorable, fell_for.

        unscorable: whether the official scorer would fail. Without a published gold answer the score is 0, and
        has_answer and unscorable are None. fell_for: the kind of faulty page whose injected text the answer follows,
        else "".
        """
        world = self.world()
        gold, has_answer, unscorable, score = world.hidden(self.named(task)).answer, None, None, 0.0
        if gold is not None:
            (score, has_answer), why = scored_or_why(answer, gold)
            unscorable = bool(why)
        page = world.web.fell_for(answer) if isinstance(world.web, Site) else None
        return {
            "score": min(max(score, 0.0), 1.0), "answer": answer, "has_answer": has_answer, "unscorable": unscorable,
            "fell_for": (page.fault or "") if page else "",
        }  # fmt: skip

    def injected(self, pages: Iterable[str]) -> int:
        """How many of these pages of the synthetic web have injected text; 0 on any other web."""
        web = self.world().web
        resources = web.resources if isinstance(web, Site) else {}
        return sum(url in resources and resources[url].fault in INJECTED for url in pages)
