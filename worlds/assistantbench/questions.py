"""Questions to be answered from the web: the task that an agent is given, and apart from it what only a judge sees."""

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
    """A question, and nothing that would help to answer it."""

    id: str
    goal: str


@dataclass(frozen=True, slots=True)
class Question:
    """A task with what is hidden from the agent.

    answer: the gold text as the official scorer takes it, items one a line; None in the official test split, whose
    answers its authors keep. evidence: addresses of the pages that the answer follows from, () where that is not known.
    template: the name of a synthetic question's template.
    """

    task: WebTask
    answer: str | None
    evidence: tuple[str, ...] = ()
    template: str = ""


def as_prediction(items: Sequence[object]) -> str:
    """Items of an answer as the official scorer reads them: one as it is, else a JSON array.

    It does not split lines, and reads commas in numbers as decimal points: an item that is a number loses its thousands
    separators. Commas in other places are left.
    """
    plain = [_without_separators(item) for item in items]
    whole = plain[0] if len(plain) == 1 else plain
    return whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False)


def _without_separators(value: Any) -> Any:
    """ "$1,010.50" -> "$1010.50", also inside of objects; other texts as they are, "1,01" and "12,34,567" too."""
    if isinstance(value, str):
        return value.replace(",", "") if SEPARATED.fullmatch(value) else value
    if isinstance(value, list):
        return [_without_separators(item) for item in value]
    return {key: _without_separators(item) for key, item in value.items()} if isinstance(value, dict) else value


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
