"""An episode of the loop as a timeline: every attempt with its verdict, and every plan at the time it was made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline, dealt
from sdp.trajectory import Attempt, Forced, Plan, Predicate, Trajectory

Facts: TypeAlias = Callable[[Any], Mapping[str, Any]]
Named: TypeAlias = Callable[[Predicate], str]


def fields_of(state: Any) -> Mapping[str, Any]:
    """A state's own fields as facts, or the whole state as one fact."""
    return state if isinstance(state, Mapping) else {"state": state}


def timeline(
    trajectory: Trajectory,
    exchanges: Sequence[Exchange] = (),
    facts: Facts = fields_of,
    named: Named = lambda target: target.text,
) -> Timeline:  # fmt: skip
    """The trajectory as steps. exchanges: all prompts and answers of the episode in order, if available.

    facts: turns a state's JSON into what a reader is shown, fact -> value; a step's changes are shown in these facts.
    named: what a predicate is about, by which two episodes are compared; by default its text.
    """
    order = list(_in_order(trajectory))
    parts = dealt(exchanges, [event.cost.calls for event in order])
    states = [facts(state) for state in trajectory.states]
    after = {transition.attempt: states[transition.after] for transition in trajectory.transitions}
    steps = []
    for event, own in zip(order, parts, strict=True):
        if isinstance(event, Plan):
            steps.append(_planned(event, own))
        elif isinstance(event, Forced):
            steps.append(_forced(event, own))
        else:
            target = named(trajectory.plans[event.plan].predicates[event.position])
            view = None if event.view is None else trajectory.views[event.view]
            steps.append(_attempted(event, target, view, own, states[event.state], after))
    if trajectory.views or trajectory.end == "world ended":
        title = {"running": "The world now", "world ended": "The world ended the episode"}.get(trajectory.end)
        steps.append(Step(title=title or "The world at the end", view=(trajectory.views or [None])[-1]))
    unfinished = "still running" if trajectory.end == "running" else f"ended by: {trajectory.end}"
    ended = "the goal is certified" if trajectory.reached_goal else unfinished
    total = len(trajectory.plans[-1].predicates)
    outcome = f"{ended}, {trajectory.certified} of {total} predicates certified, {len(trajectory.attempts)} attempts"
    outcome += ", an answer forced" * (trajectory.forced is not None)
    return Timeline(title=trajectory.task, task=trajectory.goal.text, outcome=outcome, steps=tuple(steps))


def _in_order(trajectory: Trajectory) -> Iterator[Plan | Attempt | Forced]:
    """The plans, each before the first attempt at it, the attempts, and the answer forced at the end."""
    plans = iter(trajectory.plans)
    plan = -1
    for attempt in trajectory.attempts:
        while plan < attempt.plan:
            yield next(plans)
            plan += 1
        yield attempt
    yield from plans  # a Replan that gave no usable plan has no attempt
    if trajectory.forced:
        yield trajectory.forced


def _planned(plan: Plan, exchanges: tuple[Exchange, ...]) -> Step:
    if plan.fault:
        title = f"{plan.operator.title()}: no usable plan"
        return Step(
            title=title, target=plan.operator, verdict=False, reason=plan.fault, exchanges=exchanges, cost=plan.cost
        )
    new = plan.predicates[plan.start :]
    title = f"{plan.operator.title()}: {len(new)} predicates to the goal"
    listed = "\n".join(f"{number}. {predicate.text}" for number, predicate in enumerate(new, start=plan.start + 1))
    return Step(title=title, target=plan.operator, action=listed, exchanges=exchanges, cost=plan.cost)


def _forced(forced: Forced, exchanges: tuple[Exchange, ...]) -> Step:
    return Step(
        title="Forced answer", reason=forced.reason, action=forced.action, observation=forced.observation,
        exchanges=exchanges, cost=forced.cost,
    )  # fmt: skip


def _attempted(
    attempt: Attempt, target: str, view: Any, exchanges: tuple[Exchange, ...], before: Mapping[str, Any],
    after: Mapping[int, Mapping[str, Any]],
) -> Step:  # fmt: skip
    reasons = ["passed by force"] * attempt.forced + [f"{attempt.k} predicates at once"] * (attempt.k > 1)
    reasons += [attempt.reason] * (attempt.reason != "certified")  # a tick shows that
    return Step(
        title=attempt.target, target=target, verdict=attempt.k >= 1, reason="; ".join(reasons), view=view,
        action=attempt.action, observation=attempt.observation, exchanges=exchanges, cost=attempt.cost, before=before,
        after=after.get(attempt.step, before),
    )  # fmt: skip
