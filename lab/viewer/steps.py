"""Steps of an episode, and their text: one line and its details, the same for a terminal and for a page."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lab.models.backbone import Cost

MARKS = {True: "✓", False: "✗", None: "•"}
DIVERGED = "◆ first difference"
LINE = 1000  # characters of a title or a reason in a page's line; a longer one is shown in full in the details


@dataclass(frozen=True, slots=True)
class Exchange:
    """One prompt and its answer. messages: role and content, as sent. path: how it was parsed (`backbone.Call`)."""

    operator: str
    messages: tuple[Mapping[str, str], ...]
    answer: str
    path: str = ""
    cost: Cost = Cost()


class Change(NamedTuple):
    """One fact of a state before and after a step; None if the state lacks it."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One line of a timeline, with its details.

    verdict: whether the step was certified, verified or passed; None if it was not judged. reason: of the verdict, or a
    remark. target: the purpose of the step, by which two episodes are aligned; by default the title. view: what the
    world displayed before the step. view, action, observation: text or JSON values. exchanges: prompts and answers, if
    they are available. cost: of all its model calls. before, after: the certified state, fact -> value; JSON values.
    depth: in a search tree, 0 for the root.
    """

    title: str
    verdict: bool | None = None
    reason: str = ""
    target: str = ""
    view: Any = None
    action: Any = None
    observation: Any = None
    exchanges: tuple[Exchange, ...] = ()
    cost: Cost | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0

    @property
    def mark(self) -> str:
        """A tick, a cross, or a dot for a step that was not judged."""
        return MARKS[self.verdict]

    @property
    def changes(self) -> list[Change]:
        """The changes of the certified state by this step."""
        names = dict.fromkeys((*self.before, *self.after))
        changes = (Change(name, _fact(self.before, name), _fact(self.after, name)) for name in names)
        return [change for change in changes if change.before != change.after]

    @property
    def line(self) -> str:
        """The step's line without details; nothing is truncated."""
        words = f"{self.title} ({self.reason})" if self.reason else self.title
        # On one line: a line end in foreign text would look like another step.
        return f"{'  ' * self.depth}{self.mark} {' '.join(words.split())}"


def details(step: Step) -> list[tuple[str, str]]:
    """A step's details as (name, text), in the order of reading."""
    long_texts = {
        "title": step.title,
        "reason": step.reason,
        "for": "" if step.title.startswith(step.target) else step.target,
    }
    texts = [(name, text) for name, text in long_texts.items() if name == "for" or len(text) > LINE]
    texts += [("the world shows", plain(step.view))]
    texts += [("action", plain(step.action) if step.action != step.title else "")]
    texts += [("observation", plain(step.observation))]
    texts += [("changed", "\n".join(map(change_in_words, step.changes)))]
    for exchange in step.exchanges:
        texts += [(f"{exchange.operator}, {message['role']}", message["content"]) for message in exchange.messages]
        texts += [
            (
                f"{exchange.operator}, answer ({exchange.path})" if exchange.path else f"{exchange.operator}, answer",
                exchange.answer,
            )
        ]
    texts += [("cost", cost_in_words(step.cost))]
    return [(name, text) for name, text in texts if text]


def change_in_words(change: Change) -> str:
    """A change as text, such as "temperature: cold → hot"."""
    return f"{change.name}: {' → '.join('–' if value is None else value for value in change[1:])}"


def cost_in_words(cost: Cost | None, usd: float | None = None) -> str:
    """Calls, tokens and dollars as text; "" if there were no calls, or they are unknown."""
    if cost is None or not cost.calls:
        return ""
    words = [f"{cost.calls:,} call{'s' * (cost.calls > 1)}"]
    words += [f"{cost.tokens_in:,} tokens in, {cost.tokens_out:,} out"] * (cost.tokens_in + cost.tokens_out > 0)
    return ", ".join([*words, *([f"{usd:.4f} dollars"] if usd else [])])


def plain(value: Any) -> str:
    """A JSON value as readable text, without quotes and escapes; text stays as it is, and None becomes ""."""
    if isinstance(value, Mapping):
        return "\n".join(_entry(f"{name}:", item) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, (Mapping, list, tuple)) or "\n" in str(item) for item in value):
            return "\n".join(_entry("-", item) for item in value)
        return ", ".join(map(plain, value))
    return "" if value is None else str(value)


def _entry(name: str, value: Any) -> str:
    text = plain(value)
    nested = "\n" in text or (isinstance(value, Mapping) and value)
    return f"{name}\n{textwrap.indent(text, '  ')}" if nested else f"{name} {text}".rstrip()


def _fact(state: Mapping[str, Any], name: str) -> str | None:
    return plain(state[name]) if name in state else None
