"""Lexicons of readers: words as regular expressions in a YAML file, and where a text has them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lab.machine.reading import read_yaml

Tag = tuple[str, str]  # a section of a lexicon, and what words of it stand for
Patterns = list[tuple[Tag, re.Pattern[str]]]


def sections(path: Path) -> dict[str, Any]:
    """A lexicon's sections by name; expressions may be folded behind any "|"."""

    def joined(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: joined(value) for key, value in one.items()}
        if isinstance(one, list):
            return [joined(value) for value in one]
        return one.replace("| ", "|") if isinstance(one, str) else one

    return {key: joined(value) for section in read_yaml(path) for key, value in section.items()}


def patterns(words: Iterable[tuple[Tag, str]]) -> Patterns:
    return [(tag, re.compile(rf"(?<!\w)(?:{said})(?!\w)")) for tag, said in words]


def spans(text: str, known: Patterns) -> dict[tuple[int, int], frozenset[Tag]]:
    """What is said, in order; longer words take the place of the shorter ones that they contain."""
    found: dict[tuple[int, int], set[Tag]] = {}
    for tag, pattern in known:
        for match in pattern.finditer(text):
            found.setdefault(match.span(), set()).add(tag)
    return {
        (start, end): frozenset(tags)
        for (start, end), tags in sorted(found.items())
        if not any(a <= start and end <= b and (a, b) != (start, end) for a, b in found)
    }
