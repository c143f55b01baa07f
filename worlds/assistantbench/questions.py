"""Questions to be answered from the web: the task that an agent is given, and apart from it what only a judge sees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass


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
    template: the name of a made question's template.
    """

    task: WebTask
    answer: str | None
    evidence: tuple[str, ...] = ()
    template: str = ""


def as_prediction(items: Sequence[object]) -> str:
    """Items of an answer as the official scorer reads them: one as it is, else a JSON array.

    It does not split lines, and reads commas in numbers as decimal points: numbers are written without thousands
    separators.
    """
    if len(items) == 1:
        (only,) = items
        return only if isinstance(only, str) else json.dumps(only, ensure_ascii=False)
    return json.dumps(list(items), ensure_ascii=False)
