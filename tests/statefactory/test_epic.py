"""EPIC: the official program's rules against SciPy pair by pair, and what Gleave's canonical form promises."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from lab.machine.paths import official_data
from statefactory.epic import epic_distance, epic_distances, overall
from statefactory.gleave import canonical, gleave_distance, gleave_distances, pearson_distance, transition_rewards
from statefactory.predictors.baselines import Monotonic

CONSTANT = np.sqrt(0.5)
rewards = st.floats(-100, 100, allow_subnormal=False).map(lambda value: round(value, 3))
pairs = st.integers(1, 12).flatmap(
    lambda n: st.tuples(st.lists(rewards, min_size=n, max_size=n), st.lists(rewards, min_size=n, max_size=n))
)
states = st.lists(rewards, min_size=2, max_size=8)


def reference(guess: list[float], true: list[float]) -> float:
    """The official rules for one pair, with SciPy's correlation."""
    if guess == true:
        rho = 1.0
    elif len(guess) < 2 or len(set(guess)) == 1 or len(set(true)) == 1:
        rho = 0.0
    else:
        rho = float(pearsonr(guess, true).statistic)
    return float(np.sqrt((1 - np.clip(rho, -1, 1)) / 2))


@given(st.lists(pairs, min_size=1, max_size=6))
def test_all_pairs_at_once_are_what_scipy_gives_one_by_one(given_pairs: list) -> None:
    guesses, truths = zip(*given_pairs, strict=True)
    expected = [reference(*pair) for pair in given_pairs]
    # An arc cosine of sorts: near rho = 1 rounding of 1e-15 shows as 1e-8.
    assert epic_distances(guesses, truths) == pytest.approx(expected, abs=1e-6)


@given(pairs, st.floats(0.1, 10), rewards)
def test_scale_and_shift_change_nothing(pair: tuple, scale: float, shift: float) -> None:
    guess, true = np.array(pair[0]), np.array(pair[1])
    if np.array_equal(guess, true) or np.ptp(guess) * scale < 0.01:
        return
    assert epic_distance(guess * scale + shift, true) == pytest.approx(epic_distance(guess, true), abs=1e-5)


def test_the_rules_at_the_edges() -> None:
    assert epic_distance([0.5, 0.5, 0.5], [0.1, 0.2, 0.3]) == pytest.approx(CONSTANT)
    assert epic_distance([0.1, 0.2], [0.3, 0.3]) == pytest.approx(CONSTANT)
    # As scipy/scipy#9562: constant but for the last bit, at any size.
    assert epic_distance([0.3, 0.3, 0.1 + 0.2], [0, 0.5, 1]) == pytest.approx(CONSTANT)
    assert epic_distance([0, 0.5, 1], [3e200, 3e200, 3e200 * (1 + 4e-16)]) == pytest.approx(CONSTANT)
    assert epic_distance([0.3, 0.3, 0.3 + 1e-9], [0, 0, 1]) == pytest.approx(0, abs=1e-6)
    assert epic_distance([-1e308, 1e308], [0, 1]) == pytest.approx(0, abs=1e-7)
    assert epic_distance([0.7], [0.2]) == pytest.approx(CONSTANT)
    assert epic_distance([0.7], [0.7]) == 0
    assert epic_distance([0.4, 0.4], [0.4, 0.4]) == 0
    assert epic_distance([0, 1], [1, 0]) == pytest.approx(1)
    assert epic_distance([1e-160, 2e-160, 4e-160], [1e160, 2e160, 4e160]) == pytest.approx(0, abs=1e-7)
    assert epic_distances([], []).shape == (0,)


@pytest.mark.parametrize(
    ("guess", "true", "what"),
    [
        ([1.0], [1.0, 2.0], "1 predicted rewards for 2 steps"),
        ([], [], "no steps"),
        ([np.nan, 1], [0, 1], "NaN or infinite"),
        ([0, 1], [np.inf, 1], "NaN or infinite"),
    ],
)
def test_what_cannot_be_scored_is_named(guess: list, true: list, what: str) -> None:
    with pytest.raises(ValueError, match=f"the second: .*{what}"):
        epic_distances([[0, 1], guess], [[0, 1], true], names=["the first", "the second"])


def test_rewards_may_come_as_one_row_or_one_column() -> None:
    assert epic_distance([[0.0, 1.0, 3.0]], [[0.0], [2.0], [3.0]]) == epic_distance([0, 1, 3], [0, 2, 3])


def test_overall_weighs_domains_not_pairs() -> None:
    found = overall({"large": [0.2] * 90, "small": [0.4, 0.8]})
    assert found.value == pytest.approx((0.2 + 0.6) / 2)
    assert found.low == pytest.approx(0.3) and found.high == pytest.approx(0.5)
    assert found == overall({"large": [0.2] * 90, "small": [0.4, 0.8]})
    with pytest.raises(ValueError, match="at least one domain"):
        overall({})


@pytest.mark.official
def test_monotonic_on_the_pairs_that_the_paper_prints() -> None:
    file = official_data() / "rewardprediction" / "paper_example_rewards.json"
    if not file.exists():
        pytest.skip(f"no {file.name} in {official_data()}")
    for pair in json.loads(file.read_text())["pairs"]:
        guess = [
            r
            for side in ("pos", "neg")
            for r in Monotonic().predict("", [""] * len(pair[side]), [""] * len(pair[side]))
        ]
        assert epic_distance(guess, pair["pos"] + pair["neg"]) == pytest.approx(
            reference(guess, pair["pos"] + pair["neg"])
        )


@given(states, st.floats(0, 1), st.lists(rewards, min_size=8, max_size=8))
def test_no_potential_shaping_moves_the_canonical_form(of_state: list, discount: float, potential: list) -> None:
    table = transition_rewards(np.array(of_state))
    shaping = np.array(potential[: len(of_state)])
    shaped = table + discount * shaping[None, :] - shaping[:, None]
    assert canonical(shaped, discount) == pytest.approx(canonical(table, discount), abs=1e-9)


@given(states, st.floats(0, 1))
def test_the_canonical_form_of_a_state_reward_is_the_reward_but_for_a_constant(of_state: list, discount: float) -> None:
    table = transition_rewards(np.array(of_state))
    assert canonical(table, discount) == pytest.approx(table - np.mean(of_state), abs=1e-9)


@given(st.lists(st.tuples(rewards, rewards), min_size=2, max_size=8))
def test_with_every_state_visited_once_both_distances_agree(values: list) -> None:
    guess, true = map(list, zip(*values, strict=True))
    if np.ptp(guess) < 0.01 or np.ptp(true) < 0.01:
        return
    seen = [f"observation {number}" for number in range(len(guess))]
    assert gleave_distance(guess, true, seen) == pytest.approx(epic_distance(guess, true), abs=1e-6)


def test_shaping_moves_the_simplified_distance_and_not_the_canonical_one() -> None:
    table = transition_rewards(np.array([0.0, 0.25, 0.5, 1.0]))
    potential = np.array([3.0, -1.0, 2.0, 0.0])
    shaped = table + 0.9 * potential[None, :] - potential[:, None]
    assert pearson_distance(table, shaped) > 0.3
    assert pearson_distance(canonical(table, 0.9), canonical(shaped, 0.9)) == pytest.approx(0, abs=1e-6)


def test_a_state_counts_once_and_a_predictor_of_time_is_averaged() -> None:
    seen = ["a", "b", "a", "b", "c"]
    truth = [0, 0, 0, 0, 1]
    assert gleave_distance([0, 0, 0, 0, 1], truth, seen) == pytest.approx(0, abs=1e-7)
    # Monotonic: a is (1 + 3) / 2, b is (2 + 4) / 2, c is 5.
    expected = epic_distance([2, 3, 5], [0, 0, 1])
    assert gleave_distance([1, 2, 3, 4, 5], truth, seen) == pytest.approx(expected)


def test_constants_are_undefined_and_lengths_checked() -> None:
    undefined = gleave_distances([[1, 1], [0, 1]], [[0, 1], [0, 1]], [["a", "b"], ["a", "b"]])
    assert np.isnan(undefined[0]) and undefined[1] == pytest.approx(0, abs=1e-7)
    assert np.isnan(gleave_distance([0.1 + 0.2, 0.3], [0, 1], ["a", "b"]))
    with pytest.raises(ValueError, match="2 rewards for 1 observations"):
        gleave_distance([0, 1], [0, 1], ["a"])
