"""Synthetic questions and what they are searched in: those of `worlds.encyclopedia`, in the form of the official ones.

They are what tests and notebooks play where there is no official data. Names are invented: no model knows them. Splits
are the sets of question templates: "writing", which rules may be written on, and "reporting", which none was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from worlds import encyclopedia
from worlds.encyclopedia.questions import Style
from worlds.encyclopedia.templates import SPLITS
from worlds.multihop.questions import EVIDENCE, Hop, HopTask, Paragraph, Question

ARTICLES = 2_000
QUESTIONS = 100  # in each split


def synthetic_paragraphs(seed: int = 0) -> Iterator[Paragraph]:
    """The corpus; datasets share it."""
    return (Paragraph(each.title, each.text) for each in encyclopedia.paragraphs(seed, ARTICLES))


@cache
def synthetic_questions(dataset: Style, seed: int = 0) -> Mapping[str, list[Question]]:
    """The questions of a dataset's style, by the set of templates that they are made from."""
    made = {split: encyclopedia.questions(seed, QUESTIONS, split, dataset, ARTICLES) for split in SPLITS}
    return {split: [question(dataset, one) for one in questions] for split, questions in made.items()}


def question(dataset: str, one: encyclopedia.Question) -> Question:
    """A question of the encyclopedia as one of this world."""
    shown = {each.number: Paragraph(each.title, each.text) for each in one.paragraphs}
    hops = [(hop, None if hop.paragraph is None else shown[hop.paragraph]) for hop in one.decomposition]
    return Question(
        task=HopTask(one.id, one.question, dataset, EVIDENCE[0]),
        answer=one.answer,
        aliases=one.aliases,
        hops=len(hops),
        kind=one.template,
        gold=tuple(shown[number] for number in one.gold),
        decomposition=tuple(Hop(hop.question, hop.answer, paragraph) for hop, paragraph in hops),
        paragraphs=tuple(shown.values()),
    )
