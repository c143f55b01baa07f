"""Parser of ScienceWorld's descriptions: a thing with what is on or in it, and lists of such things.

a table. On the table is: a bowl (containing a red apple, bread), a switch, which is off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from standins.statefactory.forms import first, forms, pattern, sections

FILE = Path(__file__).with_name("forms.yaml")
DEPTH = 40  # the world writes no description with deeper nesting


class NoDescription(ValueError):
    """A text that does not describe a thing."""


@dataclass
class Thing:
    """A described thing. inside: (preposition, thing) for each thing that it holds; None if the text does not say."""

    name: str
    facts: dict[str, str] = field(default_factory=dict)
    inside: list[tuple[str, Thing]] | None = None


_ARTICLE = re.compile(r"(?:an?|the) (?=\S)", re.IGNORECASE)
_BOOK = re.compile(r"book \(([^()\n]*)\) titled ([^,.()\n]*) by ([^,.()\n]*)")
_NAME = re.compile(r"(?:(?!its (?:terminal \d|anode|cathode) is )[^,.()\n])+")
_CONTAINING = re.compile(r",?(?: with)? \(containing ")
_ON_OR_IN = re.compile(r"\.? ?(On|In|Inside) the [^,.()\n:]+? (?:is|you see): ?\n?\t?")
_ON_PLANE = re.compile(r", with: ")

# (pattern of a phrase after a name, attribute whose value its group is)
_PROPERTIES = [
    (pattern(FILE, form), name) for name, patterns in sections(FILE)["properties"].items() for form in patterns
]
_TERMINALS = ("terminal-1", "terminal-2", "anode", "cathode", "connection")
_POWER = {"activated": "on", "deactivated": "off"}


def things(text: str) -> list[tuple[str, Thing]]:
    """All things in a list that fills the text. Raises NoDescription."""
    reader = _Reader(text.strip())
    pairs = reader.items("in")
    if reader.rest().strip(" ."):
        raise NoDescription(reader.rest())
    return pairs


def thing(text: str) -> Thing:
    """The only thing that the text describes. Raises NoDescription."""
    pairs = things(text)
    if len(pairs) != 1:
        raise NoDescription(text)
    return pairs[0][1]


class _Reader:
    """A parser that reads a text from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def rest(self) -> str:
        return self._text[self._at :]

    def items(self, preposition: str) -> list[tuple[str, Thing]]:
        """Things separated by commas; empty for "nothing"."""
        self._depth += 1
        if self._depth > DEPTH:
            raise NoDescription(self.rest())
        if self._take(re.compile("nothing")):
            pairs = []
        else:
            pairs = [(preposition, self._thing())]
            while self._take(re.compile(r"\s*,\s+(?:and )?")):
                pairs.append((preposition, self._thing()))
        self._depth -= 1
        return pairs

    def _thing(self) -> Thing:
        self._take(_ARTICLE)
        book = self._take(_BOOK)
        if book:
            return Thing(f"book ({book[1]})", {"title": book[2], "author": book[3]})
        name = self._take(_NAME)
        if not name or not name[0].strip():
            raise NoDescription(self.rest())
        self._at -= len(name[0]) - len(name[0].rstrip())
        item = _named(name[0].strip())
        while self._holds(item) or self._property(item):
            pass
        return item

    def _holds(self, item: Thing) -> bool:
        """Read what the thing holds, if that comes next."""
        if self._take(_CONTAINING):
            item.inside = [*(item.inside or []), *self.items("in")]
            return self._end(r"\s*\.?\)")
        if self._take(_ON_PLANE):
            item.inside = self.items("on")
            return True
        match = self._take(_ON_OR_IN)
        if not match:
            return False
        item.inside = [*(item.inside or []), *self.items("on" if match[1] == "On" else "in")]
        return self._end(r"\s*(?:\.\s?|$|(?=[,)]))")

    def _property(self, item: Thing) -> bool:
        for form, name in _PROPERTIES:
            if match := self._take(form):
                item.facts[name] = _value(name, match[1])
                return True
        return False

    def _end(self, pattern: str) -> bool:
        if not self._take(re.compile(pattern)):
            raise NoDescription(self.rest())
        return True

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at)
        if match:
            self._at = match.end()
        return match


def _value(name: str, text: str) -> str:
    if name in _TERMINALS:
        return "unconnected" if text == "nothing" else f"connected to {text}"
    return _POWER.get(text, text)


# --- facts in a name --------------------------------------------------------------------------------------------

_SUBSTANCE = re.compile(r"(?:substance called )?(?:(solid|liquid|gaseous) )?(.+)")
_MATTER = {"gaseous": "gas"}
_WATER = {"ice": "solid", "steam": "gas"}
_STAGED = re.compile(r"(egg|baby|hatchling|juvenile|adult|dead) .+|.+ (egg|pupa|seed)|(tadpole|caterpillar)")


def _named(name: str) -> Thing:
    """A thing from its name, with the facts that the name contains."""
    if reading := first(forms(FILE, "names"), name):
        facts = reading[1]
        return Thing(facts.pop("thing"), facts)
    plain, facts = substance(name)
    burned = {"condition": "burned"} if name.startswith("burned ") else {}
    return Thing(plain, facts | life_stage(plain) | burned)


def substance(name: str) -> tuple[str, dict[str, str]]:
    """The bare name of a substance, and its state of matter if the name contains it: "liquid tin", "ice"."""
    match = _SUBSTANCE.fullmatch(name)
    if not match:
        return name, {}
    if match[2] in _WATER:
        return "water", {"phase": _WATER[match[2]]}
    return match[2], {"phase": _MATTER.get(match[1], match[1])} if match[1] else {}


def life_stage(name: str) -> dict[str, str]:
    """The life stage in a name: "baby wolf", "frog egg", "tadpole"."""
    match = _STAGED.fullmatch(name)
    return {"stage": next(filter(None, match.groups()))} if match else {}
