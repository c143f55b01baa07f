"""Controls of SDP: adapters whose plans say less, and a Validate that errs at two rates.

Two controls make as many calls as SDP: a *placebo* without any content, and one whose targets' sentences are *blanked*.
Both call Validate and ignore its verdict: attempts are rejected at random. What SDP gains over the placebo is the
effect of its predicates, its state and its verdicts together. The blanked control keeps what else in a predicate tells
Realize what to do: on TravelPlanner its slot, route, budget, wanted cuisines and the filtered options. A gain over it
is the effect of the sentence and of the verdicts.

*Misjudging* shows what "with and without Validate" means for real validators. It is for adapters whose Validate is a
program and never errs (A.2); a Validate that asks a model errs by the noise on its prompt. With certify=1 and reject=0
it is the ablation -Validate; with both 0 it is the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Literal, TypeAlias

from lab.models.judges import Errors
from sdp.operators import ANSWER_KINDS, NOTHING, Adapter, Verdict
from sdp.trajectory import Attempt, Predicate, Trajectory

STEP = "Step "
AnyAdapter: TypeAlias = Adapter[Any, Any, Any]


class Wrapped:
    """An adapter with some operators replaced. Everything else is passed on to it, which no type checker follows."""

    def __init__(self, adapter: AnyAdapter, random: Random) -> None:
        self._adapter, self._random = adapter, random

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adapter, name)


class Misjudging(Wrapped):
    """An adapter whose Validate rejects what holds and certifies what does not, each at its rate.

    Each verdict is a new sample, as from a judge with a temperature. If Validate always erred alike on the same claim,
    it would stop every episode of rules, since rules repeat their choices.
    """

    def __init__(self, adapter: AnyAdapter, errors: Errors, random: Random) -> None:
        super().__init__(adapter, random)
        self._errors = errors

    def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
        """The adapter's verdict or, at its error rate, the opposite. No reason is invented for a wrong rejection."""
        right = self._adapter.validate(tail, observation, failures)
        draw = self._random.random()  # sampled in any case, so that runs at different rates begin alike
        if right.k:
            return Verdict(0, "the observation does not show it") if draw < self._errors.reject else right
        return Verdict(1, "certified") if draw < self._errors.certify else right


class Control(Wrapped):
    """An adapter whose plans say less, and whose Validate is called and ignored.

    kind: "placebo", without any content, so that nothing of the plan reaches Realize; or "blanked", with numbers
    instead of the targets' sentences. The goal stays, since the task states it. rejected: the share of attempts that
    are rejected at random; a placebo's attempts at an answer are not. With the share that SDP's own Validate rejects,
    both take as many attempts. At 1 an episode ends by its budgets, as in SDP if Validate certifies nothing.
    """

    def __init__(
        self, adapter: AnyAdapter, kind: Literal["placebo", "blanked"], rejected: float, random: Random
    ) -> None:
        """Raises ValueError for a share outside of [0, 1]."""
        super().__init__(adapter, random)
        if not 0 <= rejected <= 1:
            raise ValueError(f"{kind}={rejected}: the share of attempts to reject, from 0 to 1")
        self._kind, self._rejected = kind, rejected
        self._planned: list[Predicate] = []  # as the adapter worded it, for Propose alone

    def propose(self, state: Any, goal: Predicate, planned: Sequence[Predicate]) -> list[Predicate]:
        """The adapter's plan, with each predicate but the goal blanked.

        With one predicate per call (Eq. 1), the adapter goes on from its own words, so that it gets the same calls as
        in SDP.
        """
        before = self._planned[: len(planned)]
        self._planned = [*before, *self._adapter.propose(state, goal, before)]
        return self._blanked(self._planned[len(before) :], goal, len(before))

    def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
        """Certify or reject at random. A cascade is as deep as the adapter found it. None begins with a predicate that
        says nothing, since anything would meet it. An answer keeps its verdict under the placebo, as its content.
        """
        verdict = self._adapter.validate(tail, observation, failures)
        if self._kind == "placebo" and tail[0].kind in ANSWER_KINDS:
            return verdict
        if self._random.random() < self._rejected:
            return Verdict(0, "not certified")
        return Verdict(1 if tail[0].text == NOTHING else max(1, verdict.k), "certified")

    def replan(self, state: Any, goal: Predicate, trajectory: Trajectory, view: Any) -> list[Predicate]:
        """Like `propose`, after the steps that are certified."""
        return self._blanked(self._adapter.replan(state, goal, trajectory, view), goal, trajectory.certified)

    def _blanked(self, plan: Sequence[Predicate], goal: Predicate, before: int) -> list[Predicate]:
        numbered = enumerate(plan, start=before + 1)
        return [predicate if predicate == goal else self._blank(predicate, number) for number, predicate in numbered]

    def _blank(self, predicate: Predicate, number: int) -> Predicate:
        if self._kind == "placebo":
            return self._adapter.without_content(predicate)
        return self._adapter.blank(predicate, f"{STEP}{number}")


def rejected(trajectories: Iterable[Trajectory]) -> float:
    """The share of attempts that Validate rejected, in [0, 1], to three places; 0 if there are none.

    Attempts at an answer do not count: a control's random verdicts replace the others.
    """
    attempts = (attempt for trajectory in trajectories for attempt in trajectory.attempts)
    verdicts = [attempt.k for attempt in attempts if attempt.kind not in ANSWER_KINDS]
    return round(verdicts.count(0) / len(verdicts), 3) if verdicts else 0.0
