"""The official answer metrics of HotpotQA and MuSiQue, reproduced exactly, and recall of retrieval.

Both normalise as SQuAD does, and differ in three points. HotpotQA gives no partial credit if one side is "yes", "no" or
"noanswer". If neither side has a word left, HotpotQA's F1 is 0 and MuSiQue's is 1. MuSiQue takes the best over all
aliases.
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
    """em: exact match, 0 or 1. f1: in [0, 1], of the words that prediction and answer share."""

    em: float
    f1: float


def normalised(text: str) -> str:
    """An answer in lower case with single spaces, without ASCII punctuation and articles."""
    return " ".join(ARTICLE.sub(" ", text.lower().translate(PUNCTUATION)).split())


def hotpotqa(prediction: str, answer: str) -> Match:
    """EM and F1 of HotpotQA's evaluation."""
    predicted, right = normalised(prediction), normalised(answer)
    no_credit = predicted != right and (predicted in WHOLE or right in WHOLE)
    return Match(float(predicted == right), 0.0 if no_credit else overlap(predicted.split(), right.split()))


def musique(prediction: str, answers: Sequence[str]) -> Match:
    """EM and F1 of MuSiQue's evaluation: each is the best over the answer and its aliases."""
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
    # In the official order of operations, since another one differs in the last bit.
    return (2 * precision * recall) / (precision + recall)


def judged(prediction: str, question: Question) -> Match:
    """EM and F1 by the metrics of the question's dataset. HotpotQA's questions have no aliases; synthetic ones may."""
    answers = (question.answer, *question.aliases)
    if question.task.dataset == "musique":
        return musique(prediction, answers)
    return max((hotpotqa(prediction, answer) for answer in answers), key=lambda match: (match.f1, match.em))


def recall(paragraphs: Collection[Paragraph], gold: Sequence[Paragraph]) -> float:
    """The share of the gold paragraphs that were found. Raises ValueError if there are no gold paragraphs."""
    if not gold:
        raise ValueError("recall of no gold paragraphs; leave questions without annotated evidence out")
    return sum(paragraph in paragraphs for paragraph in gold) / len(gold)


def evidence_found(
    retriever: Retriever, questions: Sequence[Question], k: int = 10, titles: bool = True
) -> list[float]:
    """Recall of the gold paragraphs among the k paragraphs that a search for the question finds, per question.

    Raises ValueError for a question whose gold paragraphs are not known.
    """
    return [
        recall({result.paragraph for result in retriever.search(question.task.goal, k, titles)}, question.gold)
        for question in questions
    ]
