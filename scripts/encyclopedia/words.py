"""Invented words from numbers, and the draws that choose them.

Randomness is counter-based: what is drawn for an entity depends on the seed, its number and the field alone. No
generator is carried along, so any entity can be made alone, in any order and process, and none has to be kept.
A word is pronounceable, and another one for each number: two or three open syllables and perhaps a last consonant, so
it can be taken apart in one way only. The number is first moved by a permutation that depends on the seed.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_128
from math import gcd
from struct import Struct

# One draw for each field; a new field goes to the end, so that all others stay as they are.
FIELDS = {
    name: place
    for place, name in enumerate(
        (
            "sharing", "pattern", "alias", "given", "middle", "gender", "first word", "second word",
            "country", "region", "town", "other town", "year", "month and day", "university", "parent",
            "spouse", "award", "teacher", "death", "person", "second person", "third person", "company",
            "kind", "size", "price", "hours", "closed", "distance", "sentences", "order",
            "mentions",
        )
    )
}  # fmt: skip
WORDS = Struct(f"<{len(FIELDS)}I")
ONSETS = (
    "b", "br", "d", "dr", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "th", "tr", "v", "w", "z",
)  # fmt: skip
NUCLEI = ("a", "e", "i", "o", "u", "ae", "ia")
CODAS = ("", "n", "r", "l", "s", "m", "th")
SYLLABLES = tuple(onset + nucleus for onset in ONSETS for nucleus in NUCLEI)
FIRST_SYLLABLES = tuple(syllable.capitalize() for syllable in SYLLABLES)
SHORT, LONG = len(SYLLABLES) ** 2 * len(CODAS), len(SYLLABLES) ** 3 * len(CODAS)  # words of two and of three syllables
# Short words are shared out by ranges, wide enough for 5 million articles.
FAMILIES, COUNTRIES, CURRENCIES, LANGUAGES = 0, 70_000, 100_000, 130_000
GIVEN_STARTS = (
    "Al", "Be", "Cor", "Da", "El", "Fa", "Gil", "Ha", "Il", "Jo", "Ka", "Lu", "Mar", "Ne", "Or", "Pe", "Ra", "Sel",
    "Ti", "Vi",
)  # fmt: skip
GIVEN_MIDDLES = ("la", "mi", "no", "ri", "sa", "te", "va", "li", "da", "ne", "ro", "ma", "ve", "si", "le", "na")
GIVEN = {
    "female": tuple(start + middle + "a" * middle.endswith("i") for middle in GIVEN_MIDDLES for start in GIVEN_STARTS),
    "male": tuple(start + middle + "n" for middle in GIVEN_MIDDLES for start in GIVEN_STARTS),
}


@lru_cache(maxsize=2048)
def draws(seed: int, number: int) -> tuple[int, ...]:
    """32 random bits for each of FIELDS."""
    return WORDS.unpack(shake_128(b"%d %d" % (seed, number)).digest(WORDS.size))


def below(seed: int, number: int, field: str, limit: int) -> int:
    """A whole number from 0 to `limit` - 1."""
    return draws(seed, number)[FIELDS[field]] * limit >> 32


@lru_cache(maxsize=64)
def permutation(seed: int, words: int) -> tuple[int, int]:
    """Factor and summand of a permutation of the numbers below `words`."""
    bits = draws(seed, -words)
    factor = words * 2 // 5 + bits[0] % (words // 5)
    while gcd(factor, words) > 1:
        factor += 1
    return factor, bits[1] % words


def long_word(seed: int, index: int) -> str:
    """The word of three syllables of an index below LONG."""
    factor, summand = permutation(seed, LONG)
    rest, coda = divmod((index * factor + summand) % LONG, len(CODAS))
    rest, third = divmod(rest, len(SYLLABLES))
    first, second = divmod(rest, len(SYLLABLES))
    return FIRST_SYLLABLES[first] + SYLLABLES[second] + SYLLABLES[third] + CODAS[coda]


def short_word(seed: int, index: int) -> str:
    """The word of two syllables of an index below SHORT."""
    factor, summand = permutation(seed, SHORT)
    rest, coda = divmod((index * factor + summand) % SHORT, len(CODAS))
    first, second = divmod(rest, len(SYLLABLES))
    return FIRST_SYLLABLES[first] + SYLLABLES[second] + CODAS[coda]
