"""Rank correlation: against SciPy's, against orders counted by hand, and what few things cannot show."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from lab.results.ranks import least_rho, permutation_p, rank_correlation

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
