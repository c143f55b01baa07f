"""Synthetic questions in the form of AssistantBench's, over the synthetic web; no model knows the invented names.

Splits are the sets of question templates: "writing", which rules may be written on, and "reporting", which none was.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from worlds.assistantbench.questions import Question, WebTask
from worlds.encyclopedia.templates import SPLITS
from worlds.web.questions import WebQuestion, questions
from worlds.web.site import Site

QUESTIONS = 100  # in each split


@lru_cache(maxsize=4)
def synthetic_site(seed: int, faults: int) -> Site:
    """The web of a seed; kept, since it takes a third of a second to make."""
    return Site(seed, faults=faults)


def synthetic_questions(site: Site, count: int = QUESTIONS) -> Mapping[str, list[Question]]:
    """Questions over a site, by the set of templates that they are made from."""
    return {split: [question(one) for one in questions(site, count, split)] for split in SPLITS}


def question(one: WebQuestion) -> Question:
    return Question(WebTask(one.id, one.question), one.answer, one.evidence, one.template)
