"""Truncation of prompts that exceed an engine's stated context length. The task itself is never cut. What is cut first:

    judge, stateless    the oldest steps, then the end of the newest observation
    judge, stateful     the end of the observation, then the end of the belief
    Modules A, C        the end of the observation down to 2,000 characters, then the oldest objects of the state
    Module B            the oldest objects of the previous state, then those of the current state

Each function takes a prompt's fields and the number of excess characters. It returns fields that are one cut shorter,
or None if nothing more may be cut. A truncated prompt says so, by MARK or by the number of omitted steps or objects.
Source: the 8,192-token context is that of Shen et al. 2026, Appendices C.3 and C.4, which state no truncation rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from lab.models.prompts import Fields, Shorten

F = TypeVar("F", bound=Fields)
MARK = " [the rest is left out]"
LEAST_OBSERVATION = 2000  # characters of an observation that the modules always keep, however large the state is


def shortened(*names: str) -> Shorten:
    """Make the `shorten` function of a module's prompt. It cuts the named fields in this order, as far as needed.

    An observation loses its end, a state the objects that are listed first.
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
    """The fields with one text cut as by `without_end`; None if that does not shorten it. least: characters to keep."""
    text = without_end(getattr(fields, name) or "", characters_over, least)
    return None if text is None else fields.model_copy(update={name: text})


def without_end(text: str, characters_over: int, least: int = 0) -> str | None:
    """The text with its end replaced by MARK; None if that does not shorten it. least: characters to keep."""
    length = max(least, len(text) - characters_over - len(MARK))
    # Remove the mark of an earlier cut first; otherwise marks would accumulate.
    return text.removesuffix(MARK)[:length] + MARK if length + len(MARK) < len(text) else None


def without_oldest(fields: F, name: str, characters_over: int) -> F | None:
    """The fields without the first items of a state, as many as necessary; None if the state is empty."""
    counted: Any = fields  # fields of a module, which have `left_out`
    items = getattr(fields, name) or ()
    count = oldest([_length(item) for item in items], characters_over)
    return fields.model_copy(update={name: items[count:], "left_out": counted.left_out + count}) if items else None


def oldest(sizes: Sequence[int], characters_over: int) -> int:
    """How many of the first items to omit to save that many characters; all if even that is not enough."""
    freed = 0
    for count, size in enumerate(sizes):
        if freed >= characters_over:
            return count
        freed += size
    return len(sizes)


def _length(item: Any) -> int:
    """Characters of an item in a JSON list, including its comma."""
    from pydantic_core import to_json

    return len(to_json(item).decode("utf-8", "replace")) + 1
