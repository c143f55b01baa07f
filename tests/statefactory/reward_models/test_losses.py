"""The preference loss against plain loops over pairs of positions."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from statefactory.reward_models.losses import PairLoss, preference_loss
from statefactory.reward_models.recipe import Loss

POSITIONS = st.lists(st.tuples(st.floats(-4, 4), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1, max_size=5)
Walk = list[tuple[float, float]]


def plain(walks: list[Walk], centring: float) -> tuple[float, int]:
    every = [position for walk in walks for position in walk]
    terms = [
        math.log1p(math.exp(-(a - b))) + centring * (a + b) ** 2
        for a, truth_a in every
        for b, truth_b in every
        if truth_a > truth_b
    ]
    return (sum(terms) / len(terms) if terms else 0.0), len(terms)


def loss_of(walks: list[Walk], kind: Loss, centring: float) -> PairLoss:
    scores = [torch.tensor([score for score, _ in walk], dtype=torch.float64, requires_grad=True) for walk in walks]
    return preference_loss(scores, [[truth for _, truth in walk] for walk in walks], kind, centring)


@settings(max_examples=40)
@given(st.lists(POSITIONS, min_size=2, max_size=3), st.sampled_from([0.0, 0.01, 0.5]))
def test_all_prefixes_are_compared_as_in_plain_loops(walks: list[Walk], centring: float) -> None:
    found, (wanted, count) = loss_of(walks, "all_prefixes", centring), plain(walks, centring)
    assert found.of == count and float(found.loss.detach()) == pytest.approx(wanted, abs=1e-9)
    found.loss.backward()  # also where there is nothing to compare


@settings(max_examples=40)
@given(st.lists(POSITIONS, min_size=2, max_size=2), st.sampled_from([0.0, 0.3]))
def test_outcome_compares_the_last_steps_alone(walks: list[Walk], centring: float) -> None:
    better, worse = walks[0][-1][0], walks[1][-1][0]
    found = loss_of(walks, "outcome", centring)
    assert found.of == 1 and found.right == (better > worse)
    wanted = math.log1p(math.exp(-(better - worse))) + centring * (better + worse) ** 2
    assert float(found.loss.detach()) == pytest.approx(wanted, abs=1e-9)
