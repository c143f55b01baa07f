"""Proposition 1, tested empirically: does the prefix say anything about the next certified state beyond (s, P)?

Steps are grouped by their certified state and plan tail. Inside a group the next certified state must not depend on how
the episode got there. The statistic is the conditional mutual information I(next; prefix | s, P) in bits; its null
distribution comes from shuffling the prefixes inside each group, since the plug-in estimate is biased upwards.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from sdp.trajectory import Trajectory

Prefix = Callable[[Trajectory, int], Any]


class MarkovTest(NamedTuple):
    """information: I(next; prefix | s, P) in bits; expected: its mean under independence; p_value: one-sided.

    steps: certified steps in all. groups: (s, P) pairs that were seen with more than one prefix; only they can tell.
    informative: steps in those groups.
    """

    information: float
    expected: float
    p_value: float
    steps: int
    groups: int
    informative: int


def whole_prefix(trajectory: Trajectory, transition: int) -> Any:
    """The default prefix: the certified states and actions before s, (s_0, a_0, …, a_{t-1})."""
    earlier = trajectory.transitions[:transition]
    return [[trajectory.states[t.before], trajectory.attempts[t.attempt].action] for t in earlier]


def previous_state(trajectory: Trajectory, transition: int) -> Any:
    """A coarser prefix, with more power where whole prefixes hardly repeat: the certified state one before s."""
    return trajectory.states[trajectory.transitions[transition - 1].before] if transition else None


def markov_test(
    trajectories: Iterable[Trajectory], prefix: Prefix = whole_prefix, permutations: int = 500, seed: int = 0
) -> MarkovTest:
    """Test the conditional independence of Eq. 7. Raises ValueError where no (s, P) was reached in two ways."""
    rows = [row for trajectory in trajectories for row in _rows(trajectory, prefix)]
    columns = [np.array(column, dtype=object) for column in zip(*rows, strict=True)] if rows else [np.zeros(0)] * 3
    group, past, following = (np.unique(column, return_inverse=True)[1] for column in columns)
    ways = Counter(code for code, _ in set(zip(group, past, strict=True)))  # different prefixes before each (s, P)
    keep = np.array([ways[code] > 1 for code in group], dtype=bool)
    if not keep.any():
        raise ValueError("No certified state with its plan tail was reached by two different prefixes; give more runs")
    group, past, following = group[keep], past[keep], following[keep]
    random = np.random.default_rng(seed)
    observed = _information(group, past, following)
    null = np.array([_information(group, _shuffled(past, group, random), following) for _ in range(permutations)])
    # Add one to both, or a finite number of permutations could give p = 0. The slack is for sums in another order.
    p_value = (1 + (null >= observed - 1e-12).sum()) / (1 + permutations)
    return MarkovTest(observed, float(null.mean()), float(p_value), len(rows), len(set(group)), int(keep.sum()))


def _rows(trajectory: Trajectory, prefix: Prefix) -> Iterable[tuple[str, str, str]]:
    for number, transition in enumerate(trajectory.transitions):
        attempt = trajectory.attempts[transition.attempt]
        tail = [predicate.text for predicate in trajectory.plans[attempt.plan].predicates[attempt.position :]]
        following = trajectory.states[transition.after]
        yield _key([trajectory.states[transition.before], tail]), _key(prefix(trajectory, number)), _key(following)


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _shuffled(past: np.ndarray, group: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The prefixes in random order inside each group."""
    by_group = np.argsort(group, kind="stable")
    at_random = np.lexsort((random.random(len(group)), group))
    shuffled = np.empty_like(past)
    shuffled[by_group] = past[at_random]
    return shuffled


def _information(group: np.ndarray, past: np.ndarray, following: np.ndarray) -> float:
    """I(following; past | group) = H(g,p) + H(g,f) - H(g,p,f) - H(g), in bits."""
    both = _entropy(group, past) + _entropy(group, following)
    return max(0.0, both - _entropy(group, past, following) - _entropy(group))


def _entropy(*columns: np.ndarray) -> float:
    code = columns[0].astype(np.int64)
    for column in columns[1:]:
        code = code * (int(column.max()) + 1) + column
    share = np.unique(code, return_counts=True)[1] / len(code)
    return float(-(share * np.log2(share)).sum())
