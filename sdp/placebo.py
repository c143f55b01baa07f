"""SDP without content: as many predicates and verdicts, but predicates say nothing, and verdicts decide nothing.

What it gains over an agent without a plan, it gains by asking often, and so is no gain of certified state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, cast

from sdp.operators import Adapter, Verdict
from sdp.trajectory import Attempt, Predicate, Trajectory

STEP = "Step "


class Placebo:
    """An adapter, but for plans of numbered steps and for a Validate that is asked and ignored.

    rejected: the share of attempts that are rejected whatever they bring, by chance. With the share that SDP's own
    Validate rejects, both take as many attempts.
    """

    def __init__(self, adapter: Adapter[Any, Any, Any], rejected: float, random: Random) -> None:
        self._adapter, self._rejected, self._random = adapter, rejected, random

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def propose(self, state: Any, goal: Predicate, planned: Sequence[Predicate]) -> list[Predicate]:
        """The plan that the adapter makes, each predicate but the goal a number."""
        return self._blank(self._adapter.propose(state, goal, planned), goal, len(planned))

    def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
        """One predicate certified, or none, by chance. A cascade is as deep as the adapter says, if it found one."""
        asked = self._adapter.validate(tail, observation, failures)
        if self._random.random() < self._rejected:
            return Verdict(0, "not certified")
        return Verdict(max(1, asked.k), "certified")

    def replan(self, state: Any, goal: Predicate, trajectory: Trajectory, view: Any) -> list[Predicate]:
        """As Propose, from the steps that are certified."""
        return self._blank(self._adapter.replan(state, goal, trajectory, view), goal, trajectory.certified)

    def _blank(self, plan: Sequence[Predicate], goal: Predicate, before: int) -> list[Predicate]:
        steps = enumerate(plan, start=before + 1)
        return [each if each == goal else self._adapter.blank(each, f"{STEP}{number}") for number, each in steps]


def rejected(trajectories: Iterable[Trajectory]) -> float:
    """The share of attempts that Validate rejected, in [0, 1], to three places; 0 of none."""
    verdicts = [attempt.k for trajectory in trajectories for attempt in trajectory.attempts]
    return round(verdicts.count(0) / len(verdicts), 3) if verdicts else 0.0


def placebo(adapter: Adapter[Any, Any, Any], rejected: float | None, random: Random) -> Adapter[Any, Any, Any]:
    """The adapter without content; the adapter itself where `rejected` is None.

    At 1 an episode ends by its budgets, as one of SDP does whose Validate certifies nothing. Raises ValueError for a
    share outside of [0, 1].
    """
    if rejected is None:
        return adapter
    if not 0 <= rejected <= 1:
        raise ValueError(f"placebo={rejected}: the share of attempts to reject, from 0 to 1")
    # What is not named here is the adapter's own, which no type checker can follow.
    return cast(Adapter[Any, Any, Any], Placebo(adapter, rejected, random))
