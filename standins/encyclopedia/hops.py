"""Reader of the synthetic encyclopedia: a question into hops, a paragraph into facts, findings into an answer.

The stand-ins of all agents know this world through it. It reads only the words that it is given, as a model does. It
sees neither the facts behind them nor the question templates on which results are reported.
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
    """A sub-question. step: a relation of `questions`. subject: what it is about. kind: its kind, "" if unstated."""

    step: str
    subject: str
    kind: str


def decomposed(question: str, hops: int = 0) -> list[str]:
    """The sub-questions of a question, `#1` standing for the answer of the first; empty if the question cannot be read.

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
    return [relations()[step].asked.format(x=subject) for step, subject in zip(known.steps, subjects, strict=True)]


def concluded(question: str, found: Sequence[str]) -> str:
    """The answer that follows from the findings of the hops; "unknown" if there are none."""
    if not found:
        return "unknown"
    known = read(question)
    if known is None or not known.compare or len(found) < 2:
        return found[-1]
    first, second = map(magnitude, found[:2])
    if known.compare in ("same", "differ"):
        return "yes" if (found[0] == found[1]) == (known.compare == "same") else "no"
    if known.compare in ("less", "more"):
        return "yes" if (first < second) == (known.compare == "less") else "no"
    return known.names[(first < second) != (known.compare == "least")]


def magnitude(text: str) -> tuple[int, ...]:
    """A date, a count or an amount, as a tuple that can be compared."""
    months = {name: number for number, name in enumerate(MONTHS, start=1)}
    words = re.findall(r"[A-Za-z]+|\d[\d,]*", text)
    numbers = [months.get(word) or (int(word.replace(",", "")) if word[0].isdigit() else None) for word in words]
    return tuple(reversed([number for number in numbers if number is not None]))  # year, month, day


def asked(question: str) -> Asked | None:
    """Read a sub-question; None if its words are unknown."""
    for step, pattern in _hops():
        if match := pattern.fullmatch(question):
            kind = KIND.match(match["x"])
            return Asked(step, match["x"][kind.end() if kind else 0 :], kind[1] if kind else "")
    return None


def answer_in(title: str, text: str, question: str) -> str:
    """A paragraph's answer to a sub-question; "" if it has none."""
    wanted = asked(question)
    if wanted is None:
        return ""
    kind, _, relation = wanted.step.rpartition("<")
    subject = _bare(wanted.subject)
    for article_kind, facts in stated(title, text):
        names = {_bare(name) for name in (title, facts["name"], facts.get("alias", ""))}
        if kind == article_kind and _bare(facts.get(relation, "")) == subject:
            return facts["name"]
        if not kind and subject in names and wanted.kind in ("", article_kind) and relation in facts:
            return facts[relation]
    return ""


def _bare(name: str) -> str:
    """A name without a leading article, since some names include it and some do not."""
    return re.sub("^[Tt]he ", "", name)


@cache
def stated(title: str, text: str) -> list[tuple[str, dict[str, str]]]:
    """The kinds of article that a paragraph can be, each with the facts it then states: relation -> words."""
    name = re.sub(r" \(.*\)$", "", title)
    readings = []
    for kind, groups in _sentences():
        matches = [match.groupdict() for patterns in groups for pattern in patterns if (match := pattern.search(text))]
        merged = {key: value for facts in matches for key, value in facts.items()}
        if merged.get("name") == name:
            readings.append((kind, merged))
    return readings


@cache
def _sentences() -> list[tuple[str, list[list[re.Pattern[str]]]]]:
    return [
        (kind, [[_pattern(text) for text in patterns] for _, patterns in groups])
        for kind, groups in sentences().items()
        if kind not in PEOPLE  # these are all read as the kind "person"
    ]


@cache
def _hops() -> list[tuple[str, re.Pattern[str]]]:
    return [(step, _pattern(relation.asked)) for step, relation in relations().items()]


def _pattern(text: str) -> re.Pattern[str]:
    """A text with fields as a pattern with groups of the same names, matching from the start of a sentence."""
    parts, seen = [r"(?:^|(?<=\. ))"], set[str]()
    for literal, field, _, _ in Formatter().parse(text):
        parts.append(re.escape(literal))
        if field:
            parts.append(f"(?P={field})" if field in seen else rf"(?P<{field}>(?:(?!\. ).)+?)")
            seen.add(field)
    return re.compile("".join(parts))
