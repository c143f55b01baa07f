"""Two controls of SDP that ask as often: a placebo without any content, and one whose targets' sentences are blanked.

In both, verdicts are asked for and decide nothing: attempts are rejected by chance. What SDP gains over the *placebo*
is what its predicates, its state and its verdicts say, all together. The *blanked* control keeps what else in a
predicate tells Realize what to do: on TravelPlanner its slot, route, budget, wanted cuisines and the filtered options,
so that a gain over it is that of one sentence and of the verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, cast

from sdp.operators import NOTHING, Adapter, Verdict
from sdp.trajectory import Attempt, Predicate, Trajectory

STEP = "Step "


class Control:
    """An adapter, but for plans that say less and for a Validate that is asked and ignored.

    blank: a predicate and its place in the plan -> the one that stands there instead; never asked of the goal, which
    is given with the task. rejected: the share of attempts that are rejected whatever they bring, by chance. With the
    share that SDP's own Validate rejects, both take as many attempts.
    """

    def __init__(
        self,
        adapter: Adapter[Any, Any, Any],
        rejected: float,
        random: Random,
        blank: Callable[[Predicate, int], Predicate],
    ) -> None:
        self._adapter, self._rejected, self._random, self._blank = adapter, rejected, random, blank

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)

    def propose(self, state: Any, goal: Predicate, planned: Sequence[Predicate]) -> list[Predicate]:
        """The plan that the adapter makes, each predicate but the goal blanked."""
        return self._blanked(self._adapter.propose(state, goal, planned), goal, len(planned))

    def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
        """One predicate certified, or none, by chance. A cascade is as deep as the adapter says, if it found one; none
        begins with a predicate that says nothing, since anything would meet it.
        """
        asked = self._adapter.validate(tail, observation, failures)
        if self._random.random() < self._rejected:
            return Verdict(0, "not certified")
        return Verdict(1 if tail[0].text == NOTHING else max(1, asked.k), "certified")

    def replan(self, state: Any, goal: Predicate, trajectory: Trajectory, view: Any) -> list[Predicate]:
        """As Propose, from the steps that are certified."""
        return self._blanked(self._adapter.replan(state, goal, trajectory, view), goal, trajectory.certified)

    def _blanked(self, plan: Sequence[Predicate], goal: Predicate, before: int) -> list[Predicate]:
        steps = enumerate(plan, start=before + 1)
        return [each if each == goal else self._blank(each, number) for number, each in steps]


def rejected(trajectories: Iterable[Trajectory]) -> float:
    """The share of attempts that Validate rejected, in [0, 1], to three places; 0 of none."""
    verdicts = [attempt.k for trajectory in trajectories for attempt in trajectory.attempts]
    return round(verdicts.count(0) / len(verdicts), 3) if verdicts else 0.0


def placebo(adapter: Adapter[Any, Any, Any], rejected: float | None, random: Random) -> Adapter[Any, Any, Any]:
    """The adapter without content: nothing of its plan reaches Realize. The adapter itself where `rejected` is None.

    At 1 an episode ends by its budgets, as one of SDP does whose Validate certifies nothing. Raises ValueError for a
    share outside of [0, 1].
    """
    return _controlled(adapter, "placebo", rejected, random, lambda each, place: adapter.without_content(each))


def blanked(adapter: Adapter[Any, Any, Any], rejected: float | None, random: Random) -> Adapter[Any, Any, Any]:
    """The adapter with numbers for its targets' sentences, as `placebo` has its arguments."""
    return _controlled(adapter, "blanked", rejected, random, lambda each, place: adapter.blank(each, f"{STEP}{place}"))


def _controlled(
    adapter: Adapter[Any, Any, Any], name: str, rejected: float | None, random: Random,
    blank: Callable[[Predicate, int], Predicate],
) -> Adapter[Any, Any, Any]:  # fmt: skip
    if rejected is None:
        return adapter
    if not 0 <= rejected <= 1:
        raise ValueError(f"{name}={rejected}: the share of attempts to reject, from 0 to 1")
    # What is not named here is the adapter's own, which no type checker can follow.
    return cast(Adapter[Any, Any, Any], Control(adapter, rejected, random, blank))
