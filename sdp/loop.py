"""Algorithm 1, the SDP execution loop. Comments give the algorithm's line numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any, Literal

from pydantic import BaseModel

from lab.models.backbone import Cost, Ledger, MalformedAnswer, cost_of
from sdp.operators import Adapter, Verdict, at, check_choices
from sdp.trajectory import MET, Attempt, Forced, Plan, Predicate, Trajectory, Transition


@dataclass(frozen=True)
class Settings:
    """The loop's parameters, and each choice that the paper leaves open.

    budget: b, attempts at a target. The algorithm (L.16) replans when failures exceed b, §3.2 says "after b":
    `retry_while` is "r<=b" (the algorithm) or "r<b" (the text). propose: a call gives one "predicate" (Eq. 1) or a
    whole "plan" (A.3). failures: the rejected attempts that Realize sees: those at its "target" since the state was
    certified, or all of the "episode" (A.1's history). step_cap: attempts in an episode (A.1; Table 7's value was not
    recovered). validate=False accepts everything, replan=False ends the episode when the budget is spent,
    cascade=False caps k at 1: the ablations of §4.3.
    """

    budget: int = 3
    retry_while: Literal["r<=b", "r<b"] = "r<=b"
    propose: Literal["plan", "predicate"] = "plan"
    failures: Literal["target", "episode"] = "target"
    step_cap: int = 100
    validate: bool = True
    replan: bool = True
    cascade: bool = True

    def __post_init__(self) -> None:
        check_choices(self)
        if self.budget < 0 or self.step_cap < 1:
            raise ValueError(f"budget={self.budget} and step_cap={self.step_cap}: need budget >= 0 and step_cap >= 1")

    def spent(self, failures: int) -> bool:
        """L.16: whether `failures` in a row call for Replan."""
        return failures > self.budget if self.retry_while == "r<=b" else failures >= self.budget


class UnreachablePlan(RuntimeError):
    """Propose repeated itself, or was called many times and never reached the goal."""


UNCHECKED = Verdict(1, "not checked: Validate is switched off")
LONGEST_PLAN = 1000  # predicates; a Propose that gives more will never stop


def run_episode(
    task: str,
    adapter: Adapter[Any, Any, Any],
    settings: Settings = Settings(),
    ledger: Ledger | None = None,
    watch: Callable[[Trajectory], None] | None = None,
) -> Trajectory:
    """Play one task; return the certified trajectory.

    ledger: the backbone that the adapter asks; it counts the cost of each attempt and plan. watch: called with the
    trajectory so far before each attempt.
    Raises UnreachablePlan, and whatever the world or the backbone raises. A malformed answer to Realize or Validate is
    a failed attempt. Replan is asked again after one, as often as the budget allows attempts at a target. In Propose it
    ends the episode.
    """
    state, goal = adapter.start()  # L.1
    log = _Log(task, goal, settings, ledger, state, adapter)
    plan = log.plan("propose", _build_plan(adapter, settings, state, goal), start=0)  # L.2-3
    if plan[-1:] != (goal,):
        return _stopped("malformed plan", adapter, state, goal, log)
    cursor, r = 0, 0  # L.4
    failures: tuple[Attempt, ...] = ()
    while cursor < len(plan):  # L.5
        if watch:
            watch(log.trajectory())
        if log.steps >= settings.step_cap:
            return _stopped("step cap", adapter, state, goal, log)
        tail, action, observation = plan[cursor:], None, None
        view = log.view()  # not in Algorithm 1: A.3's "state snapshot", see sdp.operators
        failed = at(tail[0], failures)
        try:
            known_failures = failed if settings.failures == "target" else log.rejected
            action = adapter.realize(state, tail[0], known_failures, view)  # L.6
            observation = log.answer = adapter.act(action)  # L.7
            verdict = adapter.validate(tail, observation, failed) if settings.validate else UNCHECKED  # L.8
        except MalformedAnswer as error:
            verdict = Verdict(0, f"malformed answer: {error}")
        verdict = verdict._replace(k=max(0, min(verdict.k, len(tail) if settings.cascade else 1)))
        attempt = log.attempt(cursor, tail[0], action, observation, verdict)
        if verdict.k >= 1:  # L.9
            evidence = observation if verdict.read is None else verdict.read
            state = adapter.advance(state, tail[: verdict.k], evidence)  # L.10-11
            log.transition(state, attempt)  # L.12
            cursor, r, failures = cursor + verdict.k, 0, ()  # L.13
        else:
            r, failures = r + 1, (*failures, attempt)  # L.15
        if cursor < len(plan) and observation is not None and adapter.ended(observation):
            return log.trajectory("world ended")
        if verdict.k == 0 and settings.spent(r):  # L.16
            if not settings.replan:
                return _stopped("budget", adapter, state, goal, log)
            new_plan = _new_plan(adapter, settings, state, goal, log, plan, cursor)  # L.17
            if not new_plan:
                return _stopped("malformed plan", adapter, state, goal, log)
            plan, r = new_plan, 0  # L.18
    return log.trajectory("goal")  # L.22


def _build_plan(
    adapter: Adapter[Any, Any, Any], settings: Settings, state: Any, goal: Predicate
) -> tuple[Predicate, ...]:
    """L.2: call Propose with its own results until the last predicate is the goal, or an answer is malformed."""
    planned: tuple[Predicate, ...] = ()
    first: tuple[Predicate, ...] = ()
    while planned[-1:] != (goal,):
        try:
            proposed = _up_to(goal, adapter.propose(state, goal, planned))
        except MalformedAnswer:
            return planned
        if not proposed or len(planned) >= LONGEST_PLAN:
            raise UnreachablePlan(f"After {len(planned)} predicates Propose has not reached the goal: {goal.text}")
        if planned and len(proposed) > 1 and proposed == first:
            raise UnreachablePlan(
                f"Propose gives the same {len(proposed)} predicates again, though the first is planned: "
                f"{proposed[0].text} An adapter that makes the whole plan has to return plan[len(planned):]"
            )
        first = first or proposed
        planned += proposed if settings.propose == "plan" else proposed[:1]
    return planned


def _new_plan(
    adapter: Adapter[Any, Any, Any], settings: Settings, state: Any, goal: Predicate, log: _Log,
    plan: tuple[Predicate, ...], cursor: int,
) -> tuple[Predicate, ...]:  # fmt: skip
    """L.17: the plan with Replan's tail; empty if the budget is spent on answers that do not lead to the goal."""
    for malformed in count(1):
        try:
            tail = _up_to(goal, adapter.replan(state, goal, log.trajectory(), log.view()))
            fault = "not a plan to the goal"
        except MalformedAnswer as error:
            tail, fault = (), f"malformed answer: {error}"
        if tail[-1:] == (goal,):
            return log.plan("replan", (*plan[:cursor], *tail), start=cursor)
        log.plan("replan", plan, start=cursor, fault=fault)
        if settings.spent(malformed):
            break
    return ()


def _stopped(end: str, adapter: Adapter[Any, Any, Any], state: Any, goal: Predicate, log: _Log) -> Trajectory:
    """The trajectory of a loop that stops short of the goal, with the answer that the adapter then forces (A.4)."""
    action, observation, reason = None, None, ""
    try:
        action = adapter.finalize(state, goal, log.trajectory(), log.view())
    except MalformedAnswer as error:
        reason = f"malformed answer: {error}"
    if action is not None:
        observation = log.answer = adapter.act(action)
    return log.trajectory(end, log.forced(action, observation, reason))


def _up_to(goal: Predicate, predicates: Sequence[Predicate]) -> tuple[Predicate, ...]:
    """The plan up to the goal: nothing may follow it."""
    plan = tuple(predicates)
    return plan[: plan.index(goal) + 1] if goal in plan else plan


class _Log:
    """Collects the trajectory of a running episode. Operators only get the frozen copy that `trajectory` returns."""

    def __init__(
        self, task: str, goal: Predicate, settings: Settings, ledger: Ledger | None, state: Any,
        adapter: Adapter[Any, Any, Any],
    ) -> None:  # fmt: skip
        self._task, self._goal, self._settings = task, goal, asdict(settings)
        self._ledger, self._booked = ledger, 0
        self._states = [plain(state)]
        self._plans: list[Plan] = []
        self._attempts: list[Attempt] = []
        self._transitions: list[Transition] = []
        self._adapter, self._views = adapter, list[Any]()
        self.answer: Any = None  # the world's last answer

    @property
    def steps(self) -> int:
        return len(self._attempts)

    @property
    def rejected(self) -> tuple[Attempt, ...]:
        """A.1's history: every rejected attempt of the episode."""
        return tuple(attempt for attempt in self._attempts if attempt.k == 0)

    def view(self) -> Any:
        """What the world shows now; recorded if it changed."""
        view = self._adapter.view()
        values = plain(view)
        if values is not None and self._views[-1:] != [values]:
            self._views.append(values)
        return view

    def plan(
        self, operator: str, predicates: Sequence[Predicate], start: int, fault: str = ""
    ) -> tuple[Predicate, ...]:
        self._plans.append(Plan(tuple(predicates), start, operator, self._cost(), fault))
        return self._plans[-1].predicates

    def attempt(self, position: int, target: Predicate, action: Any, observation: Any, verdict: Verdict) -> Attempt:
        attempt = Attempt(
            self.steps, len(self._plans) - 1, position, len(self._states) - 1, target.text, target.kind,
            plain(action), plain(observation), verdict.k, verdict.reason, self._cost(),
            len(self._views) - 1 if self._views else None, verdict.forced,
        )  # fmt: skip
        self._attempts.append(attempt)
        return attempt

    def transition(self, state: Any, attempt: Attempt) -> None:
        self._states.append(plain(state))
        self._transitions.append(Transition(len(self._states) - 2, len(self._states) - 1, attempt.step, attempt.k))

    def forced(self, action: Any, observation: Any, reason: str) -> Forced | None:
        return Forced(plain(action), plain(observation), reason, self._cost()) if action is not None or reason else None

    def trajectory(self, end: str = "running", forced: Forced | None = None) -> Trajectory:
        self.view()
        ended = end != "running" and self.answer is not None
        met = self._adapter.met(self._goal, self.answer) if ended else None
        return Trajectory(
            task=self._task, goal=self._goal, settings=self._settings,
            states=tuple(self._states), plans=tuple(self._plans), attempts=tuple(self._attempts),
            transitions=tuple(self._transitions), end=end, outcome={} if met is None else {MET: met},
            views=tuple(self._views), forced=forced,
        )  # fmt: skip

    def _cost(self) -> Cost:
        """Cost of the calls since the last use of this method."""
        if self._ledger is None:
            return Cost()
        calls = self._ledger.calls[self._booked :]
        self._booked += len(calls)
        return cost_of(calls)


def plain(value: Any) -> Any:
    """A state, action or observation as JSON values: its own `to_json`, a pydantic dump, or a dataclass's fields."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
