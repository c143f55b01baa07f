"""Words of a question over the synthetic web that stand for something, by lexicon.yaml.

Adjectives come in three degrees, as in "how old", "older" and "oldest", or "expensive", "less" and "least expensive".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from standins.encyclopedia.lexicon import Patterns, Tag, patterns, sections, spans
from worlds.encyclopedia import DAYS, GENRES, STYLES

NUMBER = r"(?<![.,])\d+(?:,\d{3})*(?:\.\d+)?(?![ -](?:decimal|digit|place))"
VALUES = {"number": NUMBER, "decade": r"(?:the )?\d{3}0'?s", "name": r"_\d+_"}
OTHER_WAY = {"most": "least", "least": "most"}
ENDS = ("sentence",)
COMMAS = (*ENDS, "comma")
CLAUSES = (*COMMAS, "word")


class Mention(NamedTuple):
    """Words of a question from `start` to `end`, and all that they may stand for."""

    start: int
    end: int
    text: str
    tags: frozenset[Tag]

    def names(self, section: str) -> tuple[str, ...]:
        """What the words may stand for of a section of the lexicon."""
        return tuple(each for part, name in sorted(self.tags) if part == section for each in name.split(" "))

    def of(self, *parts: str) -> bool:
        return any(part in parts for part, _ in self.tags)

    def breaks(self, kinds: Collection[str]) -> bool:
        return any(kind in kinds for kind in self.names("breaks"))

    def ways(self, degree: str) -> list[tuple[str, list[str]]]:
        """Of an adjective: "most" or "least", and the relations it may then be about, likeliest first."""
        said = (each.split() for part, name in sorted(self.tags) if part == degree for each in name.split(";"))
        return [(way, about) for way, *about in said]


def mentions(text: str) -> list[Mention]:
    """What a text in lower case says, in order."""
    return [Mention(*span, text[slice(*span)], tags) for span, tags in spans(text, _patterns()).items()]


def until(said: Sequence[Mention], kinds: Collection[str]) -> Iterator[Mention]:
    """Mentions up to a break of these kinds."""
    for one in said:
        if one.breaks(kinds):
            return
        yield one


@cache
def lexicon() -> dict[str, Any]:
    return sections(Path(__file__).with_name("lexicon.yaml"))


@cache
def _patterns() -> Patterns:
    plain = ("nouns", "units", "words", "limits", "behind", "denials", "days", "asks", "breaks")
    words = [((section, name), said) for section in plain for name, said in lexicon()[section].items()]
    # "1952 and cheaper than 20" has no limit behind 1952.
    words = [(tag, rf"(?:{said})(?! (?:\w+ )?than| \d)" if tag[0] == "behind" else said) for tag, said in words]
    words += [(("value", kind), said) for kind, said in VALUES.items()]
    words += [(("value", f"day {day}"), rf"{day.lower()}(?:s|'s)?") for day in DAYS]
    for relation, kinds in (("genre", GENRES), ("style", STYLES)):
        words += [(("value", f"{relation} {kind}"), rf"{kind.removesuffix('y')}(?:y|ies|s|es)?") for kind in kinds]
    return patterns([*words, *_degrees()])


def _degrees() -> Iterator[tuple[Tag, str]]:
    for group, (meaning, *others) in lexicon()["adjectives"].items():
        reverse = re.sub("most|least", lambda way: OTHER_WAY[way[0]], meaning)
        more, most = (others + ["", ""])[:2]
        plain = "|".join(group.split())
        stems = [_stem(word) for word in group.split()]
        yield ("words", re.sub(r"most |least |;.*", "", meaning)), rf"how (?:{plain})"
        older, oldest = (f"(?:{'|'.join(stems)}){ending}" for ending in ("er", "est"))
        yield ("comparative", meaning), "|".join([older, *filter(None, [more]), rf"more (?:{plain})"])
        yield ("superlative", meaning), "|".join([oldest, *filter(None, [most]), rf"most (?:{plain})"])
        yield ("comparative", reverse), rf"less (?:{plain})"
        yield ("superlative", reverse), rf"least (?:{plain})"


def _stem(adjective: str) -> str:
    """What stands before -er and -est: "pric" + "i" for "pricey", "bigg" for "big"."""
    doubled = re.sub(r"(?<=[^aeiou][aeiou])([bdgmnt])$", r"\1\1", adjective)
    return re.sub("e$", "", re.sub("e?y$", "i", doubled))
