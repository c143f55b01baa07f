"""Synthetic questions in the form of AssistantBench's, over the synthetic web; no model knows the invented names.

Splits are the sets of question templates: "writing", which rules may be written on, and "reporting", which none was.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from worlds.assistantbench.questions import Question, WebTask
from worlds.frozen import read_rows
from worlds.web.site import Site


@lru_cache(maxsize=4)
def synthetic_site(faults: int) -> Site:
    """The web with so many faulty pages a list; cached, since reading it takes a tenth of a second."""
    return Site(faults)


def synthetic_questions() -> Mapping[str, list[Question]]:
    """100 questions over the web, whatever its faults, by the set of templates that they are made from."""
    questions: dict[str, list[Question]] = {}
    for row in read_rows("web/questions.jsonl"):
        task, evidence = WebTask(row["id"], row["question"]), tuple(row["evidence"])
        questions.setdefault(row["split"], []).append(Question(task, row["answer"], evidence, row["template"]))
    return questions
