"""The official answer metrics of HotpotQA and MuSiQue, number for number, and measures of retrieval.

Both normalise as SQuAD does. They differ in three places: HotpotQA gives no partial credit where one side is "yes",
"no" or "noanswer", and 0 where neither side has a word left; MuSiQue gives 1 there, and the best over all aliases.
Sources: hotpot_evaluate_v1.py of HotpotQA; metrics/answer.py of MuSiQue.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from worlds.multihop.questions import Paragraph, Question

if TYPE_CHECKING:
    from worlds.multihop.retriever import Retriever

WHOLE = {"yes", "no", "noanswer"}
PUNCTUATION = str.maketrans("", "", string.punctuation)
ARTICLE = re.compile(r"\b(a|an|the)\b")


class Match(NamedTuple):
    """em: 0 or 1. f1: in [0, 1], of the words that prediction and answer share."""

    em: float
    f1: float


def normalised(text: str) -> str:
    """An answer in lower case, without ASCII punctuation and articles, with single spaces."""
    return " ".join(ARTICLE.sub(" ", text.lower().translate(PUNCTUATION)).split())


def hotpotqa(prediction: str, answer: str) -> Match:
    """EM and F1 as HotpotQA's evaluation has them."""
    predicted, right = normalised(prediction), normalised(answer)
    apart = predicted != right and (predicted in WHOLE or right in WHOLE)
    return Match(float(predicted == right), 0.0 if apart else overlap(predicted.split(), right.split()))


def musique(prediction: str, answers: Sequence[str]) -> Match:
    """EM and F1 as MuSiQue's evaluation has them: each the best over the answer and its aliases."""
    predicted, matches = normalised(prediction), []
    for right in map(normalised, answers):
        both = predicted and right
        matches.append(
            Match(float(predicted == right), overlap(predicted.split(), right.split()) if both else predicted == right)
        )
    return Match(max(match.em for match in matches), float(max(match.f1 for match in matches)))


def overlap(predicted: Sequence[str], right: Sequence[str]) -> float:
    """The F1 of two bags of words; 0 if they share none."""
    shared = (Counter(predicted) & Counter(right)).total()
    if not shared:
        return 0.0
    precision, recall = shared / len(predicted), shared / len(right)
    # In this order, since another one differs in the last bit.
    return (2 * precision * recall) / (precision + recall)


def judged(prediction: str, question: Question) -> Match:
    """EM and F1 by the metrics of the question's dataset. HotpotQA's questions have no aliases; synthetic ones may."""
    answers = (question.answer, *question.aliases)
    if question.task.dataset == "musique":
        return musique(prediction, answers)
    return max((hotpotqa(prediction, answer) for answer in answers), key=lambda match: (match.f1, match.em))


def recall(paragraphs: Collection[Paragraph], gold: Sequence[Paragraph]) -> float:
    """The share of the gold paragraphs that were found. Raises ValueError if none is known."""
    if not gold:
        raise ValueError("recall of no gold paragraphs; leave questions without annotated evidence out")
    return sum(paragraph in paragraphs for paragraph in gold) / len(gold)


def evidence_found(
    retriever: Retriever, questions: Sequence[Question], k: int = 10, titles: bool = True
) -> list[float]:
    """Of each question, in their order, the recall of its gold paragraphs among the k that a search for it finds.

    Raises ValueError for a question whose gold paragraphs are not known.
    """
    return [
        recall({found.paragraph for found in retriever.search(question.task.goal, k, titles)}, question.gold)
        for question in questions
    ]
