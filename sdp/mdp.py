"""Table 1 as code: the four MDP inputs that language environments lack, and the credit signal, from trajectories.

Proposition 1, tested empirically (`markov_test`): does the prefix say anything about the next certified state beyond
(s, P)? Steps are grouped by their certified state and plan tail. Inside a group the next certified state must not
depend on how the episode got there. The statistic is the conditional mutual information I(next; prefix | s, P) in bits;
its null distribution comes from shuffling the prefixes inside each group, since the plug-in estimate is biased upwards.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lab.results.exports import readable
from sdp.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd

Prefix = Callable[[Trajectory, int], Any]  # takes a trajectory and the index of a transition


class Step(NamedTuple):
    """A certified tuple (s, a, k, s') of §6; s and s' index `MDP.states`."""

    task: str
    state: int
    action: Any
    k: int
    next_state: int


@dataclass(frozen=True)
class MDP:
    """The objects that MDP analysis needs, populated by the tasks rather than posited.

    states: the distinct certified states (the state space S). transitions: the certified tuples. initial, terminal: the
    indices of the states that episodes began in, and of those at which the goal predicate was certified.
    """

    states: tuple[Any, ...]
    transitions: tuple[Step, ...]
    initial: frozenset[int]
    terminal: frozenset[int]

    def kernel(self) -> pd.DataFrame:
        """Empirical transition kernel: `state, action, next_state, n, probability` given state and action."""
        import pandas as pd

        rows = [(s.state, _text(s.action), s.next_state) for s in self.transitions]
        counts = pd.DataFrame(rows, columns=["state", "action", "next_state"]).value_counts().rename("n").reset_index()
        totals = counts.groupby(["state", "action"])["n"].transform("sum")
        ordered = counts.assign(probability=counts["n"] / totals)
        return ordered.sort_values(["state", "action", "next_state"], ignore_index=True)


def mdp(trajectories: Iterable[Trajectory]) -> MDP:
    """Collect the MDP objects of many episodes; equal states (as JSON) are one state."""
    index: dict[str, int] = {}
    states: list[Any] = []
    steps, initial, terminal = [], set(), set()

    def number(state: Any) -> int:
        key = json.dumps(state, sort_keys=True)
        if key not in index:
            index[key] = len(states)
            states.append(state)
        return index[key]

    for trajectory in trajectories:
        numbers = [number(state) for state in trajectory.states]
        initial.add(numbers[0])
        terminal |= {numbers[-1]} if trajectory.reached_goal else set()
        steps += [
            Step(trajectory.task, numbers[t.before], trajectory.attempts[t.attempt].action, t.k, numbers[t.after])
            for t in trajectory.transitions
        ]
    return MDP(tuple(states), tuple(steps), frozenset(initial), frozenset(terminal))


def observation_map(trajectory: Trajectory) -> pd.DataFrame:
    """The observation-to-state mapping φ of an episode: one row per attempt, with the state before and after it.

    A rejected observation leaves the state as it was (A.1).
    """
    after = {t.attempt: t.after for t in trajectory.transitions}
    rows = [
        (a.step, a.target, _text(a.observation), a.k, a.state, after.get(a.step, a.state)) for a in trajectory.attempts
    ]
    columns = ["step", "target", "observation", "k", "state", "next_state"]
    return readable(rows, columns=columns)


def credit(trajectories: Sequence[Trajectory]) -> pd.DataFrame:
    """Per-predicate credit: which attempt certified each predicate, with what cascade depth, after how many rejections.

    rejections: failed attempts at the predicate, from the state in which it was certified or is still being tried.
    Predicates of the last plan that were never certified have k = 0 and no step.
    """
    rows = [row for trajectory in trajectories for row in _credit(trajectory)]
    columns = ["task", "position", "predicate", "kind", "certified", "k", "share", "step", "rejections"]
    return readable(rows, columns=columns)


def _credit(trajectory: Trajectory) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    rejected = Counter((attempt.state, attempt.target) for attempt in trajectory.attempts if attempt.k == 0)
    for attempt in (trajectory.attempts[transition.attempt] for transition in trajectory.transitions):
        plan = trajectory.plans[attempt.plan].predicates
        for position in range(attempt.position, attempt.position + attempt.k):
            target = plan[position]
            # A cascade certifies k predicates by one action. Table 1 names k as the signal and gives no formula; a
            # share of 1/k each, which sums to the number of actions, is our reading.
            credited = (True, attempt.k, 1 / attempt.k, attempt.step)
            tries = rejected[attempt.state, attempt.target] if position == attempt.position else 0
            rows.append((trajectory.task, position, target.text, target.kind, *credited, tries))
    plan, last = trajectory.plans[-1].predicates, len(trajectory.states) - 1
    for position, target in list(enumerate(plan))[trajectory.certified :]:
        tries = rejected[last, target.text] if position == trajectory.certified else 0
        rows.append((trajectory.task, position, target.text, target.kind, False, 0, 0.0, None, tries))
    return rows


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)


class MarkovTest(NamedTuple):
    """information: I(next; prefix | s, P) in bits; expected: its mean under independence; p_value: one-sided.

    steps: certified steps in all. groups: (s, P) pairs that occur with more than one prefix; only they count.
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
    """A coarser prefix, with more power if whole prefixes rarely repeat: the certified state before s."""
    return trajectory.states[trajectory.transitions[transition - 1].before] if transition else None


def markov_test(
    trajectories: Iterable[Trajectory], prefix: Prefix = whole_prefix, permutations: int = 500, seed: int = 0
) -> MarkovTest:
    """Test the conditional independence of Eq. 7. Raises ValueError if no (s, P) was reached by two prefixes."""
    rows = [row for trajectory in trajectories for row in _rows(trajectory, prefix)]
    columns = [np.array(column, dtype=object) for column in zip(*rows, strict=True)] if rows else [np.zeros(0)] * 3
    group, past, following = (np.unique(column, return_inverse=True)[1] for column in columns)
    ways = Counter(code for code, _ in set(zip(group, past, strict=True)))  # different prefixes before each (s, P)
    informative = np.array([ways[code] > 1 for code in group], dtype=bool)
    if not informative.any():
        raise ValueError("No certified state with its plan tail was reached by two different prefixes; give more runs")
    group, past, following = group[informative], past[informative], following[informative]
    random = np.random.default_rng(seed)
    observed = _information(group, past, following)
    null = np.array([_information(group, _shuffled(past, group, random), following) for _ in range(permutations)])
    # Add one to both, or a finite number of permutations could give p = 0. The tolerance is for rounding in the sums.
    p_value = (1 + (null >= observed - 1e-12).sum()) / (1 + permutations)
    return MarkovTest(observed, float(null.mean()), float(p_value), len(rows), len(set(group)), int(informative.sum()))


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
    joint = _entropy(group, past) + _entropy(group, following)
    return max(0.0, joint - _entropy(group, past, following) - _entropy(group))


def _entropy(*columns: np.ndarray) -> float:
    code = columns[0].astype(np.int64)
    for column in columns[1:]:
        code = code * (int(column.max()) + 1) + column
    share = np.unique(code, return_counts=True)[1] / len(code)
    return float(-(share * np.log2(share)).sum())
