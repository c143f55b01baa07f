"""A synthetic encyclopedia of any size up to 5 million articles, from a seed: invented people, places, works and firms.

    for paragraph in paragraphs(seed=0, size=10_000):    # streamed, with constant memory
        print(paragraph.title, paragraph.text)
    for question in questions(seed=0, count=100, templates="reporting", style="musique", size=10_000):
        print(question.question, question.answer, question.decomposition)

Everything about an entity follows from the seed and its number, so nothing is stored, and a smaller encyclopedia is
the beginning of a larger one.

    chance      counter-based random numbers
    layout      which number is of which kind, and which entities may be linked
    words       invented words
    relations   what can be said of entities, and how values are written
    people      facts of people
    facts       facts of all the others: the fact graph
    names       names, other names and unique titles
    articles    paragraphs; the sentences are in sentences.yaml
    chains      hops from entity to entity, each read off one article
    templates   question templates in two sets, writing.yaml for writing rules and reporting.yaml for reporting
    drafts      a template filled with entities
    contexts    the paragraphs that are shown beside the gold ones
    questions   questions with all that belongs to them
"""

from __future__ import annotations

from worlds.encyclopedia.articles import Paragraph, paragraphs
from worlds.encyclopedia.questions import Hop, Question, questions

__all__ = ["Hop", "Paragraph", "Question", "paragraphs", "questions"]
