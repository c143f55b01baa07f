"""Table 1 as code: the four MDP inputs that language environments lack, and the credit signal, from trajectories."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from lab.results.exports import readable
from sdp.trajectory import Trajectory


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
    """The observation-to-state mapping φ as it was used: one row an attempt, with the state before and after.

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

    rejections: attempts at the predicate, from the state it was certified in or is still tried from, that failed.
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
