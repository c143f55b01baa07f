"""The rules engine's answers to the prompts for multi-hop questions, from the texts of the made encyclopedia.

They read a paragraph by the sentences that its articles are made of, and a question by `reading`. A question that this
cannot read is broken into nothing, and fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from string import Formatter
from typing import NamedTuple

from lab.models.rules import rule
from sdp.adapters.multihop.prompts import (
    ANSWER,
    CONSISTENT,
    DECOMPOSE,
    EXTRACT,
    GUESS,
    QUERY,
    VERIFY,
    AnswerFields,
    Consistent,
    ConsistentFields,
    DecomposeFields,
    Extract,
    ExtractFields,
    Final,
    Guess,
    GuessFields,
    Query,
    QueryFields,
    Shown,
    SubQuestions,
    Told,
    Verified,
    VerifyFields,
)
from sdp.adapters.multihop.reading import read, relations
from worlds.encyclopedia.articles import PEOPLE, sentences
from worlds.encyclopedia.chains import SHARED_NAMES
from worlds.encyclopedia.relations import MONTHS

UNREADABLE = "What is this question about?"
MISSING = "It is not mentioned in the paragraphs."
KIND = re.compile(f"the ({'|'.join(SHARED_NAMES)}) ")


class Asked(NamedTuple):
    """A sub-question. step: a relation of `reading`. subject: whom it is about; kind: "" if not said."""

    step: str
    subject: str
    kind: str


@rule(DECOMPOSE)
def decompose(fields: DecomposeFields) -> SubQuestions:
    """The hops that the question is read as, but for those that are certified."""
    known = read(fields.question, fields.count and fields.count + len(fields.found))
    if known is None:
        return SubQuestions(questions=[UNREADABLE])
    kind = f"the {min(known.kinds)} " if len(known.kinds) == 1 and known.kinds <= SHARED_NAMES else ""
    names = [kind + name for name in known.names]
    if known.compare:
        hops = [relations()[known.steps[0]].asked.format(x=name) for name in names]
    else:
        subjects = [names[0], *(f"#{turn}" for turn in range(1, len(known.steps)))]
        hops = [relations()[step].asked.format(x=one) for step, one in zip(known.steps, subjects, strict=True)]
    return SubQuestions(questions=hops[len(fields.found) :] or hops[-1:])


@rule(QUERY)
def query(fields: QueryFields) -> Query:
    """Whom the sub-question is about."""
    found = asked(fields.asked)
    return Query(query=found.subject if found else fields.asked)


@rule(GUESS)
def guess(fields: GuessFields) -> Guess:
    """No rule knows more than the texts; the question itself is looked up."""
    return Guess(guess=fields.question)


@rule(EXTRACT)
def extract(fields: ExtractFields) -> Extract:
    """What the first paragraph says that answers the sub-question."""
    found = ((one.title, answer) for one in fields.paragraphs if (answer := answer_in(one, fields.asked)))
    title, answer = next(found, ("", ""))
    return Extract(title=title, finding=f"{fields.asked} {answer}." if answer else MISSING, entity=answer)


@rule(VERIFY)
def verify(fields: VerifyFields) -> Verified:
    """Whether this paragraph answers the sub-question so."""
    answer = answer_in(Shown(title=fields.title, text=fields.text), fields.asked)
    supported = bool(answer) and answer in fields.finding
    return Verified(
        reason="the paragraph says it" if supported else "the paragraph says otherwise", supported=supported
    )


@rule(ANSWER)
def answer(fields: AnswerFields) -> Final:
    """What the last hop found or, of two that are compared, what follows from both."""
    return Final(answer=concluded(fields.question, fields.found))


@rule(CONSISTENT)
def consistent(fields: ConsistentFields) -> Consistent:
    """Whether the same follows."""
    follows = concluded(fields.question, fields.found) == fields.answer
    return Consistent(reason="it follows" if follows else "something else follows", consistent=follows)


def concluded(question: str, found: Sequence[Told]) -> str:
    """The answer that follows from the findings; "unknown" without any."""
    if not found:
        return "unknown"
    known = read(question)
    if known is None or not known.compare or len(found) < 2:
        return found[-1].entity
    one, two = (magnitude(each.entity) for each in found[:2])
    if known.compare in ("same", "differ"):
        return "yes" if (found[0].entity == found[1].entity) == (known.compare == "same") else "no"
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


def answer_in(paragraph: Shown, question: str) -> str:
    """What a paragraph answers to a sub-question, "" if nothing."""
    wanted = asked(question)
    if wanted is None:
        return ""
    kind, _, relation = wanted.step.rpartition("<")
    subject = _bare(wanted.subject)
    for other, said in stated(paragraph.title, paragraph.text):
        names = {_bare(one) for one in (paragraph.title, said["name"], said.get("alias", ""))}
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
