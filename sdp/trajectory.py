"""The record of an episode (§3.3): every plan, attempt and certified transition; to JSONL and back without loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from lab.models.backbone import Cost

MET = "goal met"  # key of `outcome`: whether the world's last answer shows the goal, as the adapter judges it


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on the world that an observation can falsify.

    text: the condition. kind, about: the same as typed JSON values, for adapters whose predicates come from
    a fixed set (A.2); free-form predicates (A.3) have neither.
    """

    text: str
    kind: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One Realize → act → Validate.

    step: index in the episode, from 0. plan, position: index of the plan, and of the target in it. state: index of the
    certified state it started from. action, observation: JSON values. k: cascade depth, 0 if rejected. cost: of the
    model calls of Realize and Validate. view: index of what the world showed before the attempt; None if it shows
    nothing. forced: Validate passed it though it was not found to hold (A.4).
    """

    step: int
    plan: int
    position: int
    state: int
    target: str
    kind: str
    action: Any
    observation: Any
    k: int
    reason: str
    cost: Cost = Cost()
    view: int | None = None
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A state plan. start: how many of its predicates were already certified when it was created.

    fault: why Replan gave no usable plan; the predicates are then those of the previous plan.
    """

    predicates: tuple[Predicate, ...]
    start: int
    operator: str
    cost: Cost = Cost()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Transition:
    """A certified step (s, a, s', k): `before` and `after` index the trajectory's states, `attempt` its attempts."""

    before: int
    after: int
    attempt: int
    k: int


@dataclass(frozen=True, slots=True)
class Forced:
    """The action forced when the loop stopped short of the goal (A.4), and the world's answer; it certifies nothing.

    reason: why there is no action, if the answer was malformed.
    """

    action: Any
    observation: Any
    reason: str = ""
    cost: Cost = Cost()


@dataclass(frozen=True, slots=True)
class Trajectory:
    """All attempts, transitions and plans of an episode.

    states: JSON values, s_0 first; one more than there are transitions. end: "goal" (certified); "world ended" (before
    the goal was certified); "step cap"; "budget" (attempts spent, Replan switched off); or "malformed plan": Propose
    gave no usable answer (the plan is what it had proposed by then), or Replan none within the budget (the plan stays).
    outcome: MET, if the adapter can tell. views: what the world showed, as JSON values, whenever it changed; the last
    one is from the end of the episode, and has the score in worlds that have one. forced: the answer forced at the
    end, if any.
    """

    task: str
    goal: Predicate
    settings: Mapping[str, Any]
    states: tuple[Any, ...]
    plans: tuple[Plan, ...]
    attempts: tuple[Attempt, ...]
    transitions: tuple[Transition, ...]
    end: str = "running"
    outcome: Mapping[str, Any] = field(default_factory=dict)
    views: tuple[Any, ...] = ()
    forced: Forced | None = None

    @property
    def reached_goal(self) -> bool:
        """Whether the goal predicate was certified."""
        return self.end == "goal"

    @property
    def certified(self) -> int:
        """Number of certified predicates of the current plan."""
        certifying = (self.attempts[transition.attempt] for transition in self.transitions)
        return self.plans[-1].start + sum(attempt.k for attempt in certifying if attempt.plan == self.replans)

    @property
    def progress(self) -> float:
        """Certified share of the current plan, in [0, 1] (Figure 3c)."""
        return self.certified / max(1, len(self.plans[-1].predicates))

    @property
    def replans(self) -> int:
        """How often Replan was called, malformed answers included: the index of the current plan."""
        return len(self.plans) - 1

    @property
    def replanned(self) -> int:
        """How often Replan gave a plan."""
        return sum(not plan.fault for plan in self.plans[1:])

    @property
    def since_certified(self) -> list[Attempt]:
        """The attempts since the last certified state, all of which were rejected."""
        return [attempt for attempt in self.attempts if attempt.state == len(self.states) - 1]

    @property
    def failures(self) -> list[Attempt]:
        """The rejected attempts at the current target since the last certified state: what Replan repairs."""
        return [attempt for attempt in self.since_certified if attempt.target == self.attempts[-1].target]

    @property
    def malformed(self) -> int:
        """Number of consecutive Replans, up to the last one, that gave no usable plan.

        Used as the `sample` of the next Replan, so that recordings tell the repeated calls apart.
        """
        return sum(1 for _ in takewhile(lambda plan: plan.fault, reversed(self.plans)))

    @property
    def cost(self) -> Cost:
        """Calls and tokens of the whole episode."""
        costs = [*(plan.cost for plan in self.plans), *(attempt.cost for attempt in self.attempts)]
        costs += [self.forced.cost] if self.forced else []
        return sum(costs, Cost())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; `from_json` gives an equal trajectory. States, actions and observations are not copied."""
        plans = [_costed(plan) | {"predicates": [_fields(p) for p in plan.predicates]} for plan in self.plans]
        parts = {
            "goal": _fields(self.goal),
            "plans": plans,
            "attempts": [_costed(attempt) for attempt in self.attempts],
            "transitions": [_fields(transition) for transition in self.transitions],
        }
        return _fields(self) | parts | ({"forced": _costed(self.forced)} if self.forced else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Trajectory:
        """The trajectory that `to_json` wrote. Raises TypeError or KeyError for a value that is no trajectory."""
        parts = dict(value)
        parts["goal"] = Predicate(**parts["goal"])
        parts["states"] = tuple(parts["states"])
        parts["plans"] = tuple(_plan(plan) for plan in parts["plans"])
        parts["attempts"] = tuple(Attempt(**a | {"cost": Cost(**a["cost"])}) for a in parts["attempts"])
        parts["transitions"] = tuple(Transition(**transition) for transition in parts["transitions"])
        parts["views"] = tuple(parts.get("views", ()))
        if forced := parts.get("forced"):
            parts["forced"] = Forced(**forced | {"cost": Cost(**forced["cost"])})
        return cls(**parts)


# Fields that older trajectories lack. Their defaults are not written, so that older runs compare equal.
UNSAID: Mapping[str, tuple[Any, ...]] = {"view": (None,), "views": ((),), "forced": (None, False), "fault": ("",)}


def _fields(record: Any) -> dict[str, Any]:
    # dataclasses.asdict copies every value in depth, which takes longer than the whole loop.
    values = {name: getattr(record, name) for name in record.__slots__}
    for name, defaults in UNSAID.items():
        if name in values and values[name] in defaults:
            del values[name]
    return values


def _costed(record: Any) -> dict[str, Any]:
    return _fields(record) | {"cost": _fields(record.cost)}


def _plan(value: Mapping[str, Any]) -> Plan:
    predicates = tuple(Predicate(**predicate) for predicate in value["predicates"])
    return Plan(**{**value, "predicates": predicates, "cost": Cost(**value["cost"])})
