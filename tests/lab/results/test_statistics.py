"""Intervals, paired comparisons and rank correlations, held against scipy and statsmodels."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from lab.results.ranks import least_rho, permutation_p, rank_correlation
from lab.results.statistics import (
    Interval,
    bootstrap_mean,
    bootstrap_means,
    cluster_bootstrap,
    cluster_contrast,
    compare,
    decompose,
    holm,
    mcnemar,
    sign_flip,
    smallest_difference,
    wilson,
)

scores = st.floats(-100, 100).filter(lambda x: x == 0 or abs(x) > 1e-6)


@pytest.mark.parametrize(("passes", "n"), [(0, 1), (0, 180), (7, 20), (179, 180), (5, 5)])
def test_wilson_agrees_with_statsmodels(passes: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    interval = wilson(passes, n)
    low, high = proportion_confint(passes, n, method="wilson")
    assert interval == pytest.approx((passes / n, low, high), abs=1e-12)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=60)
def test_a_wilson_interval_holds_its_rate_and_mirrors_its_complement(case: tuple[int, int]) -> None:
    passes, n = case
    interval, mirrored = wilson(passes, n), wilson(n - passes, n)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_the_bootstrap_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(1).exponential(size=120)
    ours = bootstrap_mean(values, seed=2)
    theirs = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=3).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)
    half = bootstrap_mean(values, seed=2, level=0.5)
    assert ours.low < half.low < half.high < ours.high


@given(st.lists(scores, min_size=2, max_size=40), st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_bootstrap_interval_holds_its_mean_and_repeats_with_its_seed(values: list[float], seed: int) -> None:
    interval = bootstrap_mean(values, seed, resamples=500)
    assert min(values) - 1e-9 <= interval.low <= interval.value <= interval.high <= max(values) + 1e-9
    assert interval == bootstrap_mean(values, seed, resamples=500)


def test_a_single_value_has_no_interval_and_equal_ones_have_one_without_width() -> None:
    alone = [bootstrap_mean([0.7]), bootstrap_means([[0.7], [0.7, 0.7]]), cluster_bootstrap([0.7, 0.7], ["a", "a"])]
    for interval in (*alone, cluster_contrast([0.7, 0.7], ["a", "a"], [True, False], [False, True])):
        assert math.isnan(interval.low) and math.isnan(interval.high) and interval.text(str).endswith("(no interval)")
    assert {interval.value for interval in alone} == {0.7}
    assert bootstrap_mean([0.5, 0.5, 0.5]) == Interval(0.5, 0.5, 0.5)
    assert wilson(np.int64(3), 5) == wilson(3.0, 5) == wilson(3, 5), "a whole number of any type will do"


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
    assert sign_flip(np.ones(200))[0] == pytest.approx(1 / 10_001), "a sampled p-value is never zero"


@given(st.lists(scores, min_size=1, max_size=10))
@settings(max_examples=60)
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


def test_what_to_report_is_mcnemars_p_where_scores_are_passes_and_the_sign_flip_tests_where_they_are_graded() -> None:
    passes = compare({"a": 1, "b": 1, "c": 1}, {"a": 0, "b": 0, "c": 0})
    assert passes.p == passes.mcnemar == 0.25
    graded = compare({"a": 0.4, "b": 0.5}, {"a": 0.1, "b": 0.7})
    assert graded.p == graded.p_value == 1.0 and graded.mcnemar is None


def test_holms_own_steps() -> None:
    # By hand: .01 x 4, .02 x 3, .03 x 2 = .06, which may not fall below the one before; .5 x 1.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([]) == []


@pytest.mark.campaign
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=60)
def test_holm_agrees_with_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    adjusted = holm(p_values)
    assert adjusted == pytest.approx(multipletests(p_values, method="holm")[1].tolist())
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))


def test_one_sample_a_task_is_the_plain_bootstrap() -> None:
    values = np.random.default_rng(7).normal(size=200)
    plain, clustered = bootstrap_mean(values), cluster_bootstrap(values, range(200))
    assert clustered == pytest.approx(plain, abs=0.01)


@given(st.lists(scores, min_size=2, max_size=25), st.integers(2, 4), st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_sample_that_repeats_makes_no_interval_narrower(values: list[float], times: int, seed: int) -> None:
    tasks = list(range(len(values)))
    once = cluster_bootstrap(values, tasks, seed, resamples=300)
    repeated = cluster_bootstrap(values * times, tasks * times, seed, resamples=300)
    assert repeated == pytest.approx(once, abs=1e-6)
    assert once.low <= once.value <= once.high


def test_values_that_are_not_counted_leave_their_cluster_to_be_drawn() -> None:
    values, tasks = [1.0, 0.0, 1.0, 1.0], ["a", "b", "c", "c"]
    among = [True, True, False, False]
    found = cluster_bootstrap(values, tasks, among=among)
    assert found == (0.5, 0.0, 1.0)
    # In one resample of 27 all three draws are c, and there is no mean; it takes no part.


def test_a_contrast_resamples_both_groups_together() -> None:
    random = np.random.default_rng(3)
    level = random.normal(size=40).repeat(2)  # what a task's two values share, one in each group
    first = np.tile([True, False], 40)
    values = level + np.where(first, 1.0, 0.0)
    value, low, high = cluster_contrast(values, [number // 2 for number in range(80)], first, ~first)
    assert (value, low, high) == (pytest.approx(1), pytest.approx(1), pytest.approx(1))


def test_noise_of_a_table_by_hand() -> None:
    # Tasks' means are 1 and 4, each sample is 1 off: the variance within is 2, that of the means 4.5.
    noise = decompose([[0, 2], [3, 5]])
    assert noise.run == pytest.approx(math.sqrt(2)) and noise.task == pytest.approx(math.sqrt(4.5 - 2 / 2))
    assert noise.run_error == pytest.approx(math.sqrt(2 / 4)) and noise.error == pytest.approx(math.sqrt(4.5 / 2))


@pytest.mark.slow
def test_noise_agrees_with_a_mixed_model() -> None:
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    random = np.random.default_rng(8)
    matrix = random.normal(0, 2, size=(40, 1)) + random.normal(0, 1, size=(40, 5))
    long = pd.DataFrame({"score": matrix.ravel(), "task": np.repeat(np.arange(40), 5)})
    fitted = MixedLM.from_formula("score ~ 1", long, groups="task").fit()
    noise = decompose(matrix)
    assert noise.run**2 == pytest.approx(fitted.scale, rel=1e-3)
    assert noise.task**2 == pytest.approx(float(fitted.cov_re.iloc[0, 0]), rel=1e-3)
    assert noise.error == pytest.approx(float(fitted.bse["Intercept"]), rel=1e-3)


@given(st.lists(st.lists(scores, min_size=3, max_size=3), min_size=2, max_size=12))
@settings(max_examples=60)
def test_running_again_never_moves_a_mean_more_than_other_tasks_would(matrix: list[list[float]]) -> None:
    noise = decompose(matrix)
    assert 0 <= noise.run_error <= noise.error + 1e-9 and noise.task >= 0


def test_the_smallest_difference_is_found_four_times_in_five() -> None:
    random, n = np.random.default_rng(9), 50
    error = 1.96 / math.sqrt(n)
    smallest = smallest_difference(Interval(0, -error, error))
    assert smallest == pytest.approx(2.8 / math.sqrt(n), rel=0.01)
    found = np.abs(random.normal(smallest, 1 / math.sqrt(n), 20_000)) > error
    assert found.mean() == pytest.approx(0.8, abs=0.01)


NAN = math.nan
REFUSED = [
    *((wilson, (passes, n), f"{passes} passes of {n} tasks")
      for passes, n in [(1, 0), (3, 2), (-1, 2), (2.5, 5), (1, 2.5), (NAN, 2)]),
    *((bootstrap_mean, (values,), "a mean needs") for values in ([], [1.0, NAN], [[1.0]])),
    *((holm, (values,), "p-values lie in") for values in ([0.1, NAN], [1.5], [-0.1])),
    *((decompose, (table,), "two tasks or more") for table in ([[1.0, 2.0]], [[1.0], [2.0]], [[1.0, NAN], [1.0, 2.0]])),
    (compare, ({"t1": 1, "t2": 0}, {"t1": 1}), "the second run lacks 1 of the other's tasks: t2"),
    (compare, ({"t1": 1}, {"t1": 1, "t2": 0}), "the first run lacks"),
    (compare, ({f"t{number}": 1 for number in range(10)}, {}), "lacks 10 .*: t0, .*, t7 and 2 more. Run"),
    (compare, ({"t1": NAN}, {"t1": 1.0}), "without a score: t1"),
    (cluster_bootstrap, ([1.0, 2.0], ["a"]), "2 values, 1 clusters"),
    (partial(cluster_bootstrap, among=[False] * 2), ([1.0, 2.0], ["a", "b"]), "0 of 2 values are to be counted"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "given", "said"), REFUSED)
def test_what_cannot_be_counted_is_refused(function: Callable[..., object], given: tuple, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        function(*given)


# --- rank correlations -----------------------------------------------------------------------------------------------


few = st.lists(st.integers(0, 5), min_size=3, max_size=6)


@settings(max_examples=30)
@given(few, st.randoms(use_true_random=False))
def test_rho_is_that_of_scipy_ties_included(x: list[int], random: Random) -> None:
    y = random.sample(x, len(x))
    found = rank_correlation([[v] for v in x], [[v] for v in y], draws=10)
    if len(set(x)) == 1:
        assert math.isnan(found.rho) and math.isnan(found.p)
    else:
        assert found.rho == pytest.approx(spearmanr(x, y).statistic)
        assert math.isnan(found.low) and math.isnan(found.high), "one sample has no spread"
        assert 0 < found.p <= 1


def test_of_four_things_only_two_orders_in_24_are_as_extreme_as_the_same_order() -> None:
    assert permutation_p([1, 2, 3, 4], [10, 20, 30, 40]) == 2 / 24
    assert math.isnan(least_rho(4)), "no order of four things is rarer than 5 %"
    # The critical values that tables of Spearman's rho print, two-sided at 5 %.
    assert [round(least_rho(n), 3) for n in (5, 6, 7, 8)] == [1.0, 0.886, 0.786, 0.738]
    assert least_rho(12) == pytest.approx(0.587, abs=0.015)


def test_a_sampled_p_agrees_with_the_enumerated_one() -> None:
    x, y = np.arange(9.0), np.array([2.0, 0, 1, 4, 3, 6, 8, 5, 7])
    # SciPy's own approximation by Student's t is good enough to tell a wrong tail.
    assert permutation_p(x, y) == pytest.approx(spearmanr(x, y).pvalue, abs=0.005)


def test_noise_in_what_the_things_are_known_by_widens_the_interval() -> None:
    generator = np.random.default_rng(0)
    sure = np.arange(6.0)[:, None].repeat(30, axis=1)
    noisy = sure + generator.normal(0, 8, sure.shape)
    clear, unclear = (rank_correlation(sure, side, draws=500) for side in (sure, noisy))
    assert (clear.low, clear.high) == (1, 1)
    assert unclear.high - unclear.low > 0.2


def test_draws_in_which_a_side_is_constant_say_that_nothing_is_associated() -> None:
    solved = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])  # by all in the first task: a quarter draws that one twice
    found = rank_correlation(np.arange(3.0)[:, None].repeat(2, axis=1), solved, draws=2000)
    assert found.rho > 0.8 and found.low == 0


def test_a_thing_without_a_sample_is_refused_and_a_missing_one_is_left_out() -> None:
    with pytest.raises(ValueError, match="no sample"):
        rank_correlation([[1, 2], [math.nan, math.nan]], [[1], [2]])
    gaps = rank_correlation([[1, math.nan], [2, 3], [4, 9]], [[3], [2], [1]], draws=50)
    assert gaps.rho == pytest.approx(-1)
