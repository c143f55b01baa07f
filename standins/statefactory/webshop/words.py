"""The words of products and wishes: phrases, and which of them speak of the same.

The shop's wishes name features as two words that stand beside each other in a product's text once small words are left
out ("easy clean" for "easy to clean"), so texts are read into such phrases.
"""

from __future__ import annotations

import re
from functools import lru_cache

WORD_OR_END = re.compile(r"([^\W_]+(?:['’.][^\W_]+)*)|[,.;:!?()\[\]{}|/•【】\n]")
SMALL_LIST = """
a an and are as at be been but by can do for from has have i in is it its it's may me my of on or our per so some than
that the their them they this to too very was we were which will with you your
"""
SMALL = frozenset(SMALL_LIST.split())
LEAST_STEM = 3  # letters left after an ending is cut
ENDINGS = re.compile(r"(?:'s|’s|able|ing|ers?|ed|es|s|y|e)$")


def name_of(phrase: str) -> str:
    """The phrase as an attribute's name, which is one word."""
    return "-".join(phrase.split())


def words(text: str) -> list[str]:
    """The words of a text that say something, in lower case."""
    return [word for word in WORD_OR_END.findall(text.lower()) if word and word not in SMALL]


def phrases(text: str) -> list[str]:
    """Two neighbouring words each, of the text's words that say something; none across a punctuation mark."""
    pairs: dict[str, None] = {}
    last = ""
    for word in WORD_OR_END.findall(text.lower()):
        if word in SMALL and word:
            continue
        if last and word:
            pairs[f"{last} {word}"] = None
        last = word
    return list(pairs)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, for comparing: "washable" and "wash", "candles" and "candle"."""
    bare = ENDINGS.sub("", word)
    return bare if len(bare) >= LEAST_STEM else word


def stems(text: str) -> frozenset[str]:
    """The stems of the words that say something."""
    return frozenset(map(stem, words(text)))


def share(wanted: frozenset[str], said: frozenset[str]) -> float:
    """How much of what is wanted is said, in [0, 1]; 1 where nothing is wanted."""
    return len(wanted & said) / len(wanted) if wanted else 1.0
