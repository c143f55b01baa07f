"""Intervals and paired comparisons, held against scipy and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.results.statistics import bootstrap_mean, compare, mcnemar, sign_flip, wilson

scores = st.floats(-100, 100).filter(lambda x: x == 0 or abs(x) > 1e-6)


@pytest.mark.parametrize(("passes", "n"), [(0, 1), (0, 180), (7, 20), (179, 180), (5, 5)])
def test_wilson_agrees_with_statsmodels(passes: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    interval = wilson(passes, n)
    low, high = proportion_confint(passes, n, method="wilson")
    assert interval == pytest.approx((passes / n, low, high), abs=1e-12)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=60, deadline=None)
def test_a_wilson_interval_holds_its_rate_and_mirrors_its_complement(case: tuple[int, int]) -> None:
    passes, n = case
    interval, mirrored = wilson(passes, n), wilson(n - passes, n)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((interval.low, interval.high), abs=1e-12)


@pytest.mark.parametrize(("passes", "n"), [(1, 0), (3, 2), (-1, 2)])
def test_a_rate_that_is_none_is_refused(passes: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{passes} passes of {n} tasks"):
        wilson(passes, n)


def test_the_bootstrap_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(1).exponential(size=120)
    ours = bootstrap_mean(values, seed=2)
    theirs = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=3).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


@given(st.lists(scores, min_size=1, max_size=40), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_bootstrap_interval_holds_its_mean_and_repeats_with_its_seed(values: list[float], seed: int) -> None:
    interval = bootstrap_mean(values, seed, resamples=500)
    assert min(values) - 1e-9 <= interval.low <= interval.value <= interval.high <= max(values) + 1e-9
    assert interval == bootstrap_mean(values, seed, resamples=500)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [[1.0]]])
def test_a_mean_of_nothing_or_of_nan_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="a mean needs"):
        bootstrap_mean(values)


def test_the_exact_sign_flip_test_agrees_with_scipy() -> None:
    from scipy.stats import permutation_test

    differences = np.random.default_rng(4).normal(0.4, 1, 11)
    reference = permutation_test((differences,), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip(differences) == (pytest.approx(reference.pvalue), True)


def test_the_sampled_sign_flip_test_comes_close_to_the_exact_one() -> None:
    differences = np.random.default_rng(5).normal(0.3, 1, 14)
    exact, is_exact = sign_flip(differences)
    # A tiny fifteenth difference moves the p-value little, but is one too many to enumerate.
    sampled, is_sampled_exact = sign_flip([*differences, 1e-6], seed=6)
    assert is_exact and not is_sampled_exact
    assert sampled == pytest.approx(exact, abs=0.02)


def test_a_sampled_p_value_is_never_zero() -> None:
    assert sign_flip(np.ones(200))[0] == pytest.approx(1 / 10_001)


@given(st.lists(scores, min_size=1, max_size=10))
@settings(max_examples=60, deadline=None)
def test_a_sign_flip_p_value_is_a_chance_and_ignores_which_run_is_first(differences: list[float]) -> None:
    p_value, exact = sign_flip(differences)
    assert exact and 0 < p_value <= 1
    assert sign_flip([-difference for difference in differences])[0] == p_value


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (1, 0), (9, 2), (30, 30)])
def test_mcnemar_agrees_with_statsmodels(only_a: int, only_b: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as reference

    expected = reference([[5, only_a], [only_b, 7]], exact=True).pvalue if only_a + only_b else 1.0
    assert mcnemar(only_a, only_b) == pytest.approx(min(expected, 1.0))


def test_a_comparison_pairs_by_task_whatever_the_order() -> None:
    a = {"t1": 1, "t2": 1, "t3": 0, "t4": 1}
    b = {"t4": 0, "t3": 0, "t2": 1, "t1": 0}
    result = compare(a, b)
    assert (result.n, result.wins, result.losses, result.ties) == (4, 2, 0, 2)
    assert result.difference.value == 0.5 and result.mean_a == 0.75
    assert result.exact and result.p_value == 0.5 and result.mcnemar == 0.5
    assert compare(b, a).difference.value == -0.5


def test_mcnemar_is_left_out_where_scores_are_graded() -> None:
    assert compare({"t": 0.5}, {"t": 1.0}).mcnemar is None


def test_tasks_that_one_run_lacks_are_named() -> None:
    with pytest.raises(ValueError, match="the second run lacks 1 of the other's tasks: t2"):
        compare({"t1": 1, "t2": 0}, {"t1": 1})
    with pytest.raises(ValueError, match="the first run lacks"):
        compare({"t1": 1}, {"t1": 1, "t2": 0})


def test_a_task_without_a_score_is_named() -> None:
    with pytest.raises(ValueError, match="without a score: t1"):
        compare({"t1": math.nan}, {"t1": 1.0})
