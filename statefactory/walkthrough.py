"""One trajectory step by step: observations, changes of state and goal, and which object fulfilled which goal part.

Goal objects are tracked across steps. Anchoring (Table 10) renames an object, such as "mug" to "mug 2": both are the
same part of the goal, with one curve of fits. Source: Shen et al. 2026, Figure 4 and Table 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from lab.results.exports import readable
from lab.results.text import shortened
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline, cost_of, dealt
from statefactory.benchmark.schema import Row
from statefactory.embeddings import Embedder
from statefactory.extraction import Trace
from statefactory.predictors.factored import trace_flags, trace_rewards
from statefactory.routing import PAPER, Convention, Match, matches
from statefactory.state import Attribute, Entity, entities
from statefactory.trust import Flags, with_constant

if TYPE_CHECKING:
    import pandas as pd

EventKind: TypeAlias = Literal["anchored", "added", "rise", "fall"]
JUMP = 0.1  # smallest change of a fit in one step that is reported as an event
NAME = 16  # characters of an object's name in an event


class Event(NamedTuple):
    """A notable change at a step (from 1). change: of a part's fit; 0 for changes of the goal."""

    step: int
    kind: EventKind
    text: str
    change: float = 0.0


@dataclass(frozen=True)
class Part:
    """A goal object across the steps. matches: one per step; None where the goal lacks the object."""

    matches: tuple[Match | None, ...]

    @property
    def name(self) -> str:
        """The object's last name."""
        return next((match.goal.identity for match in reversed(self.matches) if match), "")

    @property
    def fits(self) -> list[float]:
        """Its fit at each step; NaN where the goal lacks it."""
        return [match.score if match else float("nan") for match in self.matches]


@dataclass(frozen=True)
class Walkthrough:
    """A trajectory with its extracted states, rewards of shape (steps,), matches per step, and flags."""

    row: Row
    trace: Trace
    rewards: np.ndarray
    matches: tuple[tuple[Match, ...], ...]
    flags: Flags

    def __len__(self) -> int:
        return len(self.matches)

    @cached_property
    def states(self) -> list[tuple[Entity, ...]]:
        """The state of each step, as entities."""
        return list(map(entities, self.trace.states))

    @cached_property
    def goals(self) -> list[tuple[Entity, ...]]:
        """The goal of each step, as entities."""
        return list(map(entities, self.trace.goals))

    @cached_property
    def parts(self) -> list[Part]:
        """The goal's objects, in order of first appearance."""
        curves: list[list[Match | None]] = []
        previous: list[int] = []
        for step, matched in enumerate(self.matches):
            links = _links(self.goals[step - 1], self.goals[step]) if step else [None] * len(matched)
            current: list[int] = []
            for link in links:
                if link is None:
                    curves.append([None] * step)
                current.append(len(curves) - 1 if link is None else previous[link])
            for curve in curves:
                curve.append(None)
            for index, match in zip(current, matched, strict=True):
                curves[index][-1] = match
            previous = current
        return [Part(tuple(curve)) for curve in curves]

    def timeline(self) -> Timeline:
        """The steps for the viewer, each with its changes of state and goal, its reward and its flags."""
        return timeline(self.row, self.trace, self.rewards.tolist(), flags=self.flags)

    def table(self, width: int = 90) -> pd.DataFrame:
        """One row per step, as in Table 17. width: characters of a text.

        Columns: Step (from 1), Action, Observation, State (changes), Goal, Anchored, Reward, Gain (over the previous
        step; at step 1 over 0), Truth and Flags.
        """
        # WebShop repeats the goal on every page. "\0" stands for an empty goal, since replacing "" would insert the
        # ellipsis between all characters.
        goal = self.row.goal_description or "\0"
        return readable(
            {
                "Step": range(1, len(self) + 1),
                "Action": self.row.actions,
                "Observation": [shortened(text.replace(goal, "…"), width) for text in self.row.observations],
                "State": [shortened("; ".join(self.changed(step)), width) for step in range(1, len(self) + 1)],
                "Goal": [shortened("; ".join(map(told, goal_entities)), width) for goal_entities in self.goals],
                "Anchored": [shortened("; ".join(self.anchored(step)), width) for step in range(1, len(self) + 1)],
                "Reward": self.rewards,
                "Gain": np.diff(self.rewards, prepend=0.0),
                "Truth": self.row.shaped,
                "Flags": [", ".join(sorted(step)) for step in self.flags],
            }
        )

    def matching(self, step: int = -1) -> pd.DataFrame:
        """Explain the reward of a step (from 1; -1 for the last).

        Returns one row per goal attribute, with the attribute of the matched object that it was compared with. A goal
        object without attributes has one row. Raises ValueError as `index_of`.
        """

        columns = ["Goal object", "State object", "Identity", "Name", "Value", "Aligned name", "Aligned value",
                   "Similarity", "Fit"]  # fmt: skip
        rows = [line for match in self.matches[self.index_of(step)] for line in _lines(match)]
        return readable(rows, columns=columns)

    def index_of(self, step: int) -> int:
        """The index (from 0) of a step (from 1; -1 for the last). Raises ValueError if the step does not exist."""
        if step == -1 and len(self):
            return len(self) - 1
        if not 1 <= step <= len(self):
            raise ValueError(f"no step {step} in {self.row.id}; it has steps 1 to {len(self)}, and -1 is the last")
        return step - 1

    def changed(self, step: int) -> list[str]:
        """Changes of the state at a step, one text per object, such as "mug 1: location in cabinet 2"."""
        index = self.index_of(step)
        before = {entity.identity: entity.attributes for entity in (self.states[index - 1] if index else ())}
        texts = [_change(entity, before.get(entity.identity)) for entity in self.states[index]]
        removed = before.keys() - {entity.identity for entity in self.states[index]}
        return [text for text in texts if text] + [f"{name} gone" for name in before if name in removed]

    def anchored(self, step: int) -> list[str]:
        """Changes of the goal at a step: objects made more specific, such as "mug → mug 1", or added."""
        return [event.text for event in _goal_events(self, self.index_of(step))]

    def events(self, jump: float = JUMP) -> list[Event]:
        """Notable changes, in order of steps: changes of the goal, and fits that change by at least `jump`."""
        events: list[Event] = []
        for index in range(len(self)):
            events += _goal_events(self, index)
            for part in self.parts:
                current, previous = part.matches[index], part.matches[index - 1] if index else None
                change = (current.score if current else 0.0) - (previous.score if previous else 0.0)
                if current and previous and abs(change) >= jump:
                    reason = _reason(self, index, current if change > 0 else previous)
                    events.append(Event(index + 1, "rise" if change > 0 else "fall", reason, change))
        return events


def walk(row: Row, trace: Trace, embedder: Embedder, convention: Convention = PAPER) -> Walkthrough:
    """Compute rewards and matches of a trajectory. Raises ValueError if the trace has another number of steps."""
    if len(row.trajectory) != len(trace.states):
        raise ValueError(f"{row.id} has {len(row.trajectory)} steps, and its trace {len(trace.states)}")
    compared = list(zip(map(entities, trace.goals), map(entities, trace.states), strict=True))
    # Most steps change nothing, so each distinct pair of goal and state is matched only once.
    by_pair = {pair: matches(*pair, embedder, convention) for pair in dict.fromkeys(compared)}
    rewards = trace_rewards(trace, embedder, convention)
    flags = with_constant(trace_flags(trace, None, embedder, convention), rewards)
    return Walkthrough(row, trace, rewards, tuple(by_pair[pair] for pair in compared), flags)


def timeline(
    row: Row, trace: Trace | None = None, rewards: Sequence[float] | None = None, exchanges: Sequence[Exchange] = (),
    calls: int = 0, flags: Flags = (),
) -> Timeline:  # fmt: skip
    """The trajectory as steps for the viewer, with states, rewards and flags as far as they are given.

    exchanges: all prompts with their answers, in order; calls: how many of them belong to each step.
    Raises ValueError if trace or rewards have another number of steps.
    """
    count = len(row.trajectory)
    states = [_facts(trace, index) for index in range(count)] if trace else [{}] * count
    step_rewards = [None] * count if rewards is None else list(rewards)
    if not len(step_rewards) == len(states if trace is None else trace.states) == count:
        raise ValueError(f"{row.id} has {count} steps, but its trace or rewards have another number")
    steps, previous = [], 0.0
    for index, (step, step_exchanges) in enumerate(zip(row.trajectory, dealt(exchanges, [calls] * count), strict=True)):
        reward = step_rewards[index]
        predicted = "" if reward is None else f"reward {reward:.2f} ({reward - previous:+.2f}), "
        previous = reward or 0.0
        flagged = f"; flagged: {', '.join(sorted(flags[index]))}" if flags and flags[index] else ""
        steps.append(
            Step(
                title=step.action, reason=f"{predicted}truth {step.reward.shaped:.2f}{flagged}", action=step.action,
                observation=step.observation, exchanges=step_exchanges, cost=cost_of(step_exchanges),
                before=states[index - 1] if index else {}, after=states[index],
            )
        )  # fmt: skip
    return Timeline(title=row.id, task=row.goal_description, steps=tuple(steps))


def _facts(trace: Trace, index: int) -> Mapping[str, str]:
    """The state and the goal at a step, as a mapping from an object's name to its attributes as text."""
    facts = {}
    for name, state in (("", trace.states[index]), ("goal, ", trace.goals[index])):
        for entity in entities(state):
            facts[f"{name}{entity.identity or 'text'}"] = "; ".join(
                f"{attribute.name} {attribute.value}" for attribute in entity.attributes
            )
    return facts


def told(entity: Entity) -> str:
    """Describe an object, such as "mug 1: location in cabinet 2, temperature hot"."""
    return _told(entity.identity, entity.attributes)


def _told(identity: str, attributes: Sequence[Attribute]) -> str:
    facts = ", ".join(f"{attribute.name} {attribute.value}" for attribute in attributes)
    return ": ".join(text for text in (identity, facts) if text)


def _links(before: Sequence[Entity], now: Sequence[Entity]) -> list[int | None]:
    """Index of each goal object in the previous goal, by name, else by attribute names; None for a new object."""
    links: list[int | None] = [None] * len(now)
    free = list(range(len(before)))
    # Match all names before any attributes; otherwise an object could be linked to a similar one before its namesake.
    for key in (lambda entity: entity.identity, lambda entity: {attribute.name for attribute in entity.attributes}):
        for index, entity in enumerate(now):
            link = next((candidate for candidate in free if key(before[candidate]) == key(entity)), None)
            if links[index] is None and link is not None:
                links[index] = link
                free.remove(link)
    return links


def _change(entity: Entity, before: tuple[Attribute, ...] | None) -> str:
    if before is None:
        return told(entity)
    changed = [attribute for attribute in entity.attributes if attribute not in before]
    names = {attribute.name for attribute in entity.attributes}
    lost = [Attribute(attribute.name, "unknown") for attribute in before if attribute.name not in names]
    return _told(entity.identity, [*changed, *lost]) if changed or lost else ""


def _goal_events(walked: Walkthrough, index: int) -> Iterator[Event]:
    for part in walked.parts if index else ():
        previous, current = part.matches[index - 1], part.matches[index]
        if current and not previous:
            yield Event(index + 1, "added", f"new: {told(current.goal)}")
        elif current and previous and current.goal != previous.goal:
            yield Event(index + 1, "anchored", _anchoring(previous.goal, current.goal))


def _anchoring(before: Entity, now: Entity) -> str:
    """Describe how a goal object became more specific: its name, and reworded values."""
    texts = [f"{shortened(before.identity, NAME)} → {now.identity}"] if before.identity != now.identity else []
    for attribute in now.attributes:
        old = before.value(attribute.name)
        if old is None:
            texts.append(f"new: {attribute.name} {attribute.value}")
        elif attribute not in before.attributes:
            texts.append(f"{old} → {attribute.value}")
    return ", ".join(texts) or f"{now.identity}: fewer attributes"


def _reason(walked: Walkthrough, index: int, match: Match) -> str:
    """Explain a change of fit: the compared attributes of the matched object that the step changed.

    Without such attributes, the goal object's name. match: the new match for a rise, the previous one for a fall.
    """
    name = match.entity.identity if match.entity else None
    before = {entity.identity: entity.attributes for entity in walked.states[index - 1]}
    changed = [(entity.identity, attribute.value) for entity in walked.states[index] if entity.identity == name
            for attribute in entity.attributes if attribute not in before.get(entity.identity, ())
            and attribute.name in {aligned_attribute.aligned for aligned_attribute in match.attributes}]  # fmt: skip
    identity = shortened(changed[0][0] if changed else match.goal.identity, NAME)
    return ": ".join([identity, *([", ".join(value for _, value in changed)] if changed else [])])


def _lines(match: Match) -> list[tuple[object, ...]]:
    objects = match.goal.identity, match.entity.identity if match.entity else None, match.identity
    compared = match.attributes or ((None,) * 5,)
    return [(*objects, *attribute, match.score) for attribute in compared]
