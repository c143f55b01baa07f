"""Contracts of adapters: what the loop, the controls and the tables rely on, each checked on a few episodes.

`python -m lab doctor --adapter NAME` checks an SDP experiment, the suite's or a reader's. A contract is a function of
an experiment and some of its tasks. It returns what it checked, and raises `Broken` with the call that broke it.
Signatures alone cannot ensure these: an adapter may store what it saw, or put into its prompts what it should not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from random import Random
from typing import Any, Literal

from lab.machine.doctor import Check
from lab.models.backbone import cost_of
from sdp.between import Between, Noting, Rejecting, play
from sdp.experiments.certifying import Certifying
from sdp.loop import plain
from sdp.operators import NOTHING
from sdp.placebo import Control
from sdp.reach import READS, Leak, Watched, reachable, refuse, signatures
from sdp.trajectory import Attempt, Predicate, Trajectory

MOST = 200  # predicates of a plan, and attempts of an episode, in a check
MARK = re.compile(r"refusal [a-z]{2}\d+")  # the numbered reason that a check gives for a rejection


class Broken(AssertionError):
    """An adapter broke a contract; the message names the call and the fault."""


def propose_respects_planned(setup: Certifying, tasks: Sequence[str]) -> str:
    """Eq. 1: asked for one predicate per call, Propose goes on from `planned`, and its prompt shows `planned`."""
    setup = replace(setup, settings=replace(setup.settings, propose="predicate"))
    predicates = prompts = 0
    for task in tasks:
        ledger = Noting(setup.engine)
        with setup.answering(task):
            adapter = Between(setup.adapter(task, ledger), ledger)
            state, goal = adapter.start()
            planned: tuple[Predicate, ...] = ()
            first: Sequence[Predicate] = ()
            first_fields: list[Any] = []
            while goal not in planned:
                before = len(ledger.asked)
                proposed = adapter.propose(state, goal, planned)
                fields = [prompt_fields for _, prompt_fields in ledger.asked[before:]]
                if not proposed or len(planned) > MOST:
                    raise Broken(f"{task}: after {len(planned)} predicates Propose has not named the goal")
                if planned and list(proposed) == list(first):
                    raise Broken(f"{task}: Propose begins again with {first[0].text!r}, which is planned")
                if planned and fields and fields == first_fields:
                    raise Broken(f"{task}: Propose's prompt is the same, whatever is planned")
                first, first_fields = (first, first_fields) if planned else (proposed, fields)
                planned = (*planned, proposed[0])
            predicates, prompts = predicates + len(planned), prompts + len(ledger.asked)
    return f"{predicates} predicates in as many calls, {prompts} prompts"


def placebo_has_no_content(setup: Certifying, tasks: Sequence[str]) -> str:
    """Under the placebo of `sdp.placebo`, Realize is given the same for a plan about other places and numbers."""
    count = 0
    for task in tasks:
        plan, given = realized(setup, task)
        other = realized(setup, task, scrambled=True)[1]
        if pair := next((pair for pair in zip(given, other, strict=False) if pair[0] != pair[1]), None):
            raise Broken(f"{task}: the plan reaches Realize: {_short(pair[0])}; with another plan {_short(pair[1])}")
        if len(given) != len(other):
            raise Broken(f"{task}: the plan reaches Realize: {len(given)} calls; with another plan {len(other)} calls")
        if kinds := {predicate.kind for predicate in plan if predicate.kind} & _texts(given):
            raise Broken(f"{task}: Realize is given the kind of its target, {', '.join(sorted(kinds))}")
        count += len(given)
    return f"{count} calls of Realize"


def realized(
    setup: Certifying, task: str, control: Literal["placebo", "blanked"] = "placebo", scrambled: bool = False
) -> tuple[list[Predicate], list[Any]]:
    """The plan of an episode under a control, and what Realize was given: its prompts' fields, else its arguments.

    scrambled: change the plan's places and numbers before the control removes its content.
    """
    spied: list[Spied] = []

    def wrap(adapter: Any, ledger: Noting) -> Any:
        spied.append(Spied(adapter, ledger, scrambled))
        return Control(spied[0], control, 0.2, Random(f"{control} {task}"))

    ledger = play(setup, task, wrap, step_cap=min(MOST, setup.settings.step_cap)).ledger
    fields = [prompt_fields for running, prompt_fields in ledger.asked if running in ("realize", "act")]
    return spied[0].plan, fields or spied[0].given


class Spied(Between):
    """Records plans and what Realize is given of them. scrambled: change the plans' places and numbers."""

    def __init__(self, inner: Any, ledger: Noting, scrambled: bool) -> None:
        super().__init__(inner, ledger)
        self.scrambled, self.plan, self.given = scrambled, list[Predicate](), list[Any]()

    def around(self, name: str, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        if name == "realize":
            self.given.append([asdict(arguments[1]), plain(arguments[0])])
        result = operator(*arguments)
        if name not in ("propose", "replan"):
            return result
        goal = arguments[1]
        self.plan += [predicate for predicate in result if predicate != goal and predicate.text != NOTHING]
        return [_other(predicate) if self.scrambled and predicate != goal else predicate for predicate in result]


def locality(setup: Certifying, tasks: Sequence[str]) -> str:
    """§3.1: by signature and by reference, only Replan and `finalize` can reach the history."""
    calls = 0
    for task in tasks:
        watched: list[Watched] = []

        def wrap(adapter: Any, ledger: Noting, watched: list[Watched] = watched) -> Any:
            signatures(adapter)
            # What exists before an episode holds no history; it is searched again after the episode.
            watched.append(Watched(adapter, frozenset(map(id, reachable([adapter])))))
            return Rejecting(watched[0], ledger, spared=3)

        play(setup, task, wrap, step_cap=12, budget=1)
        refuse("after the episode the adapter", [watched[0].inner], frozenset())
        calls += watched[0].calls.total()
    return f"{calls} calls"


def replan_sees_this_targets_failures(setup: Certifying, tasks: Sequence[str]) -> str:
    """A.1, A.3: Replan's prompt has the reason of the last failure at its target, and none from other targets."""
    replans = prompts = 0
    for task in tasks:
        between = play(setup, task, _Replans, step_cap=14, budget=1).between
        replans, prompts = replans + between.replans, prompts + between.prompts
    return f"{replans} Replans, {prompts} prompts" if prompts else f"{replans} Replans, none of which asks a model"


class _Replans(Rejecting):
    def __init__(self, inner: Any, ledger: Noting) -> None:
        super().__init__(inner, ledger, spared=1)
        self.prompts = 0

    def around(self, name: str, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        before = len(self.ledger.asked)
        result = super().around(name, operator, arguments)
        if name != "replan" or not (new_prompts := self.ledger.asked[before:]):
            return result
        attempts: Sequence[Attempt] = arguments[2].attempts
        stuck, marks = attempts[-1], set(MARK.findall(json.dumps(new_prompts)))
        at_target = {a.reason for a in attempts if (a.state, a.target) == (stuck.state, stuck.target)}
        if stuck.reason not in marks:
            raise Broken(f"Replan's prompt lacks the reason why the last attempt at {stuck.target!r} failed")
        if others := marks - at_target:
            raise Broken(f"Replan's prompt lists {len(others)} failures at other targets as if at {stuck.target!r}")
        self.prompts += len(new_prompts)
        return result


def state_changes_by_certification_alone(setup: Certifying, tasks: Sequence[str]) -> str:
    """L.9-11: no operator changes the certified state, and `advance` computes the next one from its arguments alone."""
    calls = 0
    for task in tasks:
        guards: list[_Guard] = []

        def wrap(adapter: Any, ledger: Noting, guards: list[_Guard] = guards) -> Any:
            guards.append(_Guard(adapter, ledger))
            return Rejecting(guards[0], ledger, spared=3)

        trajectory = play(setup, task, wrap, step_cap=12, budget=1).trajectory
        if Trajectory.from_json(json.loads(json.dumps(trajectory.to_json()))) != trajectory:
            raise Broken(f"{task}: a state, action or observation is not the same after it was written as JSON")
        calls += guards[0].calls
    return f"{calls} calls"


class _Guard(Between):
    def __init__(self, inner: Any, ledger: Noting) -> None:
        super().__init__(inner, ledger)
        self.state: Any = None
        self.calls = 0

    def around(self, name: str, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        before = _key(self.state)
        result = operator(*arguments)
        self.calls += 1
        if _key(self.state) != before:
            raise Broken(f"{name} changes the certified state from {_short(before)} to {_short(_key(self.state))}")
        if name == "advance" and _key(operator(*arguments)) != _key(result):
            raise Broken("advance is not pure: called again with the same arguments, it returns another state")
        self.state = result if name == "advance" else result[0] if name == "start" else self.state
        return result


def cascade_scores_fairly(setup: Certifying, tasks: Sequence[str]) -> str:
    """§4.3: the same actions score the same with k capped at 1; else -Cascade would measure bookkeeping."""
    cascades = 0
    for task in tasks:
        full, between, _ = play(setup, task, _Recording, cascade=True)
        if all(attempt.k < 2 for attempt in full.attempts):
            continue
        cascades += 1
        again = partial(_Recording, actions=between.actions)
        without = play(setup, task, again, cascade=False, step_cap=len(between.actions)).trajectory
        score, other = setup.score(full), setup.score(without)
        if score != other:
            raise Broken(
                f"{task}: the same {len(between.actions)} actions score {score:g} with cascade and {other:g} without; "
                "score what the world shows, such as a `score` in its view, and not what is certified"
            )
    return f"{cascades} of {len(tasks)} episodes with a cascade" + ("" if cascades else ": nothing to compare")


class _Recording(Between):
    """Records the actions of Realize; if it is given some, it replays those instead."""

    def __init__(self, inner: Any, ledger: Noting, actions: Sequence[Any] = ()) -> None:
        super().__init__(inner, ledger)
        self.actions, self.rest = list[Any](), iter(actions)

    def around(self, name: str, operator: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        if name != "realize":
            return operator(*arguments)
        self.actions.append(action := next(self.rest, None) or operator(*arguments))
        return action


def budget_arithmetic(setup: Certifying, tasks: Sequence[str]) -> str:
    """L.16: b + 1 attempts at a target before Replan ("r<b": max(b, 1)), which plans to the goal; all calls count."""
    budgets = [*product((0, 1, 2), ("r<=b", "r<b"))]
    for task in tasks:  # one task is enough, unless its world ends before a Replan
        if count := sum(_budget(setup, task, budget, retry_while) for budget, retry_while in budgets):
            return f"{count} Replans at b = 0, 1 and 2"
    return "worlds that end before any Replan: nothing to count"


def _budget(setup: Certifying, task: str, budget: int, retry_while: str) -> int:
    expected = budget + 1 if retry_while == "r<=b" else max(1, budget)
    with_budget = f"{task}, b = {budget}, {retry_while}"
    settings = {"budget": budget, "retry_while": retry_while, "step_cap": 3 * expected}
    trajectory, _, ledger = play(setup, task, Rejecting, **settings)
    if fault := next((plan.fault for plan in trajectory.plans if plan.fault), ""):
        raise Broken(f"{with_budget}: Replan gives {fault}")
    planned = [attempt.plan for attempt in trajectory.attempts]
    tries = [planned.count(plan) for plan in range(len(trajectory.plans) - 1)]
    if trajectory.end != "world ended" and tries != [expected] * 3:
        raise Broken(f"{with_budget}: {tries} attempts before the Replans, not {expected} before each of 3")
    booked = trajectory.cost.calls
    if not booked == cost_of(ledger.calls).calls == ledger.answered:
        raise Broken(f"{with_budget}: the engine answered {ledger.answered} prompts, but {booked} were counted")
    return len(tries)


CONTRACTS: Mapping[str, Callable[[Certifying, Sequence[str]], str]] = {
    "Propose respects what is planned": propose_respects_planned,
    "the placebo has no content": placebo_has_no_content,
    "locality": locality,
    "Replan sees this target's failures": replan_sees_this_targets_failures,
    "the state changes by certification alone": state_changes_by_certification_alone,
    "-Cascade scores fairly": cascade_scores_fairly,
    "budget arithmetic": budget_arithmetic,
}


def checks(subject: Any, engine: str = "") -> list[Check] | None:
    """Check each contract of an experiment on two of its tasks; None if `subject` is no SDP experiment.

    subject: a class or an instance of `sdp.Certifying`. engine: the one that answers, by default the experiment's own.
    Raises ValueError for an adapter, since it does not say what its tasks are.
    """
    if isinstance(subject, type) and {*READS} - {"view", "ended", "finalize"} <= {*dir(subject)}:
        raise ValueError(
            f"{subject.__name__} is an adapter; name the experiment that plays it, a class of sdp.Certifying"
        )
    setup = subject() if isinstance(subject, type) and issubclass(subject, Certifying) else subject
    if not isinstance(setup, Certifying):
        return None
    setup = replace(setup, limit=2, engine=engine or setup.engine).resolved()
    return [check(setup, name) for name in CONTRACTS]


def check(setup: Certifying, name: str) -> Check:
    """Check one contract of a resolved experiment on all its tasks. Whatever an adapter raises is a finding."""
    try:
        return Check(name, True, CONTRACTS[name](setup, setup.tasks()))
    except (Broken, Leak) as error:
        fault = str(error)
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
    return Check(name, False, fault)


def _other(predicate: Predicate) -> Predicate:
    """A predicate of the same kind about other places and numbers."""
    return replace(predicate, text="Zembla stands.", about=_changed(predicate.about))


def _changed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _changed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_changed(item) for item in value]
    return "Zembla" if isinstance(value, str) else value + 1000 if type(value) in (int, float) else value


def _texts(value: Any) -> set[str]:
    """Every string in a JSON value."""
    if isinstance(value, dict):
        return set().union(*map(_texts, value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*map(_texts, value))
    return {value} if isinstance(value, str) else set()


def _key(value: Any) -> str:
    return json.dumps(plain(value), sort_keys=True, default=str)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:160]}…"
