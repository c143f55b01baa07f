"""Reads the synthetic encyclopedia's articles back: a reader who has the sentence patterns, and not the fact graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from string import Formatter

from worlds.encyclopedia.articles import Paragraph, sentences
from worlds.encyclopedia.layout import PEOPLE

KINDS = [kind for kind in sentences() if kind not in PEOPLE]
FORMS = {"they": "he|she|it", "They": "He|She|It", "their": "his|her|its"}


@lru_cache
def patterns(kind: str) -> list[list[re.Pattern[str]]]:
    return [[whole_sentences(pattern) for pattern in group] for _, group in sentences()[kind]]


def whole_sentences(pattern: str) -> re.Pattern[str]:
    """A sentence pattern as a regular expression, a field named again being the same words."""
    parts, seen = [], set()
    for literal, field, _, _ in Formatter().parse(pattern):
        parts.append(re.escape(literal))
        if field is not None:
            parts.append(f"(?P={field})" if field in seen else f"(?P<{field}>{FORMS.get(field, '[^.;()]+?')})")
            seen.add(field)
    return re.compile(r"(?:(?<=^)|(?<=\. ))" + "".join(parts) + r"(?=$| )")


@lru_cache(maxsize=4096)
def read(paragraph: Paragraph) -> tuple[str, dict[str, str]]:
    """Kind of an article's entity, and what it says field by field. Fails unless there is one way to read it."""
    readings = [(kind, found) for kind in KINDS if (found := read_as(kind, paragraph.text)) is not None]
    assert len(readings) == 1, (paragraph, readings)
    return readings[0]


def read_as(kind: str, text: str) -> dict[str, str] | None:
    fields: dict[str, str] = {}
    left = text
    for turn, group in enumerate(patterns(kind)):
        matches = [match for pattern in group for match in pattern.finditer(text)]
        if len(matches) > 1 or (turn == 0 and not matches):
            return None
        for match in matches:
            fields |= match.groupdict()
            left = left.replace(match[0], "", 1)
    return None if left.strip() else fields


def names(paragraph: Paragraph, fields: dict[str, str]) -> set[str]:
    return {paragraph.title, fields["name"], fields.get("alias", fields["name"])}


def answers(step: str, subject: str, kind: str | None, shown: Sequence[Paragraph]) -> list[tuple[int, str]]:
    """All that paragraphs say in answer to a hop, with the number of the paragraph: one, if the hop is clear."""
    found = []
    wanted, _, relation = step.rpartition("<")
    for paragraph in shown:
        own, fields = read(paragraph)
        if wanted:
            if own == wanted and fields.get(relation) == subject:
                found.append((paragraph.number, paragraph.title))
        elif step in fields and subject in names(paragraph, fields) and kind in (None, own):
            found.append((paragraph.number, fields[step]))
    return found
