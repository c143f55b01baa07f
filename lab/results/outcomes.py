"""Outcomes of episodes: scored, failed by the agent, or not measured because the machine failed; headlines of runs.

    scored         the episode ended, and its result is scored
    failed         the agent failed: malformed or refused answers, or a prompt too long for the context; it scores 0
    not measured   the endpoint, a world, the sandbox or the operating system failed; there is no result

The first two count. Episodes that were not measured are played again when the run is opened the next time. Until then
the headline is reported with bounds: its value if all of them had scored 0, and if all had scored 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lab.results.statistics import Comparison, Interval, bootstrap_means, compare, wilson


class Readings(NamedTuple):
    """How a model's answers were read. answers: their number; the other fields are shares of it, in percent.

    malformed: could not be read. truncated: a reply ended at the token limit. repaired: needed repair or a re-ask.
    """

    answers: int
    malformed: float
    truncated: float
    repaired: float

    def __str__(self) -> str:
        shares = ", ".join(f"{getattr(self, name):.1f} % {name}" for name in self._fields[1:])
        return f"{self.answers:,} answers: {shares}"


class Outcomes(NamedTuple):
    """Outcomes of the episodes behind a number. n: episodes that count. failed: those among n that the agent failed.

    readings: how their answers were read, if a model was asked.
    """

    n: int
    failed: int = 0
    not_measured: int = 0
    readings: Readings | None = None

    def bounds(self, total: float, n: int, top: float = 1.0) -> tuple[float, float] | None:
        """The lowest and highest possible mean if all episodes had been measured; None if all were.

        total, n: sum and number of the measured scores. top: the highest possible score; the lowest is 0.
        """
        if not self.not_measured:
            return None
        # n, not self.n: a metric may cover fewer episodes than were played.
        everything = n + self.not_measured
        return total / everything, (total + top * self.not_measured) / everything

    def __str__(self) -> str:
        scored = self.n - self.failed
        return f"{scored} scored, {self.failed} failed, {self.not_measured} not measured"


class Judgement(NamedTuple):
    """The score of an episode: in [0, 1], or None if single episodes have no score. reason: why the score is not 1."""

    score: float | None
    reason: str = ""


class Score(NamedTuple):
    """One of the values whose mean is a run's headline.

    of: the task, or the item that several episodes share, such as a pair. value: 0 or 1, or in the metric's own unit.
    why: the reason for a score below the best, in recurring words, so that reasons can be counted. part: the condition
    or the like that is compared within a run; "" if there is none. stratum: such as a domain; all strata have the same
    weight in the mean, whatever their size. episodes: ids of the tasks behind the value; () means `of` itself.
    """

    of: str
    value: float
    why: str = ""
    part: str = ""
    stratum: str = ""
    episodes: tuple[str, ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of its episodes."""
        return self.episodes or (self.of,)


class Headline(NamedTuple):
    """A mean with its 95 % interval: Wilson's for a rate, which is in percent, else a bootstrap over the scored items.

    metric: its name. part: of the run, "" for the whole run. n: number of values. unit: "%" for a rate, else "".
    """

    metric: str
    part: str
    n: int
    value: float
    low: float
    high: float
    unit: str = ""

    def __str__(self) -> str:
        decimals, unit = (1, f" {self.unit}") if self.unit else (3, "")
        ends = Interval(self.value, self.low, self.high).ends(f"{{:.{decimals}f}}".format)
        return f"{', '.join(filter(None, (self.metric, self.part)))} {self.value:.{decimals}f}{unit} {ends}"


def headlines(scores: Iterable[Score], metric: str) -> list[Headline]:
    """The headline of each part of a run, in first-seen order. metric: the name of the scores."""
    parts: dict[str, list[Score]] = {}
    for score in scores:
        parts.setdefault(score.part, []).append(score)
    lines = []
    for part, values in parts.items():
        rate = {score.value for score in values} <= {0.0, 1.0}
        value, low, high = ((100 if rate else 1) * end for end in interval_of(values, rate))
        lines.append(Headline(metric, part, len(values), value, low, high, "%" if rate else ""))
    return lines


def paired(first: Sequence[Score], second: Sequence[Score]) -> Comparison:
    """Paired comparison of two runs' scores for the same items and strata; all strata have the same weight.

    Raises ValueError if the items differ.
    """
    return compare(_weighted(first), _weighted(second))


def interval_of(scores: Sequence[Score], rate: bool) -> Interval:
    """The mean of scores with its interval: Wilson's if `rate`, else a bootstrap in which all strata weigh the same."""
    if rate:
        return wilson(sum(score.value for score in scores), len(scores))
    strata: dict[str, list[float]] = {}
    for score in scores:
        strata.setdefault(score.stratum, []).append(score.value)
    return bootstrap_means(list(strata.values()))


def _weighted(scores: Sequence[Score]) -> dict[str, float]:
    """Item -> score, weighted so that the mean over items is the mean of the strata's means."""
    sizes = Counter(score.stratum for score in scores)
    return {score.of: score.value * len(scores) / (len(sizes) * sizes[score.stratum]) for score in scores}
