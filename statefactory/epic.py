"""The EPIC distance between predicted and true rewards, as the benchmark's official program computes it.

Per task the predictions for the positive trajectory are followed by those for the negative one, the truth likewise, and
D = sqrt((1 - rho) / 2) with Pearson's rho (Shen et al. 2026, Eq. 3). rho is 1 where both sequences are the same and 0
where either is constant up to rounding or has one value only, so that a constant prediction is at 0.7071. A domain's
value is the mean over its tasks, Overall the unweighted mean over domains. What this simplification leaves out:
`statefactory.gleave`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from lab.results.statistics import Interval, bootstrap_means

ROUNDING = 1e-12  # relative to the largest reward


def epic_distance(predicted: ArrayLike, truth: ArrayLike) -> float:
    """The distance of one pair, in [0, 1]; both of shape (steps,). Raises ValueError."""
    return float(epic_distances([predicted], [truth])[0])


def epic_distances(
    predicted: Sequence[ArrayLike], truth: Sequence[ArrayLike], names: Sequence[str] = ()
) -> np.ndarray:  # fmt: skip
    """The distance of every pair, shape (pairs,), each in [0, 1]; all pairs in one go.

    predicted, truth: a pair's rewards each, positive trajectory first, of shape (steps,) with steps differing between
    pairs. names: of the pairs, for error messages. Raises ValueError for a pair whose lengths differ, that is
    empty, or that has a NaN or an infinite value.
    """
    guess, true, lengths = _flat(predicted, truth, names)
    if not lengths.size:
        return np.zeros(0)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    same = np.logical_and.reduceat(guess == true, starts)
    rho = _correlations(guess, true, starts, lengths)
    # As the official get_distance.py: rho is 1 for equal sequences even where they are constant. Clipped, since
    # rounding may bring rho beyond 1.
    return np.sqrt((1 - np.clip(np.where(same, 1.0, rho), -1, 1)) / 2)


def vary(low: ArrayLike, high: ArrayLike) -> np.ndarray:
    """Whether rewards from `low` to `high` differ by more than summing them in another order would make them."""
    low, high = np.asarray(low), np.asarray(high)
    return high / 2 - low / 2 > ROUNDING / 2 * np.maximum(abs(low), abs(high))  # halves: the whole may be infinite


def overall(domains: Mapping[str, Sequence[float] | np.ndarray], seed: int = 0, level: float = 0.95) -> Interval:
    """The unweighted mean of the domain means, with a bootstrap interval that resamples the pairs within each domain.

    Raises ValueError if there is no domain, or one without pairs.
    """
    if not domains:
        raise ValueError("an overall value needs the distances of at least one domain")
    # Unweighted, as Table 1: over pairs the paper's .297 would be .304.
    return bootstrap_means(list(domains.values()), seed, level)


def _flat(
    predicted: Sequence[ArrayLike], truth: Sequence[ArrayLike], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if len(predicted) != len(truth):
        raise ValueError(f"{len(predicted)} pairs were predicted, and the truth has {len(truth)}")
    guesses, truths = map(_arrays, (predicted, truth))
    lengths, expected = (np.array([rewards.size for rewards in side], int) for side in (guesses, truths))
    guess, true = _joined(guesses), _joined(truths)
    # All at once; only where something is wrong is it looked for pair by pair.
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
    """Pearson's rho of each segment; 0 where either side is constant."""
    (x, x_varies), (y, y_varies) = (_centred(values, starts, lengths) for values in (first, second))
    products, x_squares, y_squares = (np.add.reduceat(values, starts) for values in (x * y, x * x, y * y))
    norms = np.sqrt(x_squares) * np.sqrt(y_squares)
    # A constant side gets rho 0 in the official program, and so D = .7071: the .707 of Table 1.
    return np.divide(products, norms, out=np.zeros_like(norms), where=x_varies & y_varies)


def _centred(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each segment scaled to [-1, 1] and centred, and which segments vary by more than rounding."""
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    # To [-1, 1] first: squares of very small or very large rewards would leave the range of floats.
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    unit = values - middle.repeat(lengths)
    unit /= np.where(half > 0, half, 1).repeat(lengths)
    unit -= (np.add.reduceat(unit, starts) / lengths).repeat(lengths)
    return unit, vary(low, high)
