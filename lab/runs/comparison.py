"""Two runs compared on the tasks that both have: the paired difference, its test, and which tasks flipped."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.printing import aligned, visible
from lab.models import engines
from lab.models.cache import canonical
from lab.models.replay import MissingRun
from lab.results import display
from lab.results.exports import EMPTY, readable
from lab.results.headlines import headlines, paired
from lab.results.outcomes import Score
from lab.results.statistics import Comparison, Interval, holm
from lab.runs import catalogue
from lab.viewer.episodes import Kept, UnknownTask
from lab.viewer.timeline import SideBySide, side_by_side

if TYPE_CHECKING:
    import pandas as pd

MOST = 20  # flipped tasks that are listed
LONGEST = 60  # characters of a setting or a reason in the printed tables


class NothingShared(ValueError):
    """Two runs have no scored task in common."""


class Pair(NamedTuple):
    """What both runs scored: the same task, or the same pair of episodes."""

    first: Score
    second: Score

    @property
    def flipped(self) -> bool:
        """Whether it came out otherwise."""
        return self.first.value != self.second.value


@dataclass(frozen=True)
class Part:
    """One part of both runs, such as a condition; runs without parts have one. pairs: what both have, the largest
    differences first. of_first, of_second: how many scores each has. p: Holm's, where there are several parts.
    """

    first: str
    second: str
    pairs: tuple[Pair, ...]
    of_first: int
    of_second: int
    result: Comparison
    p: float

    @property
    def name(self) -> str:
        """ "Human-TN", or "Human-TN − No-TN"."""
        return self.first if self.first == self.second else f"{self.first or 'all'} − {self.second or 'all'}"

    @property
    def test(self) -> str:
        """The name of the test behind p."""
        return "sign-flip test" if self.result.mcnemar is None else "McNemar's test"


@dataclass(frozen=True, repr=False)
class Compared:
    """Two runs side by side. settings: those that differ, by name, in the first and the second; None where not set."""

    first: Kept
    second: Kept
    metric: str
    settings: Mapping[str, tuple[Any, Any]]
    parts: tuple[Part, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """A row a part: both means, the difference with its 95 % interval, the test, and how many tasks flipped. Rates
        are in percent.
        """
        import pandas as pd

        return pd.DataFrame([_row(self.metric, part) for part in self.parts])

    @property
    def flipped(self) -> pd.DataFrame:
        """A row for each task that came out otherwise, the largest differences first, with what each run says of it."""
        lines = [
            (part.name, pair.first.of, pair.first.value, pair.second.value, pair.first.why, pair.second.why)
            for part in self.parts
            for pair in part.pairs
            if pair.flipped
        ]
        return readable(lines, columns=["part", "task", "first", "second", "of the first", "of the second"])

    def side_by_side(self, task: str = "", prompts: bool = False) -> SideBySide:
        """The episodes of a task in both runs, step by step; by default of the first that flipped.

        prompts: with prompts and answers. Raises UnknownTask.
        """
        pairs = [pair for part in self.parts for pair in part.pairs]
        named = [pair for pair in pairs if task in (pair.first.of, *pair.first.tasks, *pair.second.tasks)]
        found = named if task else sorted(pairs, key=lambda pair: not pair.flipped)
        if not found:
            known = ", ".join(pair.first.of for pair in pairs[:5])
            raise UnknownTask(f"the two runs share no task {task!r}; some that they do: {known}")
        # Of several episodes, such as those of a pair, the one that was asked for, else the first.
        sides = [
            kept.timeline(task if task in score.tasks else score.tasks[0], prompts)
            for kept, score in zip((self.first, self.second), found[0], strict=True)
        ]
        return side_by_side(*sides)

    def text(self) -> str:
        """For a terminal."""
        return visible("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        yield from (f"{which:6}  {told}" for which, told in self._named())
        rows = [(f"  {name}", *map(_short, pair)) for name, pair in self.settings.items()]
        yield "\n" + (aligned([("settings that differ", "first", "second"), *rows]) if rows else "no setting differs")
        for part in self.parts:
            yield ""
            yield from self.said(part)
            unit = " %" if part.result.mcnemar is not None else ""
            moved = [pair for pair in part.pairs if pair.flipped]
            if moved:
                rows = [(f"  {a.of}", f"{a.value:.3g}", f"{b.value:.3g}", _whys(a, b)) for a, b in moved[:MOST]]
                title = "  flipped" if unit else "  largest differences"
                yield aligned([(title, "first", "second", ""), *rows])
            if len(moved) > MOST:
                yield f"  and {len(moved) - MOST} more"

    def said(self, part: Part) -> Iterator[str]:
        """A part in lines of text: both means, their difference with its interval and test, and n."""
        row = _row(self.metric, part)
        unit = " %" if part.result.mcnemar is not None else ""
        decimals = 1 if unit else 3
        first, second = (f"{row[name]:.{decimals}f}" for name in ("first", "second"))
        difference = Interval(row["difference"], row["ci_low"], row["ci_high"])
        about = f"{self.metric}{f', {part.name}' if part.name else ''}"
        yield f"{about}: {first}{unit} and {second}{unit}, {self._evidence()}"
        holms = ", Holm's" if len(self.parts) > 1 else ""
        sign = "+" if round(difference.value, decimals) > 0 else ""
        moved = difference.text(f"{{:.{decimals}f}}".format)
        yield f"  first − second {sign}{moved}, p = {part.p:.2g} ({part.test}{holms})"
        yield f"  n = {part.result.n} in both, of {part.of_first} and {part.of_second}"
        wins, losses = part.result.wins, part.result.losses
        yield f"  {wins} higher in the first, {losses} in the second, {part.result.ties} alike"

    def _repr_html_(self) -> str:
        import pandas as pd

        names = (f"<b>{which}</b> {html.escape(told)}" for which, told in self._named())
        settings = [(name, *map(_short, pair)) for name, pair in self.settings.items()]
        flipped = self.flipped
        more = f"<p>and {len(flipped) - MOST} more</p>" if len(flipped) > MOST else ""
        tables = (
            pd.DataFrame(settings, columns=["setting", "first", "second"]), self.frame, flipped.head(MOST)
        )  # fmt: skip
        shown = (display.shown(table)._repr_html_() for table in tables if len(table))
        return f"<p>{'<br>'.join(names)}</p>{''.join(shown)}{more}"

    def _named(self) -> Iterator[tuple[str, str]]:
        """Both runs in words, with the kind of their numbers."""
        for which, kept in (("first", self.first), ("second", self.second)):
            yield which, f"{catalogue.called(kept.folder)}, {engines.parse(kept.manifest.engine).evidence}"

    def _evidence(self) -> str:
        """The kind of both runs' numbers, or both kinds."""
        kinds = (engines.parse(kept.manifest.engine).evidence for kept in (self.first, self.second))
        return " and ".join(dict.fromkeys(kinds))

    def __repr__(self) -> str:
        return self.text()


def compare(first: str | Path, second: str | Path) -> Compared:
    """Compare two runs, by name or folder (see `lab.runs.catalogue.find`), on what both have scored.

    Where a run compares parts of itself, such as conditions, the parts that both have are compared, or those named:
    compare("772452:Human-TN", "772452:No-TN").
    Raises MissingRun, NoScores where one has none here, NothingShared, ValueError for a part that there is not.
    """
    (one, chosen), (other, against) = (_named(name) for name in (first, second))
    ours, theirs = (_parts(catalogue.scores(kept)) for kept in (one, other))
    metrics = [catalogue.metric(kept) for kept in (one, other)]
    if metrics[0] != metrics[1]:
        raise NothingShared(f"{first} is scored by {metrics[0]}, and {second} by {metrics[1]}")
    found = []
    for here, there in _matched(ours, theirs, chosen, against):
        mine, yours = ours[here], theirs[there]
        pairs = [Pair(mine[of], yours[of]) for of in mine if of in yours]
        if pairs:
            found.append((here, there, pairs, paired(*([pair[side] for pair in pairs] for side in (0, 1)))))
    if not found:
        raise NothingShared(
            f"The two runs have no scored task in common. Of {first}: {_some(ours)}. Of {second}: {_some(theirs)}"
        )
    adjusted = holm([result.p for *_, result in found])
    parts = [
        Part(here, there, tuple(sorted(pairs, key=_by_difference)), len(ours[here]), len(theirs[there]), result, p)
        for (here, there, pairs, result), p in zip(found, adjusted, strict=True)
    ]
    return Compared(one, other, metrics[0], _differing(one, other), tuple(parts))


def _named(name: str | Path) -> tuple[Kept, str | None]:
    """A run, and the part of it that is named behind a colon."""
    try:
        return Kept(catalogue.find(name)), None
    except MissingRun:
        run, colon, part = str(name).rpartition(":")
        if not colon:
            raise
        return Kept(catalogue.find(run)), part


def _parts(scores: Sequence[Score]) -> dict[str, dict[str, Score]]:
    parts: dict[str, dict[str, Score]] = {}
    for score in scores:
        parts.setdefault(score.part, {})[score.of] = score
    return parts


def _matched(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], chosen: str | None, against: str | None
) -> list[tuple[str, str]]:
    """Which part is compared with which."""
    for part, known in ((chosen, ours), (against, theirs)):
        if part is not None and part not in known:
            raise ValueError(f"The run has no part {part!r}; it has: {', '.join(known) or 'none'}")
    mine, yours = [chosen] if chosen is not None else [*ours], [against] if against is not None else [*theirs]
    if len(mine) == len(yours) == 1:
        return [(mine[0], yours[0])]
    both = [(part, part) for part in mine if part in yours]
    if not both:
        raise NothingShared(
            f"The runs have no part in common: {', '.join(mine) or 'none'}, and {', '.join(yours) or 'none'}. "
            "Say which with RUN:PART"
        )
    return both


def _differing(first: Kept, second: Kept) -> dict[str, tuple[Any, Any]]:
    """What the two manifests do not have in common, but for the tasks."""
    flat = []
    for kept in (first, second):
        held = kept.manifest
        about = {name: getattr(held, name) for name in ("method", "engine", "address", "code")}
        versions = {name: held.surroundings.get(name) for name in ("commit", "packages")}
        flat.append(dict(_flat(about | dict(held.parameters) | versions)))
    names = dict.fromkeys((*flat[0], *flat[1]))
    pairs = {name: (flat[0].get(name), flat[1].get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if canonical(pair[0]) != canonical(pair[1])}


def _flat(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value


def _row(metric: str, part: Part) -> dict[str, Any]:
    of_first, of_second = (
        headlines([pair[side]._replace(part="") for pair in part.pairs], metric)[0] for side in (0, 1)
    )
    scale = 100 if part.result.mcnemar is not None else 1
    value, low, high = (scale * end for end in part.result.difference)
    # A graded run whose scores all happen to be 0 or 1 is no rate beside another that is none.
    means = [each.value / 100 * scale if each.unit else each.value for each in (of_first, of_second)]
    return {
        "metric": metric, "part": part.name, "first": means[0], "second": means[1], "difference": value, "ci_low": low,
        "ci_high": high, "p": part.p, "test": part.test, "n": part.result.n, "higher in the first": part.result.wins,
        "higher in the second": part.result.losses,
    }  # fmt: skip


def _by_difference(pair: Pair) -> tuple[float, str]:
    return -abs(pair.first.value - pair.second.value), pair.first.of


def _whys(first: Score, second: Score) -> str:
    told = (("first", first.why), ("second", second.why))
    return _short("; ".join(f"{which}: {why}" for which, why in told if why))


def _short(value: Any) -> str:
    text = EMPTY if value is None else value if isinstance(value, str) else canonical(value)
    return catalogue.shortened(text, LONGEST)


def _some(parts: Mapping[str, Mapping[str, Score]], most: int = 4) -> str:
    names = [of for part in parts.values() for of in part]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
