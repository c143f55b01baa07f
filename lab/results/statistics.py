"""Statistics: confidence intervals, paired comparisons of two runs on the same tasks, and sources of noise.

Rates have Wilson intervals, means bootstrap intervals over tasks. Several samples of a task are resampled together.
Where many pairs are tested, p-values have Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Values = Sequence[float] | np.ndarray
    Flags = Sequence[bool] | np.ndarray

RESAMPLES = 10_000
ENUMERATED = 14  # up to 2**14 sign patterns are enumerated; beyond that they are sampled
DRAWN_AT_ONCE = 1_000_000  # numbers in memory at a time while resampling (8 MB)
KEPT = 4_000_000  # the largest number of drawn counts that is cached (32 MB)


class Interval(NamedTuple):
    """An estimate with its confidence interval, in the unit of the data; NaN ends mean no interval."""

    value: float
    low: float
    high: float

    def text(self, number: Callable[[float], str]) -> str:
        """ "5 [3, 7]", or "5 (no interval)". number: formats a number."""
        return f"{number(self.value)} {self.ends(number)}"

    def ends(self, number: Callable[[float], str]) -> str:
        """ "[3, 7]", or "(no interval)"."""
        return "(no interval)" if math.isnan(self.low) else f"[{number(self.low)}, {number(self.high)}]"


class Comparison(NamedTuple):
    """Two runs on the same tasks; every difference is the first run minus the second.

    n: tasks. difference: mean paired difference with its bootstrap interval. p_value: two-sided sign-flip test of
    "no difference"; exact says whether all sign patterns were enumerated. wins, losses, ties: numbers of tasks, for
    the first run. mcnemar: exact two-sided McNemar p-value, None unless every score is 0 or 1.
    """

    n: int
    mean_a: float
    mean_b: float
    difference: Interval
    p_value: float
    exact: bool
    wins: int
    losses: int
    ties: int
    mcnemar: float | None

    @property
    def p(self) -> float:
        """The p-value to report: McNemar's if every score is 0 or 1, else the sign-flip test's."""
        return self.p_value if self.mcnemar is None else self.mcnemar


class Noise(NamedTuple):
    """The sources of the spread of scores, as standard deviations in the scores' unit.

    run: of a task's samples around the task's mean. task: of the tasks' means. run_error: standard error of the overall
    mean if the same tasks are run again; error: if the tasks are sampled again, too.
    """

    run: float
    task: float
    run_error: float
    error: float


def wilson(passes: float, n: float, level: float = 0.95) -> Interval:
    """A rate in [0, 1] with its Wilson score interval.

    Raises ValueError unless both are whole numbers (numpy's and 3.0 count), 0 <= passes <= n and n > 0.
    Source: Wilson 1927, Probable inference, the law of succession, and statistical inference.
    """
    if not (n > 0 and 0 <= passes <= n and passes % 1 == n % 1 == 0):
        raise ValueError(f"{passes} passes of {n} tasks is no rate; give whole numbers with 0 <= passes <= n and n > 0")
    from scipy.stats import binomtest

    interval = binomtest(int(passes), int(n)).proportion_ci(confidence_level=level, method="wilson")
    rate = passes / n
    # At rates of 0 and 1, rounding can put the bound on the wrong side of the rate.
    return Interval(rate, min(float(interval.low), rate), max(float(interval.high), rate))


def bootstrap_mean(values: Values, seed: int = 0, level: float = 0.95, resamples: int = RESAMPLES) -> Interval:
    """The mean of `values`, shape (n,), with a percentile bootstrap interval; the same seed gives the same interval.

    A single value has no interval. Equal values have an interval of width 0.
    Raises ValueError if `values` is empty or contains a NaN.
    Source: Efron 1979, Bootstrap methods: another look at the jackknife.
    """
    return bootstrap_means([values], seed, level, resamples)


def bootstrap_means(
    samples: Sequence[Values], seed: int = 0, level: float = 0.95, resamples: int = RESAMPLES
) -> Interval:
    """The unweighted mean of the samples' means, with a percentile bootstrap interval that resamples each sample.

    samples: arrays of shape (n,), where n may differ; if one has a single value, there is no interval.
    Raises ValueError if one is empty or contains a NaN.
    """
    import numpy as np
    from scipy.stats import bootstrap

    data = [np.asarray(values, dtype=float) for values in samples]
    for values in data:
        if values.ndim != 1 or not values.size or np.isnan(values).any():
            raise ValueError(f"a mean needs a list of at least one number and no NaN, not {values!r}")

    def mean_of_means(*samples: np.ndarray, axis: int) -> np.ndarray:
        return np.mean([values.mean(axis) for values in samples], axis=0)

    value = float(mean_of_means(*data, axis=-1))
    if min(values.size for values in data) < 2:
        return Interval(value, math.nan, math.nan)
    batch = max(1, DRAWN_AT_ONCE // sum(values.size for values in data))
    low, high = bootstrap(
        data, mean_of_means, n_resamples=resamples, batch=batch, confidence_level=level, method="percentile", rng=seed
    ).confidence_interval
    # For equal values, rounding can put all resampled means off the estimate; the interval has to contain it.
    return Interval(value, min(float(low), value), max(float(high), value))


def cluster_bootstrap(
    values: Values, clusters: Sequence[object], seed: int = 0, resamples: int = RESAMPLES, among: Flags | None = None
) -> Interval:
    """The mean of `values`, shape (n,), with a percentile bootstrap interval that resamples whole clusters.

    clusters: shape (n,), the cluster of each value, such as its task: samples of one task are not independent.
    among: shape (n,), mask of the values that enter the mean, by default all; clusters without any are still resampled.
    A single cluster has no interval.
    Raises ValueError if lengths differ, `values` is empty or contains a NaN, or the mask selects none.
    Source: Field and Welsh 2007, Bootstrapping clustered data.
    """
    return _percentiles(*_resampled(values, clusters, among, seed, resamples))


def cluster_contrast(
    values: Values, clusters: Sequence[object], first: Flags, second: Flags, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """The mean of the first values minus the mean of the second, both from the same resamples of clusters.

    first, second: masks of shape (n,). Otherwise as `cluster_bootstrap`.
    """
    # The same seed resamples the same clusters for both, so that a cluster's shared effect cancels.
    first_mean, first_means = _resampled(values, clusters, first, seed, resamples)
    second_mean, second_means = _resampled(values, clusters, second, seed, resamples)
    return _percentiles(first_mean - second_mean, first_means - second_means)


def _resampled(
    values: Values, clusters: Sequence[object], among: Flags | None, seed: int, resamples: int
) -> tuple[float, np.ndarray]:
    """The mean, and the mean of each resample of clusters, shape (resamples,).

    NaN for resamples without a selected value; all NaN for a single cluster.
    """
    import numpy as np

    data = np.asarray(values, dtype=float)
    selected = np.ones(data.shape, bool) if among is None else np.asarray(among, bool)
    if data.ndim != 1 or not data.size or np.isnan(data).any() or len(clusters) != data.size:
        raise ValueError(f"{data.size} values, {len(clusters)} clusters: give each value its cluster, and no NaN")
    if selected.shape != data.shape or not selected.any():
        raise ValueError(f"{selected.sum()} of {data.size} values are to be counted: count at least one of them")
    indices = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    member = np.array([indices[name] for name in clusters])
    if len(indices) < 2:
        return float(data[selected].mean()), np.full(resamples, math.nan)
    sums, sizes = np.bincount(member, data * selected), np.bincount(member, selected)
    with np.errstate(invalid="ignore"):
        means = [counts @ sums / (counts @ sizes) for counts in _draws(len(indices), seed, resamples)]
    return float(data[selected].mean()), np.concatenate(means)


def _draws(clusters: int, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """Counts of each cluster in each resample, in batches that fit into memory."""
    import numpy as np

    if resamples * clusters <= KEPT:
        yield _drawn(clusters, seed, resamples)
        return
    batch = max(1, DRAWN_AT_ONCE // clusters)
    random = np.random.default_rng(seed)
    for start in range(0, resamples, batch):
        yield random.multinomial(clusters, np.full(clusters, 1 / clusters), size=min(batch, resamples - start))


@lru_cache(maxsize=4)  # resampling is the slowest step, and often repeated for the same clusters
def _drawn(clusters: int, seed: int, resamples: int) -> np.ndarray:
    import numpy as np

    return np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)


def _percentiles(value: float, means: np.ndarray) -> Interval:
    import numpy as np

    if np.isnan(means).all():
        return Interval(value, math.nan, math.nan)
    low, high = np.nanquantile(means, [0.025, 0.975])
    return Interval(value, min(float(low), value), max(float(high), value))


def decompose(scores: Sequence[Sequence[float]] | np.ndarray) -> Noise:
    """Run noise and task noise of `scores`, shape (tasks, samples): a one-way random-effects analysis of variance.

    Raises ValueError unless there are two tasks with two samples each, and no NaN.
    Source: Searle, Casella and McCulloch 1992, Variance Components; Miller 2024, Adding error bars to evals.
    """
    import numpy as np

    matrix = np.asarray(scores, dtype=float)
    if matrix.ndim != 2 or min(matrix.shape) < 2 or np.isnan(matrix).any():
        raise ValueError(f"noise needs two tasks or more with two samples or more each and no NaN, not {matrix.shape}")
    tasks, samples = matrix.shape
    within = float(matrix.var(axis=1, ddof=1).mean())
    between = samples * float(matrix.mean(axis=1).var(ddof=1))
    # Tasks may vary less than chance predicts, which gives a negative estimate; a variance is at least 0.
    task = max(0.0, (between - within) / samples)
    total = within + samples * task
    return Noise(*(math.sqrt(part) for part in (within, task, within / matrix.size, total / matrix.size)))


def smallest_difference(interval: Interval) -> float:
    """The minimum detectable effect: the smallest true difference that a sample of this size can show.

    interval: of a difference, at 95 %. The power is 80 %, for a two-sided test.
    Source: Bloom 1995, Minimum detectable effects.
    """
    from scipy.stats import norm

    return (interval.high - interval.low) / 2 * (1 + float(norm.ppf(0.8)) / float(norm.ppf((1 + 0.95) / 2)))


def holm(p_values: Values) -> list[float]:
    """Holm-adjusted p-values of a family of tests, in the given order. They control the family-wise error rate.

    Raises ValueError for values outside [0, 1].
    Source: Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    import numpy as np

    given = np.asarray(p_values, dtype=float)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise ValueError(f"p-values lie in [0, 1], not {p_values!r}")
    order = np.argsort(given, kind="stable")
    steps = given[order] * np.arange(len(given), 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.maximum.accumulate(np.minimum(steps, 1.0))
    return adjusted.tolist()


def compare(a: Mapping[str, float], b: Mapping[str, float], seed: int = 0) -> Comparison:
    """Compare two runs task by task; a and b map task ids to scores.

    Raises ValueError if a task id is in one run only, or a score is NaN: failed episodes have to count as 0.
    """
    import numpy as np

    tasks = _shared_tasks(a, b)
    first, second = (np.array([run[task] for task in tasks], dtype=float) for run in (a, b))
    differences = first - second
    p_value, exact = sign_flip(differences, seed)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    binary = np.isin(np.concatenate([first, second]), (0.0, 1.0)).all()
    return Comparison(
        n=len(tasks),
        mean_a=float(first.mean()),
        mean_b=float(second.mean()),
        difference=bootstrap_mean(differences, seed),
        p_value=p_value,
        exact=exact,
        wins=wins,
        losses=losses,
        ties=int((differences == 0).sum()),
        mcnemar=mcnemar(wins, losses) if binary else None,
    )


def sign_flip(differences: Values, seed: int = 0) -> tuple[float, bool]:
    """Two-sided p-value that paired differences, shape (n,), are symmetric about 0, and whether it is exact.

    Exact by enumeration with at most ENUMERATED non-zero differences; else sampled. The observed signs count
    as one more sample, so that a p-value is never 0.
    Source: Phipson and Smyth 2010, Permutation p-values should never be zero.
    """
    import numpy as np

    nonzero = np.asarray(differences, dtype=float)
    nonzero = nonzero[nonzero != 0]
    # A sum equal to the observed one up to rounding counts as equally extreme.
    threshold = abs(nonzero.sum()) - 1e-9 * np.abs(nonzero).sum()
    if nonzero.size <= ENUMERATED:
        patterns = np.arange(2**nonzero.size)[:, None] >> np.arange(nonzero.size) & 1
        sums = (1 - 2 * patterns) @ nonzero
        return float((np.abs(sums) >= threshold).mean()), True
    random, extreme = np.random.default_rng(seed), 0
    size = max(1, DRAWN_AT_ONCE // nonzero.size)
    for start in range(0, RESAMPLES, size):
        count = min(size, RESAMPLES - start)
        sums = (1 - 2 * random.integers(0, 2, size=(count, nonzero.size), dtype=np.int8)) @ nonzero
        extreme += int((np.abs(sums) >= threshold).sum())
    return (1 + extreme) / (1 + RESAMPLES), False


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact two-sided McNemar p-value. only_a, only_b: how many tasks only the first, and only the second run passed.

    Source: McNemar 1947; the exact form is a binomial test of a fair coin on the discordant tasks.
    """
    from scipy.stats import binomtest

    discordant = only_a + only_b
    return float(binomtest(only_a, discordant, 0.5).pvalue) if discordant else 1.0


def _shared_tasks(a: Mapping[str, float], b: Mapping[str, float]) -> list[str]:
    for run, other, which in ((a, b, "second"), (b, a, "first")):
        missing = sorted(set(run) - set(other))
        if missing:
            raise ValueError(
                f"the {which} run lacks {len(missing)} of the other's tasks: {_some(missing)}. "
                "Run both on the same tasks, or cut both to the shared ids first"
            )
    if not a:
        raise ValueError("both runs are empty; a comparison needs at least one task")
    unscored = sorted(task for task in a if math.isnan(a[task]) or math.isnan(b[task]))
    if unscored:
        raise ValueError(f"tasks without a score: {_some(unscored)}. Score a failed episode 0; it stays in the mean")
    return sorted(a)


def _some(names: Sequence[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
