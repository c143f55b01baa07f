"""Deterministic rejections of findings and answers, before any model is asked (A.5; the stricter ones from A.6)."""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Sequence

# A.5 quotes three phrases; the others are similar.
NEGATIONS = (
    "does not provide", "not mentioned", "not specified", "not provided", "does not mention", "does not specify",
    "does not say", "not stated", "no information", "cannot be determined",
)  # fmt: skip
GARBAGE = ("unknown", "not available", "cannot determine", "cannot be determined", "n/a", "none", "not mentioned")
MOST_WORDS = 15
MONTHS = [name.lower() for name in month_name if name]
ASKS_TIME = re.compile(r"\b(when|what year|which year|in what year|what date|which date)\b", re.IGNORECASE)
ASKS_NUMBER = re.compile(r"\bhow (many|much|old|long|far|tall|high|large)\b", re.IGNORECASE)


def unfounded(finding: str) -> str:
    """Why a finding is rejected before any check, "" if it is not: it says that nothing was found."""
    if not finding.strip():
        return "it is empty"
    negation = next((phrase for phrase in NEGATIONS if phrase in finding.lower()), "")
    return f'it says "{negation}"' if negation else ""


def unusable(answer: str) -> str:
    """Why an answer is rejected, "" if it is not (A.5)."""
    plain = answer.strip().strip(".").lower()
    if not plain:
        return "it is empty"
    garbage = next((phrase for phrase in GARBAGE if phrase == plain or (len(phrase) > 4 and phrase in plain)), "")
    return f'it says "{garbage}"' if garbage else ""


def misfit(answer: str, question: str, entities: Sequence[str]) -> str:
    """Why MuSiQue's stricter check rejects an answer, "" if it does not (A.6).

    entities: what the certified hops found, in order; all but the last are only steps to the answer.
    """
    if len(answer.split()) > MOST_WORDS:
        return f"it has more than {MOST_WORDS} words"
    if re.search(rf"(?<!\w){re.escape(answer.strip().lower())}(?!\w)", question.lower()):
        return "the question names it already"
    *steps, last = [entity.strip().lower() for entity in entities] or [""]
    if answer.strip().lower() in steps and answer.strip().lower() != last:
        return "it is a step on the way, and not the answer"
    has_number = any(letter.isdigit() for letter in answer) or any(month in answer.lower() for month in MONTHS)
    if (ASKS_TIME.search(question) or ASKS_NUMBER.search(question)) and not has_number:
        return "the question asks for a date or a number"
    return ""


def ranked(paragraphs: Sequence[tuple[str, str]], finding: str, titles: bool = True) -> list[int]:
    """Indices of the paragraphs that share content words with the finding, those with most first (A.5).

    titles: whether words of a paragraph's title count too.
    """
    content = set(content_words(finding))
    counts = [len(content & set(content_words(f"{title} {text}" if titles else text))) for title, text in paragraphs]
    return sorted((index for index, count in enumerate(counts) if count), key=lambda index: -counts[index])


def content_words(text: str) -> list[str]:
    """Words of four letters or more that are no stop words, in lower case."""
    return [word for word in re.findall(r"\w{4,}", text.lower()) if word not in STOPWORDS]


def entities_of(text: str) -> str:
    """The names in a text, for A.6's entity-only query: runs of capitalised words, without the text's first word."""
    first, _, rest = text.partition(" ")
    names = re.findall(r"\b[A-Z\d][\w'’.-]*(?: (?:of|the|de|von|and) [A-Z][\w'’.-]*| [A-Z\d][\w'’.-]*)*", rest)
    return " ".join(names) or rest or first


STOPWORDS = {
    "about", "after", "also", "been", "before", "being", "between", "both", "could", "does", "during", "each", "from",
    "have", "having", "here", "into", "more", "most", "only", "other", "over", "same", "should", "some", "such", "than",
    "that", "their", "them", "then", "there", "these", "they", "this", "those", "through", "under", "until", "very",
    "were", "what", "when", "where", "which", "while", "whom", "whose", "will", "with", "would", "your",
}  # fmt: skip
