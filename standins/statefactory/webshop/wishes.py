"""A shopper's wish read into what it names: the kind of product, its features, its options and the price.

Most wishes have one form, written by the shop's own program:

    OPENING FEATURE, FEATURE KIND with FEATURE, FEATURE for USE with OPTION: VALUE, and OPTION: VALUE, and price lower
    than N dollars

People word theirs freely; of those the same parts are read as far as the same words show them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from standins.statefactory.webshop.words import words

PRICE = re.compile(r",?\s*(?:and )?(?:price )?(?:lower than|less than|under|below|<)\s*\$?(\d+(?:\.\d+)?)(?: dollars)?")
OPENINGS = re.compile(
    r"(?:(?:hello|hi|hey|please|also)[,!]?\s+)*(?:(?:can|could|do|would) you (?:please )?)?(?:help me )?"
    r"(?:find|show|get|buy|need|give)(?: me)?\b|"
    r"(?:(?:hello|hi|hey|also)[,!]?\s+)*(?:i\s?['’]?a?m|i am|am|i was|we are|we['’]re)? ?"
    r"(?:looking|searching|locking|shopping|interested|trying|hoping)(?: to (?:find|buy|get)| for| in)*|"
    r"(?:(?:hello|hi|hey|also)[,!]?\s+)*i(?: really)? ?(?:['’]?d|would)? ?(?:like|love|want|need|wish)"
    r"(?: to (?:buy|find|get|purchase|order|have))?\b|"
    r"(?:look|shop|search|order) for |please find (?:me )?",
    re.IGNORECASE,
)
SHOP = re.compile(r"price lower than [\d.]+ dollars|<\s*\$?[\d.]+ dollars|\b(?:find|show) me (?!how)", re.IGNORECASE)
ELSEWHERE = re.compile(
    r"\byour task\b|\b(?:need|want|like) you\b|\byou to\b|\byou (?:can|could|will|should)\b|\band put (?:it|them)\b|"
    r"^look at\b|\bget ready\b",
    re.IGNORECASE,
)
OPTIONS = re.compile(r"\s+with ((?:(?!with\b)[a-z]+ ?){1,3}: .+)$")
NEXT_OPTION = re.compile(r", and (?=(?:[a-z]+ ?){1,3}: )")
COLOR = re.compile(
    r"\b(?!contrast|multi|any|same|in|the|as|for)([\w-]+) colou?r(?:ed)?\b|"
    r"\bcolou?r:? (?:is |of |in |(?:they )?should be )?(?!of|for|also|and|they|should|is|in|one)([\w-]+)"
)
SIZES = r"\d[\w./-]*|(?:x+-?|[2-6]x-?)?(?:small|large)|medium"
SIZE = re.compile(rf"\b(?:of |in |the )*size:?(?: of| it| is| should| be| in)*\s*({SIZES})|\b({SIZES}) size\b")
ARTICLE = re.compile(r"^(?:a|an|the|some|any|this|these|(?:a |one )?pairs? of|sets? of)\s+")
WITH = re.compile(
    r"\s+(?:with|for|that|which|who|in|has|having|made|suitable|without|from|and (?:has|is|it))\s+|[.;?!]\s+"
)
JOINT = re.compile(WITH.pattern + r"|,|\s+and\s+|\s+(?:is|are|be|can|should)\s+")
# Pairs of words that say what a product is like: by the first, or by the second.
LIKE = re.compile(
    r"(?:(?:easy|high|long|short|low|non|anti|hand|machine|slim|loose|wide|straight|regular|classic|heavy|light|eco|"
    r"extra|super|ultra|quick|fast|self|double|multi|solid|stainless) [\w-]+|"
    r"[\w-]+ (?:free|proof|resistant|friendly|based|safe|washable|wash|fit|cancelling|charging|saving|lasting|drying)) "
    r"(?=\S)"
)
WHOSE = re.compile(r"(?:\w+ )?(?:men|women|children|kid|boy|girl|baby|toddler)['’]?s\b")
TALK_LIST = "also choose don't help helps like must need needs one please pair prefer should want"
TALK = frozenset(TALK_LIST.split())
MOST_WORDS = 5  # of a feature; what is longer is talk


class Wish(NamedTuple):
    """kind: of product, such as "yoga mats". price_cap: in dollars, or None. The values are in lower case."""

    kind: str
    features: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    price_cap: str | None


def is_wish(goal: str) -> bool:
    """Whether a task is a shopper's wish: it caps a price, or opens as one and tells nobody what to do."""
    if SHOP.search(goal):
        return True
    return bool(OPENINGS.match(goal)) and not ELSEWHERE.search(goal)


@lru_cache(maxsize=4096)
def wish(goal: str) -> Wish:
    """The wish in a task description. What it does not name is empty."""
    text = " ".join(goal.lower().split()).rstrip(".").replace("easy to ", "easy ")
    cap = PRICE.search(text)
    text = PRICE.sub("", text)
    named = OPTIONS.search(text)
    options = tuple(map(_option, NEXT_OPTION.split(named[1]))) if named else ()
    text = text[: named.start()] if named else text
    opening = OPENINGS.match(text)
    text = _bare(text[opening.end() :] if opening else text)
    if not options:
        options, text = _said_options(text)
    head, *tail = WITH.split(text, maxsplit=1)
    before, kind = _head(head, bool(tail), bool(opening))
    features = [*before, *(_feature(part) for part in JOINT.split(tail[0] if tail else ""))]
    return Wish(kind or "product", tuple(dict.fromkeys(filter(None, features))), options, cap[1] if cap else None)


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.partition(": ")
    return name.strip(), value.strip()


def _said_options(text: str) -> tuple[tuple[tuple[str, str], ...], str]:
    """A colour and a size that a free wording names, and the wording without them."""
    found = []
    for name, pattern in (("color", COLOR), ("size", SIZE)):
        if match := pattern.search(text):
            found.append((name, match[1] or match[2]))
            text = f"{text[: match.start()]} {text[match.end() :]}"
    return tuple(found), " ".join(text.split())


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
    """A feature of two words and the kind that follows it. must: whether there is a feature for sure."""
    piece = _bare(piece)
    said = LIKE.match(piece)
    if said:
        return said[0].strip(), piece[said.end() :]
    parts = piece.split(" ", 2)
    if must and len(parts) == 3 and not WHOSE.match(piece) and "&" not in parts[:2]:
        return " ".join(parts[:2]), parts[2]
    return "", piece


def _feature(text: str) -> str:
    said = [word for word in words(text) if word not in TALK]
    return " ".join(said) if len(said) <= MOST_WORDS else ""


def _bare(text: str) -> str:
    text = text.strip(" ,.")
    while match := ARTICLE.match(text):
        text = text[match.end() :]
    return text
