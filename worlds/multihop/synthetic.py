"""Synthetic questions and the encyclopedia that they are searched in, in the form of the official ones.

They are what tests and notebooks play where there is no official data. Names are invented: no model knows them. Splits
are the sets of question templates: "writing", which rules may be written on, and "reporting", which none was. Frozen in
`data/synthetic/encyclopedia`: 2,000 articles, and 100 questions in each split of each dataset.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from worlds.frozen import read_rows
from worlds.multihop.questions import EVIDENCE, Hop, HopTask, Paragraph, Question


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
