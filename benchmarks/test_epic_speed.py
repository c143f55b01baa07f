"""EPIC distances: all pairs at once against SciPy's correlation pair by pair, and the interval of their mean."""

from __future__ import annotations

import time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from scipy.stats import pearsonr

from lab.results.statistics import RESAMPLES
from statefactory.epic import epic_distances, overall

# Pairs, and the steps of both their trajectories on average, as the five domains have them: 2,454 trajectories in all.
DOMAINS = {
    "alfworld": (336, 15),
    "scienceworld": (191, 65),
    "webshop": (300, 14),
    "blocksworld": (250, 18),
    "textworld": (150, 14),
}
SHORTEST = 6  # steps of a pair
FASTER = 50  # times, at least
FASTER_INTERVAL = 2  # times, at least


def test_all_pairs_at_once_are_50_times_as_fast_as_one_by_one(benchmark: BenchmarkFixture) -> None:
    random = np.random.default_rng(0)
    lengths = [n for pairs, mean in DOMAINS.values() for n in random.integers(SHORTEST, 2 * mean - SHORTEST + 1, pairs)]
    guesses, truths = ([random.random(n) for n in lengths] for _ in range(2))
    began = time.perf_counter()
    reference = [np.sqrt((1 - pearsonr(g, t).statistic) / 2) for g, t in zip(guesses, truths, strict=True)]
    one_by_one = time.perf_counter() - began
    distances = benchmark(epic_distances, guesses, truths)
    assert distances == pytest.approx(reference)
    ratio = one_by_one / benchmark.stats["median"]
    benchmark.extra_info["times faster than SciPy pair by pair"] = round(ratio, 1)
    assert ratio >= FASTER


def test_the_interval_of_overall_is_faster_than_counting_draws_pair_by_pair(benchmark: BenchmarkFixture) -> None:
    random = np.random.default_rng(0)
    distances = {name: random.beta(2, 6, pairs) for name, (pairs, _) in DOMAINS.items()}
    began = time.perf_counter()
    drawn = [
        random.multinomial(x.size, np.full(x.size, 1 / x.size), RESAMPLES) @ x / x.size for x in distances.values()
    ]
    reference = np.quantile(np.mean(drawn, axis=0), [0.025, 0.975])
    counting = time.perf_counter() - began
    interval = benchmark.pedantic(overall, [distances], rounds=5, warmup_rounds=1)
    assert (interval.low, interval.high) == pytest.approx(tuple(reference), abs=0.001)
    ratio = counting / benchmark.stats["median"]
    benchmark.extra_info["times faster than multinomial counts"] = round(ratio, 1)
    assert ratio >= FASTER_INTERVAL
