"""Words of texts and titles, as the index and the queries see them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from hashlib import blake2b
from typing import NamedTuple

WORD = re.compile(r"\w+")
SUFFIX = re.compile(r"\s*\([^()]*\)\s*$")
LONGEST_TITLE = 8  # words of a title that is looked for; 99 in 100 titles have no more


def folded(text: str) -> str:
    """A text without accents."""
    if text.isascii():  # most are, and this takes longer than finding the words
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def words(text: str) -> list[str]:
    """The words of a text in lower case, without accents."""
    return WORD.findall(folded(text).lower())


def title_words(title: str) -> list[str]:
    """The words of a title, without what Wikipedia puts behind it in brackets: "Parasite (film)" is "parasite"."""
    return words(SUFFIX.sub("", title)) or words(title)


def code(text: str) -> int:
    """64 bits that stand for a text in an index; of five million, two are the same once in a million corpora."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class Span(NamedTuple):
    """A run of words of a query, from `start` to before `end`."""

    words: tuple[str, ...]
    start: int
    end: int


def named_spans(query: str, stem: Callable[[str], str]) -> list[Span]:
    """The runs of words that a title may be, longest first.

    A single word has to be capitalised, and is no stop word; stop words alone all are capitalised ("The Who").
    """
    tokens = WORD.findall(folded(query))
    plain = not any(word[0].isupper() for word in tokens)  # who writes no capitals tells nothing by their absence
    spans = []
    for length in range(min(LONGEST_TITLE, len(tokens)), 0, -1):
        for start in range(len(tokens) - length + 1):
            run = tokens[start : start + length]
            tells = any(stem(word.lower()) for word in run)
            capitals = all(word[0].isupper() or word[0].isdigit() for word in run)
            if tells and (plain or capitals) if length == 1 else tells or capitals:
                spans.append(Span(tuple(word.lower() for word in run), start, start + length))
    return spans
