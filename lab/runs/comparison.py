"""Two runs compared on the tasks that both have: the paired difference, its test, and which tasks flipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine.printing import visible
from lab.models import engines
from lab.models.cache import canonical
from lab.models.replay import MissingRun
from lab.results import display
from lab.results.exports import EMPTY, readable
from lab.results.headlines import headlines, paired
from lab.results.outcomes import Score
from lab.results.statistics import Comparison, Interval, holm
from lab.runs import catalogue
from lab.viewer.episodes import StoredRun
from lab.viewer.timeline import SideBySide, side_by_side

if TYPE_CHECKING:
    import pandas as pd

MOST = 20  # flipped tasks that are listed


class Pair(NamedTuple):
    """What both runs scored: the same task, or the same pair of episodes."""

    first: Score
    second: Score

    @property
    def flipped(self) -> bool:
        """Whether the two scores differ."""
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
    def is_rate(self) -> bool:
        """Whether every score is 0 or 1."""
        return self.result.mcnemar is not None

    def row(self, metric: str) -> dict[str, Any]:
        """Both means, the difference with its 95 % interval, the test, and how many differ; rates in percent."""
        scale = 100 if self.is_rate else 1
        means = []
        for scores in zip(*self.pairs, strict=True):
            (headline,) = headlines([score._replace(part="") for score in scores], metric)
            # A graded run whose scores all happen to be 0 or 1 is no rate beside another that is none.
            means.append(headline.value / 100 * scale if headline.unit else headline.value)
        value, low, high = (scale * end for end in self.result.difference)
        return {
            "metric": metric, "part": self.name, "first": means[0], "second": means[1], "difference": value,
            "ci_low": low, "ci_high": high, "p": self.p, "test": "McNemar's test" if self.is_rate else "sign-flip test",
            "n": self.result.n, "higher in the first": self.result.wins, "higher in the second": self.result.losses,
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class RunComparison:
    """Two runs side by side. settings: those that differ, by name, in the first and the second; None where not set."""

    first: StoredRun
    second: StoredRun
    metric: str
    settings: Mapping[str, tuple[Any, Any]]
    parts: tuple[Part, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """A row a part; see `Part.row`."""
        import pandas as pd

        return pd.DataFrame([part.row(self.metric) for part in self.parts])

    @property
    def flipped(self) -> pd.DataFrame:
        """A row for each task whose scores differ, the largest differences first, with what each run says of it."""
        rows = [
            (part.name, pair.first.of, pair.first.value, pair.second.value, pair.first.why, pair.second.why)
            for part in self.parts
            for pair in part.pairs
            if pair.flipped
        ]
        return readable(rows, columns=["part", "task", "first", "second", "of the first", "of the second"])

    def side_by_side(self, task: str = "", prompts: bool = False) -> SideBySide:
        """Returns the episodes of a task in both runs, step by step; by default of the first that flipped.

        prompts: with prompts and answers. Raises ValueError for a task that the runs do not share.
        """
        pairs = [pair for part in self.parts for pair in part.pairs]
        named = [pair for pair in pairs if task in (pair.first.of, *pair.first.tasks, *pair.second.tasks)]
        chosen = named if task else sorted(pairs, key=lambda pair: not pair.flipped)
        if not chosen:
            known = ", ".join(pair.first.of for pair in pairs[:5])
            raise ValueError(f"the two runs share no task {task!r}; some that they do: {known}")
        # Of several episodes, such as those of a pair, the one that was asked for, else the first.
        timelines = [
            run.timeline(task if task in score.tasks else score.tasks[0], prompts)
            for run, score in zip((self.first, self.second), chosen[0], strict=True)
        ]
        return side_by_side(*timelines)

    def lines(self) -> Iterator[str]:
        """Each part in lines of text: both means, their difference with its interval and test, and n."""
        evidence = dict.fromkeys(engines.parse(run.manifest.engine).evidence for run in (self.first, self.second))
        corrected = ", Holm's" if len(self.parts) > 1 else ""
        for part in self.parts:
            row, result = part.row(self.metric), part.result
            unit, decimals = (" %", 1) if part.is_rate else ("", 3)
            first, second = (f"{row[name]:.{decimals}f}" for name in ("first", "second"))
            difference = Interval(row["difference"], row["ci_low"], row["ci_high"])
            sign = "+" if round(difference.value, decimals) > 0 else ""
            title = ", ".join(filter(None, (self.metric, part.name)))
            yield f"{title}: {first}{unit} and {second}{unit}, {' and '.join(evidence)}"
            moved = difference.text(f"{{:.{decimals}f}}".format)
            yield f"  first − second {sign}{moved}, p = {part.p:.2g} ({row['test']}{corrected})"
            yield f"  n = {result.n} in both, of {part.of_first} and {part.of_second}"
            yield f"  {result.wins} higher in the first, {result.losses} in the second, {result.ties} alike"

    def __repr__(self) -> str:
        """For a terminal."""
        runs = {"first": self.first, "second": self.second}
        heads = [
            f"{which:6}  {catalogue.called(run.folder)}, {engines.parse(run.manifest.engine).evidence}"
            for which, run in runs.items()
        ]
        heads += [] if self.settings else ["no setting differs"]
        settings = [
            (name, *(EMPTY if value is None else canonical(value) for value in pair))
            for name, pair in self.settings.items()
        ]
        flipped = self.flipped if len(self.parts) > 1 else self.flipped.drop(columns="part")
        tables = {
            "settings that differ": readable(settings, columns=["setting", "first", "second"]),
            f"the {min(MOST, len(flipped))} largest differences of {len(flipped)}": flipped.head(MOST),
        }
        parts = (f"\n{title}\n{display.shown(table)!r}" for title, table in tables.items() if len(table))
        return visible("\n".join([*heads, "", *self.lines(), *parts]).rstrip())


def compare(first: str | Path, second: str | Path) -> RunComparison:
    """Compares two runs, by name or folder (see `lab.runs.catalogue.find`), on what both have scored.

    Where a run compares parts of itself, such as conditions, the parts that both have are compared, or those named:
    compare("772452:Human-TN", "772452:No-TN").
    Raises MissingRun, NoScores where one has none here, ValueError for a part that there is not, and where the runs
    share no scored task.
    """
    (run, own_part), (other, other_part) = (_named(name) for name in (first, second))
    ours, theirs = _parts(run.scores(), own_part), _parts(other.scores(), other_part)
    if run.metric != other.metric:
        raise ValueError(
            f"{first} is scored by {run.metric}, and {second} by {other.metric}; compare runs with the same score"
        )
    compared = []
    for here, there in _matched(ours, theirs):
        own, others = ours[here], theirs[there]
        pairs = [Pair(own[task], others[task]) for task in own if task in others]
        if pairs:
            result = paired([pair.first for pair in pairs], [pair.second for pair in pairs])
            pairs.sort(key=lambda pair: (-abs(pair.first.value - pair.second.value), pair.first.of))
            compared.append(Part(here, there, tuple(pairs), len(own), len(others), result, result.p))
    if not compared:
        some = [", ".join([task for part in parts.values() for task in part][:4]) for parts in (ours, theirs)]
        raise ValueError(
            f"The two runs have no scored task in common. Of {first}: {some[0]}, … Of {second}: {some[1]}, … Play both "
            "on the same data with the same seed"
        )
    adjusted = holm([part.p for part in compared])
    parts = tuple(replace(part, p=p) for part, p in zip(compared, adjusted, strict=True))
    return RunComparison(run, other, run.metric, _differing(run, other), parts)


def _named(name: str | Path) -> tuple[StoredRun, str | None]:
    """A run, and the part of it that is named behind a colon."""
    try:
        return StoredRun(catalogue.find(name)), None
    except MissingRun:
        run, colon, part = str(name).rpartition(":")
        if not colon:
            raise
        return StoredRun(catalogue.find(run)), part


def _parts(scores: Sequence[Score], chosen: str | None) -> dict[str, dict[str, Score]]:
    """Part -> task -> score, of one part where one is chosen. Raises ValueError for a part that there is not."""
    parts: dict[str, dict[str, Score]] = {}
    for score in scores:
        parts.setdefault(score.part, {})[score.of] = score
    if chosen is None:
        return parts
    if chosen not in parts:
        raise ValueError(f"The run has no part {chosen!r}; it has: {', '.join(parts) or 'none'}")
    return {chosen: parts[chosen]}


def _matched(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Which part is compared with which."""
    if len(ours) == len(theirs) == 1:
        return [(next(iter(ours)), next(iter(theirs)))]
    both = [(part, part) for part in ours if part in theirs]
    if not both:
        raise ValueError(
            f"The runs have no part in common: {', '.join(ours) or 'none'}, and {', '.join(theirs) or 'none'}. "
            "Say which with RUN:PART"
        )
    return both


def _differing(first: StoredRun, second: StoredRun) -> dict[str, tuple[Any, Any]]:
    """What the two manifests do not have in common, but for the tasks; nested settings by dotted names."""
    flat = []
    for manifest in (first.manifest, second.manifest):
        values = {name: getattr(manifest, name) for name in ("method", "engine", "address", "code")}
        versions = {name: manifest.surroundings.get(name) for name in ("commit", "packages")}
        flat.append(dict(_flat(values | dict(manifest.parameters) | versions)))
    pairs = {name: (flat[0].get(name), flat[1].get(name)) for name in dict.fromkeys((*flat[0], *flat[1]))}
    return {name: pair for name, pair in pairs.items() if canonical(pair[0]) != canonical(pair[1])}


def _flat(values: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{within}{name}.")
        else:
            yield f"{within}{name}", value
