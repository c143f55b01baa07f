"""EPIC distance as defined by Gleave et al. (2021, "Quantifying differences in reward functions"), canonicalised.

EPIC compares reward *functions* R(s, a, s'). Each is first brought to a canonical form, Definition 4.1,

    C(R)(s, a, s') = R(s, a, s') + E[g R(s', A, S') - R(s, A, S') - g R(S, A, S')],

which no potential shaping R + g F(s') - F(s) changes; then sqrt((1 - rho) / 2) is taken over a coverage distribution.
The benchmark's program (`statefactory.epic`) leaves the canonical form out and correlates the rewards along the two
trajectories. For a reward of the state reached, R = r(s'), the form is r(s') - E[r]: the same up to a constant,
whatever g is. So what the simplification changes is something else, which this module makes visible:

- **Visits.** Along trajectories a state counts as often as it is visited; here every distinct state counts once.
- **Functions.** A predictor that looks at the step number gives one state several rewards. Here these are averaged, the
  nearest thing to it that is a function of the state.
- **Constants.** A constant reward has no correlation; the program puts it at 0.7071, here it is undefined (NaN).

States are the distinct observations of a pair, S and S' are uniform over them, and so are the transitions compared.
Actions do not enter: a step's reward is that of the state it reached.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from statefactory.epic import vary


def gleave_distances(
    predicted: Sequence[ArrayLike],
    truth: Sequence[ArrayLike],
    observations: Sequence[Sequence[str]],
    discount: float = 0.99,
) -> np.ndarray:
    """The canonical distance of every pair, shape (pairs,), in [0, 1]; NaN where either reward is constant.

    predicted, truth, observations: per pair one entry a step, positive trajectory first. Raises ValueError for
    lengths that differ.
    """
    triples = zip(predicted, truth, observations, strict=True)
    return np.array([gleave_distance(p, t, o, discount) for p, t, o in triples], float)


def gleave_distance(
    predicted: ArrayLike, truth: ArrayLike, observations: Sequence[str], discount: float = 0.99
) -> float:
    """The canonical distance of one pair; NaN where either reward is the same in all states."""
    guess, true = (state_rewards(rewards, observations) for rewards in (predicted, truth))
    if not all(vary(values.min(), values.max()) for values in (guess, true)):
        return float("nan")
    return pearson_distance(*(canonical(transition_rewards(values), discount) for values in (guess, true)))


def state_rewards(rewards: ArrayLike, observations: Sequence[str]) -> np.ndarray:
    """The mean reward of each distinct observation, in the order of first sight, shape (states,).

    Raises ValueError unless there is one reward an observation.
    """
    values = np.asarray(rewards, float).ravel()
    if values.size != len(observations):
        raise ValueError(f"{values.size} rewards for {len(observations)} observations")
    places = {text: index for index, text in enumerate(dict.fromkeys(observations))}
    state = [places[text] for text in observations]
    # A step-dependent predictor gives one state several rewards: the mean is the nearest function of the state.
    return np.bincount(state, values, len(places)) / np.bincount(state, minlength=len(places))


def transition_rewards(of_state: np.ndarray) -> np.ndarray:
    """The table R[s, s'] = r(s') of a reward of the state reached, shape (states, states)."""
    return np.broadcast_to(of_state, (of_state.size, of_state.size))


def canonical(table: np.ndarray, discount: float) -> np.ndarray:
    """C(R) of a table R[s, s'], shape (states, states), with S and S' uniform. Source: Definition 4.1."""
    onward = table.mean(axis=1)  # E[R(s, S')] for each s
    return table + discount * onward[None, :] - onward[:, None] - discount * onward.mean()


def pearson_distance(first: np.ndarray, second: np.ndarray) -> float:
    """sqrt((1 - rho) / 2) over all entries of two tables, neither of them constant."""
    rho = np.corrcoef(np.ravel(first), np.ravel(second))[0, 1]
    return float(np.sqrt((1 - np.clip(rho, -1, 1)) / 2))
