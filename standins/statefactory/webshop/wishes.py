"""Parser of a shopper's wish: the kind of product, its features, its options and the price.

Most wishes have one form, written by the shop's own program:

    OPENING FEATURE, FEATURE KIND with FEATURE, FEATURE for USE with OPTION: VALUE, and OPTION: VALUE, and price lower
    than N dollars

People word theirs freely; the same parts are read as far as the same words indicate them. A feature is two words that
are neighbours in a product's text once small words are left out ("easy clean" for "easy to clean"), so texts are split
into such phrases.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from standins.statefactory import forms

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
    """The words of a text in lower case, without small words."""
    return [word for word in WORD_OR_END.findall(text.lower()) if word and word not in SMALL]


def phrases(text: str) -> list[str]:
    """Pairs of neighbouring words, without small words; no pair crosses a punctuation mark."""
    pairs: dict[str, None] = {}
    previous = ""
    for word in WORD_OR_END.findall(text.lower()):
        if word in SMALL and word:
            continue
        if previous and word:
            pairs[f"{previous} {word}"] = None
        previous = word
    return list(pairs)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, for comparison: "washable" and "wash", "candles" and "candle"."""
    bare = ENDINGS.sub("", word)
    return bare if len(bare) >= LEAST_STEM else word


def stems(text: str) -> frozenset[str]:
    """The stems of a text's words, without small words."""
    return frozenset(map(stem, words(text)))


def share(wanted: frozenset[str], said: frozenset[str]) -> float:
    """The share of the wanted stems that were said, in [0, 1]; 1 if none is wanted."""
    return len(wanted & said) / len(wanted) if wanted else 1.0


WORDS = forms.words(Path(__file__).with_name("wishes.yaml"))
PRICE, OPENING, SHOP, ELSEWHERE, OPTIONS, NEXT_OPTION, ARTICLE, WITH, JOINT, LIKE, WHOSE, TALK = (
    re.compile(WORDS[name])
    for name in (
        "PRICE", "OPENING", "SHOP", "ELSEWHERE", "OPTIONS", "NEXT", "ARTICLE", "WITH", "JOINT", "LIKE", "WHOSE", "TALK",
    )
)  # fmt: skip
MOST_WORDS = 5  # of a feature; longer texts are talk


class Wish(NamedTuple):
    """kind: the kind of product, such as "yoga mats". price_cap: in dollars, or None. All values are in lower case."""

    kind: str
    features: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    price_cap: str | None


def is_wish(goal: str) -> bool:
    """Whether a task is a shopper's wish: it limits a price, or it opens as a wish and gives no other instruction."""
    text = goal.lower()
    return bool(SHOP.search(text) or OPENING.match(text) and not ELSEWHERE.search(text))


@lru_cache(maxsize=4096)
def wish(goal: str) -> Wish:
    """Parse the wish in a task description. Parts that it does not name are empty."""
    text = " ".join(goal.lower().split()).rstrip(".").replace("easy to ", "easy ")
    cap = PRICE.search(text)
    text = PRICE.sub("", text)
    named = OPTIONS.search(text)
    options = tuple(map(_option, NEXT_OPTION.split(named[1]))) if named else ()
    text = text[: named.start()] if named else text
    opening = OPENING.match(text)
    text = _bare(text[opening.end() :] if opening else text)
    if not options:
        options, text = _said_options(text)
    head, *tail = WITH.split(text, maxsplit=1)
    features_before, kind = _head(head, bool(tail), bool(opening))
    features = [*features_before, *(_feature(part) for part in JOINT.split(tail[0] if tail else ""))]
    return Wish(kind or "product", tuple(dict.fromkeys(filter(None, features))), options, cap[1] if cap else None)


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.partition(": ")
    return name.strip(), value.strip()


def _said_options(text: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """A colour and a size in a free wording, and the wording without them."""
    options = []
    for name in ("color", "size"):
        if match := re.search(WORDS[name.upper()], text):
            options.append((name, match[1] or match[2]))
            text = f"{text[: match.start()]} {text[match.end() :]}"
    return tuple(options), " ".join(text.split())


def _head(text: str, goes_on: bool, opened: bool) -> tuple[list[str], str]:
    """The features before the kind, and the kind."""
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if not pieces:
        return [], ""
    if not opened:
        return [_feature(piece) for piece in pieces[1:]], pieces[0]
    first = len(pieces) - 1
    if first and re.match(r"\S+ & ", pieces[-1]):  # "women's tops, tees & blouses" is one kind
        first -= 1
    feature, kind = _split(pieces[first], must=first > 0 or not goes_on)
    before = [_feature(piece) for piece in pieces[:first]] + ([feature] if feature else [])
    return before, ", ".join([kind, *pieces[first + 1 :]])


def _split(piece: str, must: bool) -> tuple[str, str]:
    """A feature of two words and the kind after it. must: whether there certainly is a feature."""
    piece = _bare(piece)
    if quality := LIKE.match(piece):
        return quality[0].strip(), piece[quality.end() :]
    parts = piece.split(" ", 2)
    if must and len(parts) == 3 and not WHOSE.match(piece) and "&" not in parts[:2]:
        return " ".join(parts[:2]), parts[2]
    return "", piece


def _feature(text: str) -> str:
    telling = [word for word in words(text) if not TALK.fullmatch(word)]
    return " ".join(telling) if len(telling) <= MOST_WORDS else ""


def _bare(text: str) -> str:
    text = text.strip(" ,.")
    while match := ARTICLE.match(text):
        text = text[match.end() :]
    return text
