"""Outcomes of episodes: scored, failed by the agent, or not measured because the machine failed; headlines of runs.

    scored         it ran to its end, and its result is scored
    failed         the agent failed it: malformed or refused answers, a prompt that fits no context; it scores 0
    not measured   the endpoint, a world, the sandbox or the operating system failed; it is no result at all

The first two count. What was not measured is played again the next time the run is opened. Until then it stands beside
the headline, which it bounds: what the value would be if all of it had scored 0, and if all of it had scored 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lab.results.statistics import Comparison, Interval, bootstrap_means, compare, wilson


class Readings(NamedTuple):
    """How a model's answers were read. answers: how many; the rest are shares of them, in percent.

    malformed: could not be read. truncated: ended at the limit of tokens. repaired: needed repair, or were asked again.
    """

    answers: int
    malformed: float
    truncated: float
    repaired: float

    def __str__(self) -> str:
        shares = ", ".join(f"{getattr(self, name):.1f} % {name}" for name in self._fields[1:])
        return f"{self.answers:,} answers: {shares}"


class Outcomes(NamedTuple):
    """How the episodes behind a number came out. n: those that count. failed: those of them that the agent failed.

    readings: of their answers, where a model was asked.
    """

    n: int
    failed: int = 0
    not_measured: int = 0
    readings: Readings | None = None

    def bounds(self, total: float, n: int, top: float = 1.0) -> tuple[float, float] | None:
        """The lowest and the highest mean that what was not measured leaves open; None where there is none.

        total, n: the sum of the scores that count, and how many they are. top: the highest score; the lowest is 0.
        """
        if not self.not_measured:
            return None
        # n, not self.n: a metric may be taken over fewer episodes than were played.
        everything = n + self.not_measured
        return total / everything, (total + top * self.not_measured) / everything

    def __str__(self) -> str:
        scored = self.n - self.failed
        return f"{scored} scored, {self.failed} failed, {self.not_measured} not measured"


class Judgement(NamedTuple):
    """What one episode came to. score: in [0, 1], None where a single episode has none. reason: why it is not 1."""

    score: float | None
    reason: str = ""


class Score(NamedTuple):
    """One value that a run's headline is the mean of.

    of: the task, or what several episodes are about together, such as a pair. value: 0 or 1, or in a unit of its own.
    why: what kept it from the best, in words that recur, so that they can be counted. part: what the run compares
    within itself, such as a condition; "" where there is nothing. stratum: each counts the same in the mean, however
    many values it has, such as a domain. episodes: the tasks that it rests on; () is `of` itself.
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
    """A mean with its 95 % interval: Wilson's of a rate, which is in percent, else a bootstrap's over what is scored.

    metric: what it is. part: of the run, "" for the whole. n: how many values. unit: "%" for a rate, else "".
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
    """The headline of each part of a run, in the order in which they come. metric: the name of the scores."""
    parts: dict[str, list[Score]] = {}
    for score in scores:
        parts.setdefault(score.part, []).append(score)
    lines = []
    for part, of_part in parts.items():
        rate = {score.value for score in of_part} <= {0.0, 1.0}
        value, low, high = ((100 if rate else 1) * end for end in interval_of(of_part, rate))
        lines.append(Headline(metric, part, len(of_part), value, low, high, "%" if rate else ""))
    return lines


def paired(first: Sequence[Score], second: Sequence[Score]) -> Comparison:
    """Two runs' scores of the same things, as many of each stratum; each stratum counts the same.

    Raises ValueError where they are not of the same things.
    """
    return compare(_weighted(first), _weighted(second))


def interval_of(scores: Sequence[Score], rate: bool) -> Interval:
    """The mean of some scores: of a rate with Wilson's interval, else a bootstrap's in which strata count the same."""
    if rate:
        return wilson(sum(score.value for score in scores), len(scores))
    strata: dict[str, list[float]] = {}
    for score in scores:
        strata.setdefault(score.stratum, []).append(score.value)
    return bootstrap_means(list(strata.values()))


def _weighted(scores: Sequence[Score]) -> dict[str, float]:
    """What is scored -> its score, weighted so that the mean is that of the strata's means."""
    sizes = Counter(score.stratum for score in scores)
    return {score.of: score.value * len(scores) / (len(sizes) * sizes[score.stratum]) for score in scores}
