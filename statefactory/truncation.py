"""Truncation of prompts that exceed an engine's stated context: what goes first. The task itself is never cut.

    judge, stateless    the oldest steps, then the end of the newest observation
    judge, stateful     the end of the observation, then the end of the belief
    Modules A, C        the end of the observation down to 2,000 characters, then the oldest objects of the state
    Module B            the oldest objects of the previous state, then those of the current state

A function takes a prompt's fields and how many characters are too many, and returns the fields one notch shorter, or
None when nothing more may go. A prompt that was cut says so: by MARK, or by how many steps or objects are left out.
Source: the 8,192-token context is that of Shen et al. 2026, Appendices C.3 and C.4, which state no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from lab.models.prompts import Fields, Shorten

F = TypeVar("F", bound=Fields)
MARK = " [the rest is left out]"
LEAST_OBSERVATION = 2000  # characters of an observation that the modules keep, however large the state is


def shortened(*names: str) -> Shorten:
    """A `shorten` of a module's prompt: these fields go one after the other, as far as it takes.

    Of an observation its end goes, of a state the objects that were listed first.
    """

    def shorten(fields: F, characters_over: int) -> F | None:
        for name in names:
            if name == "observation":
                shorter = shorter_text(fields, name, characters_over, LEAST_OBSERVATION)
            else:
                shorter = without_oldest(fields, name, characters_over)
            if shorter:
                return shorter
        return None

    return shorten


def shorter_text(fields: F, name: str, characters_over: int, least: int = 0) -> F | None:
    """The fields with the end of a text replaced by MARK; None if that makes it no shorter than it is."""
    text = without_end(getattr(fields, name) or "", characters_over, least)
    return None if text is None else fields.model_copy(update={name: text})


def without_end(text: str, characters_over: int, least: int = 0) -> str | None:
    """The text with its end replaced by MARK, `least` characters kept; None if that makes it no shorter."""
    kept = max(least, len(text) - characters_over - len(MARK))
    # A text that was cut before loses its mark first: marks would add up, notch after notch.
    return text.removesuffix(MARK)[:kept] + MARK if kept + len(MARK) < len(text) else None


def without_oldest(fields: F, name: str, characters_over: int) -> F | None:
    """The fields without the first items of a state, as many as it takes; None if it has none."""
    counted: Any = fields  # of a module: those have `left_out`
    items = getattr(fields, name) or ()
    count = oldest([_length(item) for item in items], characters_over)
    return fields.model_copy(update={name: items[count:], "left_out": counted.left_out + count}) if items else None


def oldest(sizes: Sequence[int], characters_over: int) -> int:
    """How many items to leave out, first ones first, to be rid of that many characters; all if they do not do."""
    freed = 0
    for count, size in enumerate(sizes):
        if freed >= characters_over:
            return count
        freed += size
    return len(sizes)


def _length(item: Any) -> int:
    """Characters of an item in a list of JSON, its comma included."""
    from pydantic_core import to_json

    return len(to_json(item).decode("utf-8", "replace")) + 1
