"""Multi-hop questions: the task that an agent is given, and apart from it what only a judge may see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from worlds.frozen import read_rows

DATASETS = ("hotpotqa", "musique")
# What is known of a question's evidence, from the most to the least.
EVIDENCE = ("annotated_full", "annotated_titles", "matched", "question_only")


class Paragraph(NamedTuple):
    """A piece of an encyclopedia. No corpus has two with the same title and text."""

    title: str
    text: str


class Hop(NamedTuple):
    """One step of an annotated decomposition; `#1` in its question stands for the answer of the first."""

    question: str
    answer: str
    paragraph: Paragraph | None = None


@dataclass(frozen=True, slots=True)
class HopTask:
    """A question, and nothing that would help to answer it.

    goal: the question. dataset: one of DATASETS, whose metrics hold. evidence: one of EVIDENCE; what was annotated is
    told from what was matched by statistics (silver) for a report to keep them apart. MuSiQue's ids begin with the
    number of hops, which nobody who asks a question would tell: a method that reads it there is privileged.
    """

    id: str
    goal: str
    dataset: str
    evidence: str = EVIDENCE[0]


@dataclass(frozen=True, slots=True)
class Question:
    """A task with what is hidden from the agent.

    aliases: other spellings that are as right. hops: 0 where unknown. kind: HotpotQA's bridge or comparison, or the
    name of a synthetic question's template. gold: the paragraphs that the answer follows from, in the order of the hops
    where that is known; empty if they were not annotated. paragraphs: what the distractor setting shows, gold among
    them; empty if the question has none.
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
    """A sub-question with what was found at the hops that it refers to; an unknown reference stays."""
    known = {str(number): entity for number, entity in enumerate(answers, start=1)}
    return re.sub(r"#(\d+)", lambda match: known.get(match[1], match[0]), question)


@cache
def synthetic_paragraphs() -> tuple[Paragraph, ...]:
    """The corpus; datasets share it."""
    return tuple(Paragraph(**row) for row in read_rows("encyclopedia/articles.jsonl.gz"))


@cache
def synthetic_questions(dataset: str) -> Mapping[str, list[Question]]:
    """The questions of a dataset's style, by the set of templates that they are made from."""
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
