"""EPIC distance with canonical rewards (Gleave et al. 2021, "Quantifying differences in reward functions").

EPIC compares reward *functions* R(s, a, s'). Each is first transformed to its canonical form (Definition 4.1),

    C(R)(s, a, s') = R(s, a, s') + E[g R(s', A, S') - R(s, A, S') - g R(S, A, S')],

which is invariant to potential shaping R + g F(s') - F(s). The distance is then sqrt((1 - rho) / 2) over a coverage
distribution. The benchmark's program (`statefactory.epic`) skips the canonical form and correlates the rewards along
the two trajectories. If a reward depends only on the state reached, R = r(s'), its canonical form is r(s') - E[r]: the
same up to a constant, for any g. So skipping it changes nothing. The two distances differ for other reasons:

- **Visits.** Along trajectories a state counts as often as it is visited; here every distinct state counts once.
- **Functions.** A predictor that uses the step number gives several rewards to one state. Here they are averaged, which
  is the closest function of the state.
- **Constants.** The correlation of a constant reward is undefined. The program gives it 0.7071; here it is NaN.

The states are the distinct observations of a pair. S, S' and the compared transitions are uniform over them.
Actions are ignored: a step's reward is that of the state it reached.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from statefactory.epic import vary

DISCOUNT = 0.99  # any gives the same distance, see above


def gleave_distances(
    predicted: Sequence[ArrayLike],
    truth: Sequence[ArrayLike],
    observations: Sequence[Sequence[str]],
) -> np.ndarray:
    """The canonical distance of every pair, shape (pairs,), in [0, 1]; NaN where either reward is constant.

    predicted, truth, observations: for each pair one entry per step, positive trajectory first.
    Raises ValueError if lengths differ.
    """
    triples = zip(predicted, truth, observations, strict=True)
    return np.array([gleave_distance(p, t, o) for p, t, o in triples], float)


def gleave_distance(predicted: ArrayLike, truth: ArrayLike, observations: Sequence[str]) -> float:
    """The canonical distance of one pair, in [0, 1]; NaN if either reward is the same in all states."""
    guess, true = (state_rewards(rewards, observations) for rewards in (predicted, truth))
    if not all(vary(values.min(), values.max()) for values in (guess, true)):
        return float("nan")
    return pearson_distance(*(canonical(transition_rewards(values), DISCOUNT) for values in (guess, true)))


def state_rewards(rewards: ArrayLike, observations: Sequence[str]) -> np.ndarray:
    """The mean reward of each distinct observation, in order of first appearance, shape (states,).

    Raises ValueError if rewards and observations differ in number.
    """
    values = np.asarray(rewards, float).ravel()
    if values.size != len(observations):
        raise ValueError(f"{values.size} rewards for {len(observations)} observations")
    state_ids = {text: index for index, text in enumerate(dict.fromkeys(observations))}
    states = [state_ids[text] for text in observations]
    # A step-dependent predictor gives one state several rewards; their mean is the closest function of the state.
    return np.bincount(states, values, len(state_ids)) / np.bincount(states, minlength=len(state_ids))


def transition_rewards(of_state: np.ndarray) -> np.ndarray:
    """The table R[s, s'] = r(s') of a reward that depends on the state reached, shape (states, states)."""
    return np.broadcast_to(of_state, (of_state.size, of_state.size))


def canonical(table: np.ndarray, discount: float) -> np.ndarray:
    """C(R) of a table R[s, s'], shape (states, states), with S and S' uniform. Source: Definition 4.1."""
    onward = table.mean(axis=1)  # E[R(s, S')] for each s
    return table + discount * onward[None, :] - onward[:, None] - discount * onward.mean()


def pearson_distance(first: np.ndarray, second: np.ndarray) -> float:
    """sqrt((1 - rho) / 2) over all entries of two tables, neither of which is constant."""
    rho = np.corrcoef(np.ravel(first), np.ravel(second))[0, 1]
    return float(np.sqrt((1 - np.clip(rho, -1, 1)) / 2))
