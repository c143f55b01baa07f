"""What an adapter fills in: the four operators of Definition 1, the environment, and the state update.

Locality (§3.1) is held by the signatures. Realize gets the certified state, its target and the failed attempts at that
target since the state was certified. Validate gets the plan tail and the observation. Only Replan sees the trajectory.
An adapter keeps nothing between calls but its configuration, its backbone and its world, so no operator can reach more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from sdp.trajectory import Attempt, Predicate, Trajectory

State = TypeVar("State")
Action = TypeVar("Action")
Observation = TypeVar("Observation")


class Verdict(NamedTuple):
    """What Validate returns: the cascade depth k (Eq. 3), 0 for a rejection, and the reason."""

    k: int
    reason: str = ""


class Adapter(Protocol[State, Action, Observation]):
    """A benchmark, seen by the loop."""

    def start(self) -> tuple[State, Predicate]:
        """Reset the world; the initial state s_0 and the goal g."""
        ...

    def propose(self, state: State, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        """Eq. 1: the next targets after `planned`, one or many; the plan is complete when its last is the goal."""
        ...

    def realize(self, state: State, target: Predicate, failures: Sequence[Attempt]) -> Action:
        """Eq. 2: an action meant to make `target` hold. failures: rejected attempts at it from this state (A.1)."""
        ...

    def act(self, action: Action) -> Observation:
        """Env(a): the world's answer."""
        ...

    def validate(self, tail: Sequence[Predicate], observation: Observation) -> Verdict:
        """Eq. 3: how many consecutive predicates from the head of `tail` the observation satisfies."""
        ...

    def advance(self, state: State, certified: Sequence[Predicate], observation: Observation) -> State:
        """The observation-to-state mapping: the next certified state. Pure; called for certified steps only."""
        ...

    def replan(self, state: State, goal: Predicate, trajectory: Trajectory) -> Sequence[Predicate]:
        """Eq. 4: a new plan tail from `state` to the goal."""
        ...
