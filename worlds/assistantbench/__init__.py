"""AssistantBench (Yoran et al. 2024): questions that take searching and reading the web, as a text world.

`load` gives the world, with the official questions and Serper's search, or with synthetic questions over the synthetic
web of `worlds.web`. The official scorer is in `worlds.assistantbench.scorer`, the file for the leaderboard in
`worlds.assistantbench.submission`. The answers are in `worlds.assistantbench.expert`, which nothing that an agent is
given imports.
"""

from __future__ import annotations

import os

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from worlds.assistantbench import official
from worlds.assistantbench.questions import Question, WebTask, as_prediction
from worlds.assistantbench.synthetic import synthetic_questions, synthetic_site
from worlds.assistantbench.world import AssistantBench
from worlds.web.local import LocalWeb
from worlds.web.protocol import Web
from worlds.web.serper import KEY, Serper
from worlds.web.site import FAULTY

SLOW_WAIT = 0.2  # seconds; see LocalWeb

__all__ = ["AssistantBench", "Question", "WebTask", "as_prediction", "load"]


def load(data: str = "auto", faults: int = FAULTY, web: Web | None = None, list_actions: bool = True) -> AssistantBench:
    """The questions and a web: splits "dev" (33) and "test" (181, without answers), or "writing" and "reporting".

    data: "auto" (official where it is present and can be searched for, with SERPER_API_KEY or a `web`; else synthetic),
    "official" or "synthetic". faults: faulty pages beside each list page of the synthetic web, 0, 2 or 6. web: what to
    search in its place. Without a key, official questions can be asked and answered, and the first search raises
    Unavailable. Raises MissingData if official data is asked for and absent, DamagedData, ValueError for another word
    and for a web that is not stored.
    """
    folder = official_data() / official.NAME
    there = official.present(folder)
    if data == "official" and not there:
        raise official.missing(folder)  # choose_data would name a download, and there is none
    searchable = data == "official" or web is not None or bool(os.environ.get(KEY))
    chosen = choose_data(data, there and searchable, official.NAME)
    if chosen == "official":
        questions = {split: official.questions(folder, split) for split in official.FILES}
        return AssistantBench(questions, web or Serper(), chosen, list_actions)
    local = web or LocalWeb(synthetic_site(faults), waits=SLOW_WAIT)
    return AssistantBench(synthetic_questions(), local, chosen, list_actions)
