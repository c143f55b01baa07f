"""Rank correlation of two quantities over a few items, each measured on samples."""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from lab.results.statistics import RESAMPLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

ENUMERATED = 8  # up to 8! = 40,320 orders are enumerated; beyond that they are sampled
LEVEL = 0.05


class RankCorrelation(NamedTuple):
    """Spearman's rho over n items, with its interval, and the two-sided permutation p-value of "no association".

    The interval covers the sampling of each item's values, for these items; p permutes the items. least: the smallest
    |rho| that is significant at 5 % with n items, NaN if none is. Noise disorders ranks, so the interval is biased
    towards 0; it is NaN if one side has a single sample. rho, interval and p are NaN if one side is constant.
    """

    n: int
    rho: float
    low: float
    high: float
    p: float
    least: float


def rank_correlation(first: ArrayLike, second: ArrayLike, seed: int = 0, draws: int = RESAMPLES) -> RankCorrelation:
    """Spearman's rho between the items' means.

    first, second: shape (items, samples); the number of samples may differ. A column is a sample, such as a task, for
    all items, NaN where an item lacks it. The bootstrap resamples columns, so that items still share their samples.
    Raises ValueError for fewer than two items, different numbers of items, or an item without any sample.
    Source: Spearman 1904; Efron 1979; Phipson and Smyth 2010 for the p-value.
    """
    import numpy as np

    sides = [np.asarray(side, float) for side in (first, second)]
    count = len(sides[0])
    if any(side.ndim != 2 for side in sides) or count < 2 or len(sides[1]) != count:
        raise ValueError(f"shapes {', '.join(str(side.shape) for side in sides)}: give (things, samples), two or more")
    if any(np.isnan(side).all(axis=1).any() for side in sides):
        raise ValueError("a thing has no sample; leave it out of both sides")
    x, y = (np.nanmean(side, axis=1) for side in sides)
    if min(np.ptp(x), np.ptp(y)) == 0:
        return RankCorrelation(count, *(math.nan,) * 4, least_rho(count))
    random = np.random.default_rng(seed)
    rho = float(_rho(x, y))
    resampled = _rho(*(_resampled(side, random, draws) for side in sides))
    if min(side.shape[1] for side in sides) < 2:
        resampled = np.array([math.nan])  # a single sample says nothing about its spread
    elif not np.isnan(resampled).all():
        resampled = np.nan_to_num(resampled)  # a resample with a constant side has no order: rho 0
    low, high = np.quantile(resampled, [LEVEL / 2, 1 - LEVEL / 2])
    p = permutation_p(x, y, seed, draws)
    return RankCorrelation(count, rho, float(min(low, rho)), float(max(high, rho)), p, least_rho(count))


def permutation_p(x: ArrayLike, y: ArrayLike, seed: int = 0, draws: int = RESAMPLES) -> float:
    """Two-sided p-value of Spearman's rho. x, y: shape (items,). Exact for at most ENUMERATED items, else sampled."""
    import numpy as np

    x, y = np.asarray(x, float), np.asarray(y, float)
    observed = abs(float(_rho(x, y))) - 1e-9  # an order that ties with the observed one counts as equally extreme
    if x.size <= ENUMERATED:
        return float((np.abs(_rho(x, y[_orders(x.size)])) >= observed).mean())
    shuffled = np.random.default_rng(seed).permuted(np.tile(y, (draws, 1)), axis=1)
    return float((1 + (np.abs(_rho(x, shuffled)) >= observed).sum()) / (1 + draws))


def least_rho(n: int) -> float:
    """The smallest |rho| of n items without ties that is significant in a two-sided test at 5 %; NaN if none is."""
    import numpy as np
    from scipy.stats import t

    if n > ENUMERATED:  # for nine items or more, Student's t is within .01 of the exact value
        quantile = float(t.ppf(1 - LEVEL / 2, n - 2))
        return quantile / math.sqrt(n - 2 + quantile**2)
    if n < 2:
        return math.nan
    order = np.arange(n, dtype=float)
    values, counts = np.unique(np.round(np.abs(_rho(order, order[_orders(n)])), 9), return_counts=True)
    tails = counts[::-1].cumsum()[::-1] / counts.sum()
    significant = values[tails <= LEVEL]
    return float(significant[0]) if significant.size else math.nan


def _orders(n: int) -> np.ndarray:
    import numpy as np

    return np.array(list(permutations(range(n))))


def _rho(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rho along the last axis, ties at their mean rank; NaN where a side is constant."""
    import numpy as np
    from scipy.stats import rankdata

    ranks = [rankdata(side, axis=-1) for side in (x, y)]
    first, other = (side - side.mean(axis=-1, keepdims=True) for side in ranks)
    with np.errstate(invalid="ignore"):
        rho: np.ndarray = (first * other).sum(-1) / np.sqrt((first**2).sum(-1) * (other**2).sum(-1))
    return rho


def _resampled(side: np.ndarray, random: np.random.Generator, draws: int) -> np.ndarray:
    """The items' means in resamples of the columns, shape (draws, items)."""
    import numpy as np

    columns = side.shape[1]
    counts = random.multinomial(columns, np.full(columns, 1 / columns), size=draws)
    present = ~np.isnan(side)
    with np.errstate(invalid="ignore"):
        means: np.ndarray = (counts @ np.where(present, side, 0).T) / (counts @ present.T)
    return means
