"""Multi-hop questions: the task for the agent, and separately what only a judge may see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from worlds.frozen import read_rows

DATASETS = ("hotpotqa", "musique")
# Classes of questions by what is known of their evidence, from most to least.
EVIDENCE = ("annotated_full", "annotated_titles", "matched", "question_only")


class Paragraph(NamedTuple):
    """A paragraph of an encyclopedia. No corpus has two with the same title and text."""

    title: str
    text: str


class Hop(NamedTuple):
    """One step of an annotated decomposition; `#1` in its question stands for the first step's answer."""

    question: str
    answer: str
    paragraph: Paragraph | None = None


@dataclass(frozen=True, slots=True)
class HopTask:
    """A question, without anything that would help to answer it.

    goal: the question. dataset: one of DATASETS, which selects the metrics. evidence: one of EVIDENCE, so that reports
    can separate annotated evidence from evidence that was matched by statistics (silver). MuSiQue's ids begin with the
    number of hops; a method that reads it has privileged information.
    """

    id: str
    goal: str
    dataset: str
    evidence: str = EVIDENCE[0]


@dataclass(frozen=True, slots=True)
class Question:
    """A task with its hidden answer and evidence.

    aliases: other correct spellings. hops: 0 if unknown. kind: HotpotQA's bridge or comparison, or the name of a
    synthetic question's template. gold: the paragraphs that the answer follows from, in the order of the hops if that
    is known; empty if they were not annotated. paragraphs: those of the distractor setting, gold ones included; empty
    if the question has none.
    """

    task: HopTask
    answer: str
    aliases: tuple[str, ...] = ()
    hops: int = 0
    kind: str = ""
    gold: tuple[Paragraph, ...] = ()
    decomposition: tuple[Hop, ...] = ()
    paragraphs: tuple[Paragraph, ...] = ()


def filled(question: str, answers: Sequence[str]) -> str:
    """Replace references such as #1 in a sub-question by the answers of these hops; unknown references stay."""
    by_number = {str(number): answer for number, answer in enumerate(answers, start=1)}
    return re.sub(r"#(\d+)", lambda match: by_number.get(match[1], match[0]), question)


@cache
def synthetic_paragraphs() -> tuple[Paragraph, ...]:
    """The synthetic corpus, shared by both datasets."""
    return tuple(Paragraph(**row) for row in read_rows("encyclopedia/articles.jsonl.gz"))


@cache
def synthetic_questions(dataset: str) -> Mapping[str, list[Question]]:
    """Synthetic questions in a dataset's style, by split (set of templates)."""
    articles = synthetic_paragraphs()
    questions: dict[str, list[Question]] = {}
    for row in read_rows(f"encyclopedia/{dataset}.jsonl"):
        question = Question(
            task=HopTask(row["id"], row["question"], dataset, EVIDENCE[0]),
            answer=row["answer"],
            aliases=tuple(row["aliases"]),
            hops=len(row["hops"]),
            kind=row["template"],
            gold=tuple(articles[number] for number in row["gold"]),
            decomposition=tuple(Hop(text, answer, articles[number]) for text, answer, number in row["hops"]),
            paragraphs=tuple(articles[number] for number in row["paragraphs"]),
        )
        questions.setdefault(row["split"], []).append(question)
    return questions
