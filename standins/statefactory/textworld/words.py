"""Names and lists in TextWorld's sentences, and what is known of the things named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from statefactory.state import Attribute, Entity

YOU = "you"
INVENTORY = "in your inventory"
_ARTICLE = re.compile(r"(?:an?|the|some) ")
# How a cooking game names a food that was processed: "a diced roasted red onion".
COOKED = ("raw", "fried", "roasted", "grilled", "burned")
CUT = ("sliced", "diced", "chopped")
# The name of a thing in the singular: up to six words, none of which makes a sentence of it.
_WORD = r"(?!(?:is|isn't|are|was|were|has|have|had|can|and|that|then|but)\b)[\w'-]+"
THING = rf"{_WORD}(?: {_WORD}){{0,5}}?"
STATED = re.compile(
    rf"the (?P<thing>{THING}) (?:is|are) (?:(?:already|currently) )?(?P<state>open|closed|locked|unlocked)"
)
_SENTENCE_END = re.compile(r"(?<=[!?])\s+|(?<=\.)\s+(?=[A-Z\"'])|(?<=[Oo]h well)\s+(?=[A-Z])|\n+")


def sentences(text: str) -> list[str]:
    """The text's sentences in lower case, without their last point."""
    return [part for part in (piece.strip().lower().rstrip(".!?") for piece in _SENTENCE_END.split(text)) if part]


def named(words: str) -> str:
    """A thing's name without its article, in lower case."""
    plain = words.strip().lower()
    return plain[match.end() :] if (match := _ARTICLE.match(plain)) else plain


def listed(words: str) -> Iterator[str]:
    """The names in "a key, some water and a chest"."""
    for part in re.split(r", (?:and )?| and (?=an? |some |the )", words):
        if part:
            yield named(part)


class Knowledge:
    """What is known, while an observation is read: of each thing its attributes, in the order in which they came."""

    def __init__(self, known: Iterable[Entity]) -> None:
        self._things = {entity.identity: {a.name: a.value for a in entity.attributes} for entity in known}

    def say(self, identity: str, **attributes: str) -> None:
        """Set attributes of a thing."""
        self._things.setdefault(identity, {}).update(attributes)

    def food(self, words: str, **attributes: str) -> str:
        """The same of a portable thing as a list names it, with what the name tells of a food; gives its identity."""
        name, found = unprocessed(named(words))
        self.say(name, **found, **attributes)
        return name

    def turned(self, identity: str, state: str) -> None:
        """Set whether a thing is "open", "closed", "locked" or "unlocked"; what is locked is closed as well."""
        if state != "unlocked":
            self.say(identity, state="closed" if state == "locked" else state)
        if state in ("locked", "unlocked"):
            self.say(identity, lock=state)

    def value(self, identity: str, name: str) -> str | None:
        return self._things.get(identity, {}).get(name)

    def forget(self, identity: str, name: str) -> None:
        self._things.get(identity, {}).pop(name, None)

    def at(self, location: str) -> list[str]:
        """The things that are known to be at a location."""
        return [identity for identity, about in self._things.items() if about.get("location") == location]

    def entities(self) -> tuple[Entity, ...]:
        """Everything of which there is something to say."""
        return tuple(
            Entity(identity, tuple(Attribute(name, value) for name, value in about.items()))
            for identity, about in self._things.items()
            if about
        )


def unprocessed(name: str) -> tuple[str, dict[str, str]]:
    """A food's own name, and how it was cooked and cut: "diced raw onion" is an onion."""
    found: dict[str, str] = {}
    while True:
        first, _, rest = name.partition(" ")
        kind = "cooking" if first in COOKED else "cut" if first in CUT else None
        if kind is None or not rest or kind in found:
            return name, found
        found[kind], name = first, rest
