"""A timeline in words: what stands in a step's line, and what behind it; the same for a terminal and for a page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.models.usage import Cost
    from lab.viewer.timeline import Change, Step

MARKS = {True: "✓", False: "✗", None: "•"}
DIVERGED = "◆ first difference"
LINE = 1000  # characters of a title or a reason in a page's line; what is longer stands in full behind it


def details(step: Step) -> list[tuple[str, str]]:
    """What is behind a step's line, as names and texts, in the order of reading."""
    long = {
        "title": step.title,
        "reason": step.reason,
        "for": "" if step.title.startswith(step.target) else step.target,
    }
    told = [(name, text) for name, text in long.items() if name == "for" or len(text) > LINE]
    told += [("the world shows", plain(step.view))]
    told += [("action", plain(step.action) if step.action != step.title else "")]
    told += [("observation", plain(step.observation))]
    told += [("changed", "\n".join(map(change_in_words, step.changes)))]
    for each in step.exchanges:
        told += [(f"{each.operator}, {message['role']}", message["content"]) for message in each.messages]
        told += [(f"{each.operator}, answer ({each.path})" if each.path else f"{each.operator}, answer", each.answer)]
    told += [("cost", cost_in_words(step.cost, step.usd))]
    return [(name, text) for name, text in told if text]


def change_in_words(change: Change) -> str:
    """Such as "temperature: cold → hot"."""
    return f"{change.name}: {' → '.join('–' if value is None else value for value in change[1:])}"


def cost_in_words(cost: Cost | None, usd: float | None = None) -> str:
    """Calls, tokens and dollars; "" where nothing was asked, or it is not known."""
    if cost is None or not cost.calls:
        return ""
    told = [f"{cost.calls:,} call{'s' * (cost.calls > 1)}"]
    told += [f"{cost.tokens_in:,} tokens in, {cost.tokens_out:,} out"] * (cost.tokens_in + cost.tokens_out > 0)
    return ", ".join([*told, *([f"{usd:.4f} dollars"] if usd else [])])


def plain(value: Any) -> str:
    """A JSON value as text to be read, without JSON's quotes and escapes; text stays as it is, and None is empty."""
    if isinstance(value, Mapping):
        return "\n".join(_entry(f"{name}:", each) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        if any(isinstance(each, (Mapping, list, tuple)) or "\n" in str(each) for each in value):
            return "\n".join(_entry("-", each) for each in value)
        return ", ".join(map(plain, value))
    return "" if value is None else str(value)


def _entry(name: str, value: Any) -> str:
    text = plain(value)
    deep = "\n" in text or (isinstance(value, Mapping) and value)
    return f"{name}\n{textwrap.indent(text, '  ')}" if deep else f"{name} {text}".rstrip()
