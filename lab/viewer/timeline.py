"""Timelines: an episode as steps that a person can read, in a notebook, a terminal or a browser.

Every trajectory of the suite can be converted to a `Timeline`, which holds content and no layout: `lab.viewer.pages`
renders it, and escapes all text, since most of it was written by a model, a world or a web page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.files import write_atomically
from lab.machine.printing import visible
from lab.models.backbone import Cost
from lab.viewer.steps import DIVERGED, Exchange, Step, details, plain

if TYPE_CHECKING:
    from IPython.display import HTML

    from lab.runs.run import Episode


COLUMNS = 150  # default width, in characters, of two episodes side by side as text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Timeline:
    """An episode. task: the task's text. outcome: as text. score: in [0, 1], None if it has none.

    about: further facts, such as the engine. notes: what is not displayed, and why.
    """

    title: str
    steps: tuple[Step, ...]
    task: str = ""
    outcome: str = ""
    score: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def text(self, detail: bool = False) -> str:
        """The timeline for a terminal, one line per step. detail: with the details of every step."""
        words = {"task": self.task} if self.task else {}
        lines = [self.title, *_lines(words | self.facts), *(f"note: {note}" for note in self.notes), ""]
        for number, step in enumerate(self.steps, start=1):
            lines.append(f"{number:>4} {step.line}")
            if detail:
                lines += [textwrap.indent(f"{name}: {words}", " " * 7) for name, words in details(step)]
        return visible("\n".join(lines))

    def html(self, path: Path | str) -> Path:
        """Write one self-contained HTML file, with all texts in full; returns its path."""
        from lab.viewer import pages

        return written(path, pages.page(self.title, pages.timeline(self, pages.FULL)))

    @property
    def facts(self) -> dict[str, str]:
        """The facts above the steps, name -> text: outcome, score, and those of `about`."""
        facts = {"outcome": self.outcome, "score": self.score} | dict(self.about)
        return {name: plain(value) for name, value in facts.items() if value not in ("", None)}

    def folded(self) -> HTML:
        """The timeline collapsed under its title, for the end of a notebook's cell."""
        from IPython.display import HTML

        return HTML(f"<details><summary>{escape(visible(self.title))}</summary>{self._repr_html_()}</details>")

    def _repr_html_(self) -> str:
        from lab.viewer import pages

        return pages.fragment(pages.timeline(self))

    def __repr__(self) -> str:
        return self.text()


class Row(NamedTuple):
    """Two episodes' steps for the same target, with their numbers from 1; None if an episode has none."""

    left: tuple[int, Step] | None
    right: tuple[int, Step] | None

    @property
    def same(self) -> bool:
        """Whether both steps did the same with the same result."""
        return not self.differs

    @property
    def differs(self) -> list[str]:
        """Names of the fields that differ; some may be visible only in the details."""
        if self.left is None or self.right is None:
            return ["only one has this step"]
        first, second = self.left[1], self.right[1]
        return [name for name in COMPARED if getattr(first, name) != getattr(second, name)]


COMPARED = ("title", "verdict", "action", "observation")  # not costs, nor what else a model wrote


@dataclass(frozen=True, slots=True, repr=False)
class SideBySide:
    """Two episodes, aligned by target. diverged: index, from 0, of the first row that differs, or None."""

    left: Timeline
    right: Timeline
    rows: tuple[Row, ...]
    diverged: int | None

    def text(self, columns: int = COLUMNS) -> str:
        """Both episodes as text of `columns` characters per line, for a terminal."""
        half = max(20, (columns - 3) // 2)
        headings = [[timeline.title, "; ".join(_lines(timeline.facts))] for timeline in self.timelines]
        lines = [line for pair in zip(*headings, strict=True) for line in _abreast(pair, half)] + [""]
        for index, row in enumerate(self.rows):
            if index == self.diverged:
                lines.append(f"{DIVERGED}: {', '.join(row.differs)}")
            cells = [f"{side[0]:>3} {side[1].line}" if side else "" for side in row]
            lines += _abreast(cells, half, "|" if row.same else "≠")
        return "\n".join(lines)

    @property
    def timelines(self) -> tuple[Timeline, Timeline]:
        """Both timelines."""
        return self.left, self.right

    def html(self, path: Path | str) -> Path:
        """Write one self-contained HTML file, with all texts in full; returns its path."""
        from lab.viewer import pages

        title = f"{self.left.title} · {self.right.title}"
        return written(path, pages.page(title, pages.side_by_side(self, pages.FULL)))

    def _repr_html_(self) -> str:
        from lab.viewer import pages

        return pages.fragment(pages.side_by_side(self))

    def __repr__(self) -> str:
        return self.text()


def side_by_side(left: Timeline, right: Timeline) -> SideBySide:
    """Align two episodes by their steps' targets, in order; repeated attempts are aligned with repeated attempts."""
    left_steps, right_steps = ([*enumerate(timeline.steps, start=1)] for timeline in (left, right))
    keys = [list(_keys(timeline.steps)) for timeline in (left, right)]
    # Align the common beginning first; otherwise a longer common sequence further on could take precedence.
    common = next(
        (position for position, (left_key, right_key) in enumerate(zip(*keys, strict=False)) if left_key != right_key),
        min(map(len, keys)),
    )
    rows = [Row(*pair) for pair in zip(left_steps[:common], right_steps[:common], strict=True)]
    # Without autojunk, which ignores frequent items, such as the target of many attempts.
    matcher = SequenceMatcher(None, keys[0][common:], keys[1][common:], autojunk=False)
    for operation, *bounds in matcher.get_opcodes():
        left_start, left_end, right_start, right_end = (index + common for index in bounds)
        if operation == "equal":
            rows += [
                Row(*pair)
                for pair in zip(left_steps[left_start:left_end], right_steps[right_start:right_end], strict=True)
            ]
        else:
            rows += [
                *(Row(left_key, None) for left_key in left_steps[left_start:left_end]),
                *(Row(None, right_key) for right_key in right_steps[right_start:right_end]),
            ]
    diverged = next((index for index, row in enumerate(rows) if not row.same), None)
    return SideBySide(left, right, tuple(rows), diverged)


def written(path: Path | str, text: str) -> Path:
    """Write a page and return its path."""
    write_atomically(Path(path), text.encode("utf-8"))
    return Path(path)


def _lines(facts: Mapping[str, str]) -> list[str]:
    return [f"{name}: {text}" for name, text in facts.items()]


def _keys(steps: Iterable[Step]) -> Iterable[tuple[str, int]]:
    """Yield (target, number of directly preceding steps for the same target) of every step."""
    previous, count = "", 0
    for step in steps:
        target = step.target or step.title
        count = count + 1 if target == previous else 0
        previous = target
        yield target, count


def _abreast(texts: Sequence[str], width: int, between: str = "|") -> list[str]:
    """Lines of two texts in columns of `width` characters."""
    sides = [textwrap.wrap(visible(text), width, subsequent_indent=" " * 6) for text in texts]
    indices: Sequence[int] = range(max(map(len, sides)))
    pairs = ([side[index] if index < len(side) else "" for side in sides] for index in indices)
    return [f"{left:<{width}} {between} {right}".rstrip() for left, right in pairs]


def generic_timeline(episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
    """The timeline of any episode; an experiment may have a better one.

    It has one step per call, then the stored result, or the error that the agent failed with.
    """
    steps = [
        Step(title=exchange.operator, action=exchange.answer, exchanges=(exchange,), cost=exchange.cost)
        for exchange in exchanges
    ]
    if episode.error is None:
        last_step = Step(title="result", observation=episode.result)
    else:
        last_step = Step(title="failed", verdict=False, reason=cause(episode.error), observation=episode.error)
    return Timeline(title=episode.task, steps=(*steps, last_step))


def cause(error: str | None) -> str:
    """A traceback's last line; "" for none."""
    return (error or "").strip().rpartition("\n")[2].strip()


def dealt(exchanges: Sequence[Exchange], counts: Sequence[int]) -> list[tuple[Exchange, ...]]:
    """Distribute exchanges over steps. counts: calls of each step. No step gets any if the sum does not match."""
    if sum(counts) != len(exchanges):
        return [()] * len(counts)
    remaining: Iterator[Exchange] = iter(exchanges)
    return [tuple(next(remaining) for _ in range(count)) for count in counts]


def cost_of(exchanges: Sequence[Exchange]) -> Cost | None:
    """The total cost of the exchanges; None if there are none."""
    return sum((exchange.cost for exchange in exchanges), Cost()) if exchanges else None
