"""Questions to be answered from the web: the task for the agent, and separately what only a judge may see."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from worlds.frozen import read_rows
from worlds.web.site import Site

# A number with thousands separators, between a sign and a unit.
SEPARATED = re.compile(r"[^\w,.]*\d{1,3}(,\d{3})+(\.\d+)?(?![\d,.])[^\d,]*")


@dataclass(frozen=True, slots=True)
class WebTask:
    """A question, without anything that would help to answer it."""

    id: str
    goal: str


@dataclass(frozen=True, slots=True)
class Question:
    """A task with its hidden answer and evidence.

    answer: the gold text in the official scorer's format, one item per line; None in the official test split, whose
    answers are held out. evidence: addresses of the pages that the answer follows from, () where they are not known.
    template: the name of a synthetic question's template.
    """

    task: WebTask
    answer: str | None
    evidence: tuple[str, ...] = ()
    template: str = ""


def as_prediction(items: Sequence[object]) -> str:
    """An answer's items in the official scorer's format: a single item as it is, else a JSON array.

    The scorer does not split lines, and reads commas in numbers as decimal points. So an item that is a number loses
    its thousands separators; other commas stay.
    """
    plain = [_without_separators(item) for item in items]
    prediction = plain[0] if len(plain) == 1 else plain
    return prediction if isinstance(prediction, str) else json.dumps(prediction, ensure_ascii=False)


def _without_separators(value: Any) -> Any:
    """ "$1,010.50" -> "$1010.50", also inside objects; other texts stay as they are, also "1,01" and "12,34,567"."""
    if isinstance(value, str):
        return value.replace(",", "") if SEPARATED.fullmatch(value) else value
    if isinstance(value, list):
        return [_without_separators(item) for item in value]
    return {key: _without_separators(item) for key, item in value.items()} if isinstance(value, dict) else value


@lru_cache(maxsize=4)
def synthetic_site(faults: int) -> Site:
    """The web with this number of faulty pages per list page; cached, since reading it takes a tenth of a second."""
    return Site(faults)


def synthetic_questions() -> Mapping[str, list[Question]]:
    """100 questions over the synthetic web, by split (set of templates); the same for every number of faults."""
    questions: dict[str, list[Question]] = {}
    for row in read_rows("web/questions.jsonl"):
        task, evidence = WebTask(row["id"], row["question"]), tuple(row["evidence"])
        questions.setdefault(row["split"], []).append(Question(task, row["answer"], evidence, row["template"]))
    return questions
