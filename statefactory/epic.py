"""The EPIC distance between predicted and true rewards, as the benchmark's official program computes it.

For each task the rewards of the positive and the negative trajectory are concatenated. Then D = sqrt((1 - rho) / 2),
where rho is Pearson's correlation of predicted and true rewards (Shen et al. 2026, Eq. 3). rho is 1 if both sequences
are equal. It is 0 if either is constant up to rounding or has one value only: a constant prediction has D = 0.7071.
A domain's value is the mean over its tasks, Overall the unweighted mean over domains. `statefactory.gleave` shows what
this simplification leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from lab.results.statistics import Interval, bootstrap_means

ROUNDING = 1e-12  # relative to the largest reward


def epic_distance(predicted: ArrayLike, truth: ArrayLike) -> float:
    """The distance of one pair, in [0, 1]. predicted, truth: shape (steps,). Raises ValueError as `epic_distances`."""
    return float(epic_distances([predicted], [truth])[0])


def epic_distances(
    predicted: Sequence[ArrayLike], truth: Sequence[ArrayLike], names: Sequence[str] = ()
) -> np.ndarray:  # fmt: skip
    """The distance of every pair, shape (pairs,), each in [0, 1]. Vectorised over pairs.

    predicted, truth: for each pair its rewards, positive trajectory first, shape (steps,); steps may differ between
    pairs. names: of the pairs, for error messages.
    Raises ValueError naming a pair whose lengths differ, that is empty, or that has a NaN or infinite value.
    """
    guess, true, lengths = _flat(predicted, truth, names)
    if not lengths.size:
        return np.zeros(0)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    identical = np.logical_and.reduceat(guess == true, starts)
    rho = _correlations(guess, true, starts, lengths)
    # As in the official get_distance.py, rho is 1 for equal sequences, even constant ones. It is clipped because
    # rounding may lead beyond 1.
    return np.sqrt((1 - np.clip(np.where(identical, 1.0, rho), -1, 1)) / 2)


def vary(low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """Whether rewards between `low` and `high` differ by more than rounding errors of sums. Elementwise."""
    low, high = np.asarray(low), np.asarray(high)
    return high / 2 - low / 2 > ROUNDING / 2 * np.maximum(abs(low), abs(high))  # halves: the full range may overflow


def overall(domains: Mapping[str, Sequence[float] | np.ndarray]) -> Interval:
    """The unweighted mean of the domain means, with a bootstrap interval that resamples the pairs within each domain.

    Raises ValueError if there is no domain, or a domain has no pairs.
    """
    if not domains:
        raise ValueError("an overall value needs the distances of at least one domain")
    # Unweighted, as in Table 1: weighted by pairs, the paper's .297 would be .304.
    return bootstrap_means(list(domains.values()))


def _flat(
    predicted: Sequence[ArrayLike], truth: Sequence[ArrayLike], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if len(predicted) != len(truth):
        raise ValueError(f"{len(predicted)} pairs were predicted, and the truth has {len(truth)}")
    guesses, truths = map(_arrays, (predicted, truth))
    lengths, expected = (np.array([rewards.size for rewards in side], int) for side in (guesses, truths))
    guess, true = _joined(guesses), _joined(truths)
    # One check for all pairs; the offending pair is searched only if it fails.
    if not ((lengths == expected).all() and lengths.all() and np.isfinite(guess).all() and np.isfinite(true).all()):
        pairs = zip(guesses, truths, strict=True)
        number, problem = next((i, message) for i, pair in enumerate(pairs) if (message := _problem(*pair)))
        raise ValueError(f"{names[number] if number < len(names) else f'pair {number}'}: {problem}")
    return guess, true, lengths


def _arrays(side: Sequence[ArrayLike]) -> list[np.ndarray]:
    arrays = [np.asarray(rewards, float) for rewards in side]
    return [rewards if rewards.ndim == 1 else rewards.ravel() for rewards in arrays]


def _problem(guess: np.ndarray, true: np.ndarray) -> str:
    if guess.size != true.size:
        return f"{guess.size} predicted rewards for {true.size} steps"
    if not guess.size:
        return "no steps"
    return "" if np.isfinite(guess).all() and np.isfinite(true).all() else "a reward is NaN or infinite"


def _joined(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([*arrays, np.zeros(0)])


def _correlations(first: np.ndarray, second: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Pearson's rho of each segment; 0 if either side is constant."""
    (x, x_varies), (y, y_varies) = (_centred(values, starts, lengths) for values in (first, second))
    products, x_squares, y_squares = (np.add.reduceat(values, starts) for values in (x * y, x * x, y * y))
    norms = np.sqrt(x_squares) * np.sqrt(y_squares)
    # The official program sets rho to 0 if a side is constant, so D = .7071: the .707 in Table 1.
    return np.divide(products, norms, out=np.zeros_like(norms), where=x_varies & y_varies)


def _centred(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each segment scaled to [-1, 1] and centred, and which segments vary by more than rounding."""
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    # Scaled to [-1, 1] first: squares of very small or large rewards would underflow or overflow.
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    unit = values - middle.repeat(lengths)
    unit /= np.where(half > 0, half, 1).repeat(lengths)
    unit -= (np.add.reduceat(unit, starts) / lengths).repeat(lengths)
    return unit, vary(low, high)
