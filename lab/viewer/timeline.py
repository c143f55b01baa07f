"""Timelines: an episode as steps that a person can look at, in a notebook, a terminal or a browser.

Every trajectory of the suite gives one `Timeline`. It says what happened and not how it is drawn: `lab.viewer.pages`
draws it, and escapes all of it there, since most of its text was written by a model, a world or a web page.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.files import write_atomically
from lab.machine.printing import visible
from lab.models.backbone import Cost
from lab.viewer.steps import DIVERGED, Exchange, Step, details, plain

if TYPE_CHECKING:
    from lab.runs.run import Episode


COLUMNS = 150  # characters of two episodes side by side, as text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Timeline:
    """An episode. task: its text. outcome: what became of it, in words. score: in [0, 1], None where it has none.

    about: what else is worth a line, such as the engine. notes: what is not shown here, and why.
    """

    title: str
    steps: tuple[Step, ...]
    task: str = ""
    outcome: str = ""
    score: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def text(self, detail: bool = False) -> str:
        """For a terminal: a line a step. detail: with what is behind each."""
        words = {"task": self.task} if self.task else {}
        lines = [self.title, *_lines(words | self.facts), *(f"note: {note}" for note in self.notes), ""]
        for number, step in enumerate(self.steps, start=1):
            lines.append(f"{number:>4} {step.line}")
            if detail:
                lines += [textwrap.indent(f"{name}: {words}", " " * 7) for name, words in details(step)]
        return visible("\n".join(lines))

    def html(self, path: Path | str) -> Path:
        """Write one self-contained HTML file, with every text in full."""
        from lab.viewer import pages

        return written(path, pages.page(self.title, pages.timeline(self, pages.FULL)))

    @property
    def facts(self) -> dict[str, str]:
        """What stands above the steps, name -> words: outcome, score, and what it is about."""
        facts = {"outcome": self.outcome, "score": self.score} | dict(self.about)
        return {name: plain(value) for name, value in facts.items() if value not in ("", None)}

    def _repr_html_(self) -> str:
        from lab.viewer import pages

        return pages.fragment(pages.timeline(self))

    def __repr__(self) -> str:
        return self.text()


class Row(NamedTuple):
    """A step of each of two episodes at the same target; None where only the other has one. Numbers are from 1."""

    left: tuple[int, Step] | None
    right: tuple[int, Step] | None

    @property
    def same(self) -> bool:
        """Whether both did the same, and it came out the same."""
        return not self.differs

    @property
    def differs(self) -> list[str]:
        """What differs, in words: some of it may be behind the lines."""
        if self.left is None or self.right is None:
            return ["only one has this step"]
        first, second = self.left[1], self.right[1]
        return [name for name in COMPARED if getattr(first, name) != getattr(second, name)]


COMPARED = ("title", "verdict", "action", "observation")  # not what it cost, nor what a model wrote besides


@dataclass(frozen=True, slots=True, repr=False)
class SideBySide:
    """Two episodes, aligned by target. diverged: the number of the first row, from 0, that differs; None if none."""

    left: Timeline
    right: Timeline
    rows: tuple[Row, ...]
    diverged: int | None

    def text(self, columns: int = COLUMNS) -> str:
        """For a terminal that is so many characters wide."""
        half = max(20, (columns - 3) // 2)
        heads = [[timeline.title, "; ".join(_lines(timeline.facts))] for timeline in self.timelines]
        lines = [line for pair in zip(*heads, strict=True) for line in _abreast(pair, half)] + [""]
        for index, row in enumerate(self.rows):
            if index == self.diverged:
                lines.append(f"{DIVERGED}: {', '.join(row.differs)}")
            cells = [f"{side[0]:>3} {side[1].line}" if side else "" for side in row]
            lines += _abreast(cells, half, "|" if row.same else "≠")
        return "\n".join(lines)

    @property
    def timelines(self) -> tuple[Timeline, Timeline]:
        """Both."""
        return self.left, self.right

    def html(self, path: Path | str) -> Path:
        """Write one self-contained HTML file, with every text in full."""
        from lab.viewer import pages

        title = f"{self.left.title} · {self.right.title}"
        return written(path, pages.page(title, pages.side_by_side(self, pages.FULL)))

    def _repr_html_(self) -> str:
        from lab.viewer import pages

        return pages.fragment(pages.side_by_side(self))

    def __repr__(self) -> str:
        return self.text()


def side_by_side(left: Timeline, right: Timeline) -> SideBySide:
    """Two episodes aligned by their steps' targets, in order; a repeated attempt stands beside a repeated attempt."""
    ours, theirs = ([*enumerate(timeline.steps, start=1)] for timeline in (left, right))
    keys = [list(_keys(timeline.steps)) for timeline in (left, right)]
    # What they begin with alike stands together, before longer runs of like targets are looked for behind it.
    alike = next(
        (n for n, (ours_key, theirs_key) in enumerate(zip(*keys, strict=False)) if ours_key != theirs_key),
        min(map(len, keys)),
    )
    rows = [Row(*pair) for pair in zip(ours[:alike], theirs[:alike], strict=True)]
    # Not autojunk: what is frequent, such as one target in a long row of attempts, is no junk here.
    rest = SequenceMatcher(None, keys[0][alike:], keys[1][alike:], autojunk=False)
    for kind, *ends in rest.get_opcodes():
        a, b, c, d = (index + alike for index in ends)
        if kind == "equal":
            rows += [Row(*pair) for pair in zip(ours[a:b], theirs[c:d], strict=True)]
        else:
            rows += [
                *(Row(ours_key, None) for ours_key in ours[a:b]),
                *(Row(None, theirs_key) for theirs_key in theirs[c:d]),
            ]
    diverged = next((index for index, row in enumerate(rows) if not row.same), None)
    return SideBySide(left, right, tuple(rows), diverged)


def written(path: Path | str, text: str) -> Path:
    """Write a page; its path."""
    write_atomically(Path(path), text.encode("utf-8"))
    return Path(path)


def _lines(facts: Mapping[str, str]) -> list[str]:
    return [f"{name}: {text}" for name, text in facts.items()]


def _keys(steps: Iterable[Step]) -> Iterable[tuple[str, int]]:
    """A step's target, and the how many-th step in a row for it that it is."""
    before, count = "", 0
    for step in steps:
        target = step.target or step.title
        count = count + 1 if target == before else 0
        before = target
        yield target, count


def _abreast(texts: Sequence[str], width: int, between: str = "|") -> list[str]:
    """Two texts in columns of so many characters."""
    sides = [textwrap.wrap(visible(text), width, subsequent_indent=" " * 6) for text in texts]
    rows: Sequence[int] = range(max(map(len, sides)))
    pairs = ([side[n] if n < len(side) else "" for side in sides] for n in rows)
    return [f"{left:<{width}} {between} {right}".rstrip() for left, right in pairs]


def generic_timeline(episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
    """The timeline of any episode, of which an experiment may tell more.

    A step a call, then the result as it was kept, or the error that the agent failed with.
    """
    steps = [
        Step(title=exchange.operator, action=exchange.answer, exchanges=(exchange,), cost=exchange.cost)
        for exchange in exchanges
    ]
    if episode.error is None:
        last = Step(title="result", observation=episode.result)
    else:
        last = Step(title="failed", verdict=False, reason=cause(episode.error), observation=episode.error)
    return Timeline(title=episode.task, steps=(*steps, last))


def cause(error: str | None) -> str:
    """A traceback's last line; "" for none."""
    return (error or "").strip().rpartition("\n")[2].strip()


def dealt(exchanges: Sequence[Exchange], counts: Sequence[int]) -> list[tuple[Exchange, ...]]:
    """The exchanges of each step, by how many calls it made; none for all where the numbers do not add up."""
    if sum(counts) != len(exchanges):
        return [()] * len(counts)
    left: Iterator[Exchange] = iter(exchanges)
    return [tuple(next(left) for _ in range(count)) for count in counts]


def cost_of(exchanges: Sequence[Exchange]) -> Cost | None:
    """What they took together; None for none."""
    return sum((exchange.cost for exchange in exchanges), Cost()) if exchanges else None
