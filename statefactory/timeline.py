"""A trajectory as a predictor saw it, to look at: what was done and seen, what was extracted, and the reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline, cost_of, dealt
from statefactory.benchmark.schema import Row
from statefactory.extraction import Trace
from statefactory.state import entities


def timeline(
    row: Row, trace: Trace | None = None, rewards: Sequence[float] | None = None, exchanges: Sequence[Exchange] = (),
    calls: int = 0,
) -> Timeline:  # fmt: skip
    """The trajectory as steps, with what was extracted or predicted at each, as far as it is given.

    exchanges: all prompts and answers in order, where they are at hand; `calls` of them a step. Raises ValueError where
    trace or rewards are of another number of steps.
    """
    count = len(row.trajectory)
    states = [_facts(trace, index) for index in range(count)] if trace else [{}] * count
    shown_rewards = [None] * count if rewards is None else list(rewards)
    if not len(shown_rewards) == len(states if trace is None else trace.states) == count:
        raise ValueError(f"{row.id} has {count} steps, and what was made of it has another number")
    steps, before = [], 0.0
    for index, (step, asked) in enumerate(zip(row.trajectory, dealt(exchanges, [calls] * count), strict=True)):
        reward = shown_rewards[index]
        predicted = "" if reward is None else f"reward {reward:.2f} ({reward - before:+.2f}), "
        before = reward or 0.0
        steps.append(
            Step(
                title=step.action, reason=f"{predicted}truth {step.reward.shaped:.2f}", action=step.action,
                observation=step.observation, exchanges=asked, cost=cost_of(asked),
                before=states[index - 1] if index else {}, after=states[index],
            )
        )  # fmt: skip
    return Timeline(title=row.id, task=row.goal_description, steps=tuple(steps))


def _facts(trace: Trace, index: int) -> Mapping[str, str]:
    """Of the state and the goal at a step: object and attribute -> value."""
    facts = {}
    for name, state in (("", trace.states[index]), ("goal, ", trace.goals[index])):
        for entity in entities(state):
            facts[f"{name}{entity.identity or 'text'}"] = "; ".join(
                f"{attribute.name} {attribute.value}" for attribute in entity.attributes
            )
    return facts
