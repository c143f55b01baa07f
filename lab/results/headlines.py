"""A run's headline: the mean of its scores with an interval, and the paired comparison of two runs' scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lab.results.outcomes import Score
from lab.results.statistics import Comparison, Interval, bootstrap_means, compare, wilson


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
    return [_headline(part_scores, metric, part) for part, part_scores in parts.items()]


def paired(first: Sequence[Score], second: Sequence[Score]) -> Comparison:
    """Two runs' scores of the same things, as many of each stratum; each stratum counts the same.

    Raises ValueError where they are not of the same things.
    """
    return compare(_weighted(first), _weighted(second))


def _headline(scores: Sequence[Score], metric: str, part: str) -> Headline:
    values = [score.value for score in scores]
    if set(values) <= {0.0, 1.0}:
        rate, low, high = wilson(sum(values), len(values))
        return Headline(metric, part, len(values), 100 * rate, 100 * low, 100 * high, "%")
    strata: dict[str, list[float]] = {}
    for score in scores:
        strata.setdefault(score.stratum, []).append(score.value)
    return Headline(metric, part, len(values), *bootstrap_means(list(strata.values())))


def _weighted(scores: Sequence[Score]) -> dict[str, float]:
    """What is scored -> its score, weighted so that the mean is that of the strata's means."""
    sizes = Counter(score.stratum for score in scores)
    return {score.of: score.value * len(scores) / (len(sizes) * sizes[score.stratum]) for score in scores}
