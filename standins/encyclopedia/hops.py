"""Reader of the synthetic encyclopedia: a question into hops, a paragraph into what it says, findings into an answer.

What the stand-ins of all agents know of this world. They read the words that they are given, as a model does; nothing
here sees the facts behind them, nor the templates that questions are reported on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from string import Formatter
from typing import NamedTuple

from standins.encyclopedia.questions import read, relations
from worlds.encyclopedia import MONTHS, PEOPLE, SHARED_NAMES, sentences

KIND = re.compile(f"the ({'|'.join(SHARED_NAMES)}) ")


class Asked(NamedTuple):
    """A sub-question. step: a relation of `questions`. subject: whom it is about; kind: "" if not said."""

    step: str
    subject: str
    kind: str


def decomposed(question: str, hops: int = 0) -> list[str]:
    """The sub-questions that a question takes, `#1` for the answer of the first; none where it cannot be read.

    hops: how many; 0 for two to four.
    """
    known = read(question, hops)
    if known is None:
        return []
    kind = f"the {min(known.kinds)} " if len(known.kinds) == 1 and known.kinds <= SHARED_NAMES else ""
    names = [kind + name for name in known.names]
    if known.compare:
        return [relations()[known.steps[0]].asked.format(x=name) for name in names]
    subjects = [names[0], *(f"#{turn}" for turn in range(1, len(known.steps)))]
    return [relations()[step].asked.format(x=one) for step, one in zip(known.steps, subjects, strict=True)]


def concluded(question: str, found: Sequence[str]) -> str:
    """The answer that follows from what was found at each hop; "unknown" without any."""
    if not found:
        return "unknown"
    known = read(question)
    if known is None or not known.compare or len(found) < 2:
        return found[-1]
    one, two = map(magnitude, found[:2])
    if known.compare in ("same", "differ"):
        return "yes" if (found[0] == found[1]) == (known.compare == "same") else "no"
    if known.compare in ("less", "more"):
        return "yes" if (one < two) == (known.compare == "less") else "no"
    return known.names[(one < two) != (known.compare == "least")]


def magnitude(text: str) -> tuple[int, ...]:
    """A date, a count or an amount, for comparison with another one."""
    months = {name: number for number, name in enumerate(MONTHS, start=1)}
    words = re.findall(r"[A-Za-z]+|\d[\d,]*", text)
    numbers = [months.get(word) or (int(word.replace(",", "")) if word[0].isdigit() else None) for word in words]
    return tuple(reversed([number for number in numbers if number is not None]))  # year, month, day


def asked(question: str) -> Asked | None:
    """A sub-question, read; None where its words are not known."""
    for step, pattern in _hops():
        if match := pattern.fullmatch(question):
            kind = KIND.match(match["x"])
            return Asked(step, match["x"][kind.end() if kind else 0 :], kind[1] if kind else "")
    return None


def answer_in(title: str, text: str, question: str) -> str:
    """What a paragraph answers to a sub-question, "" if nothing."""
    wanted = asked(question)
    if wanted is None:
        return ""
    kind, _, relation = wanted.step.rpartition("<")
    subject = _bare(wanted.subject)
    for other, said in stated(title, text):
        names = {_bare(one) for one in (title, said["name"], said.get("alias", ""))}
        if kind == other and _bare(said.get(relation, "")) == subject:
            return said["name"]
        if not kind and subject in names and wanted.kind in ("", other) and relation in said:
            return said[relation]
    return ""


def _bare(name: str) -> str:
    """A name without an article in front of it, which is a part of some names and not of others."""
    return re.sub("^[Tt]he ", "", name)


@cache
def stated(title: str, text: str) -> list[tuple[str, dict[str, str]]]:
    """Kinds of article that a paragraph can be, and what it then says: relation -> words."""
    name = re.sub(r" \(.*\)$", "", title)
    found = []
    for kind, groups in _sentences():
        said = [match.groupdict() for patterns in groups for each in patterns if (match := each.search(text))]
        merged = {key: value for one in said for key, value in one.items()}
        if merged.get("name") == name:
            found.append((kind, merged))
    return found


@cache
def _sentences() -> list[tuple[str, list[list[re.Pattern[str]]]]]:
    return [
        (kind, [[_pattern(text) for text in patterns] for _, patterns in groups])
        for kind, groups in sentences().items()
        if kind not in PEOPLE  # all of them are of the kind "person"
    ]


@cache
def _hops() -> list[tuple[str, re.Pattern[str]]]:
    return [(step, _pattern(relation.asked)) for step, relation in relations().items()]


def _pattern(text: str) -> re.Pattern[str]:
    """A text with fields as a pattern with groups of their names; it starts where a sentence starts."""
    parts, seen = [r"(?:^|(?<=\. ))"], set[str]()
    for literal, field, _, _ in Formatter().parse(text):
        parts.append(re.escape(literal))
        if field:
            parts.append(f"(?P={field})" if field in seen else rf"(?P<{field}>(?:(?!\. ).)+?)")
            seen.add(field)
    return re.compile("".join(parts))
