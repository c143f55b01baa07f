"""One trajectory step by step: what was seen, what changed in state and goal, and which object fulfilled which part.

A goal is followed from step to step: an object that takes the name of another is that one anchored (Table 10), so that
"mug" and "mug 2" are one part of the goal with one course of fits. Source: Shen et al. 2026, Figure 4 and Table 17.
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
JUMP = 0.1  # a fit that changes by this much in one step is worth a remark
NAME = 16  # characters of an object's name in a remark


class Event(NamedTuple):
    """What is worth a remark at a step (from 1). change: of a part's fit, 0 for what happened to the goal."""

    step: int
    kind: EventKind
    text: str
    change: float = 0.0


@dataclass(frozen=True)
class Part:
    """One object of the goal over the steps; None where the goal did not have it, or no longer."""

    matches: tuple[Match | None, ...]

    @property
    def name(self) -> str:
        """What it is called at last."""
        return next((match.goal.identity for match in reversed(self.matches) if match), "")

    @property
    def fits(self) -> list[float]:
        """Its fit at each step, NaN where the goal did not have it."""
        return [match.score if match else float("nan") for match in self.matches]


@dataclass(frozen=True)
class Walkthrough:
    """A trajectory with what was extracted, its rewards, shape (steps,), the matches of each step, and its flags."""

    row: Row
    trace: Trace
    rewards: np.ndarray
    matches: tuple[tuple[Match, ...], ...]
    flags: Flags

    def __len__(self) -> int:
        return len(self.matches)

    @cached_property
    def states(self) -> list[tuple[Entity, ...]]:
        """The state of each step, as entities at every level."""
        return list(map(entities, self.trace.states))

    @cached_property
    def goals(self) -> list[tuple[Entity, ...]]:
        """The goal of each step, likewise."""
        return list(map(entities, self.trace.goals))

    @cached_property
    def parts(self) -> list[Part]:
        """The goal's objects, in the order in which they came up."""
        courses: list[list[Match | None]] = []
        before: list[int] = []
        for step, matched in enumerate(self.matches):
            links = _links(self.goals[step - 1], self.goals[step]) if step else [None] * len(matched)
            now: list[int] = []
            for link in links:
                if link is None:
                    courses.append([None] * step)
                now.append(len(courses) - 1 if link is None else before[link])
            for course in courses:
                course.append(None)
            for number, match in zip(now, matched, strict=True):
                courses[number][-1] = match
            before = now
        return [Part(tuple(course)) for course in courses]

    def timeline(self) -> Timeline:
        """The steps to look at, each with all that it changed in state and goal, and its reward with its flags."""
        return timeline(self.row, self.trace, self.rewards.tolist(), flags=self.flags)

    def table(self, width: int = 90) -> pd.DataFrame:
        """A row a step, as Table 17: Step (from 1), Action, Observation, State (what changed), Goal, Anchored, Reward,
        Gain (over the step before, at first over 0), Truth and Flags. width: characters of a text.
        """
        # WebShop repeats the goal on every page; to replace an empty one would put the ellipsis between all characters.
        goal = self.row.goal_description or "\0"
        return readable(
            {
                "Step": range(1, len(self) + 1),
                "Action": self.row.actions,
                "Observation": [shortened(text.replace(goal, "…"), width) for text in self.row.observations],
                "State": [shortened("; ".join(self.changed(step)), width) for step in range(1, len(self) + 1)],
                "Goal": [shortened("; ".join(map(told, wanted)), width) for wanted in self.goals],
                "Anchored": [shortened("; ".join(self.anchored(step)), width) for step in range(1, len(self) + 1)],
                "Reward": self.rewards,
                "Gain": np.diff(self.rewards, prepend=0.0),
                "Truth": self.row.shaped,
                "Flags": [", ".join(sorted(step)) for step in self.flags],
            }
        )

    def matching(self, step: int = -1) -> pd.DataFrame:
        """Why a step (from 1; -1 for the last) has its reward: a row an attribute of the goal, with the attribute of
        the matched object that it was compared with. A goal object without attributes has one row.
        """

        columns = ["Goal object", "State object", "Identity", "Name", "Value", "Aligned name", "Aligned value",
                   "Similarity", "Fit"]  # fmt: skip
        rows = [line for match in self.matches[self.index_of(step)] for line in _lines(match)]
        return readable(rows, columns=columns)

    def index_of(self, step: int) -> int:
        """The index, from 0, of a step (from 1; -1 for the last). Raises ValueError for a step that does not exist."""
        if step == -1 and len(self):
            return len(self) - 1
        if not 1 <= step <= len(self):
            raise ValueError(f"no step {step} in {self.row.id}; it has steps 1 to {len(self)}, and -1 is the last")
        return step - 1

    def changed(self, step: int) -> list[str]:
        """What a step changed in the state, such as "mug 1: location in cabinet 2", a text an object."""
        index = self.index_of(step)
        known = {entity.identity: entity.attributes for entity in (self.states[index - 1] if index else ())}
        texts = [_change(entity, known.get(entity.identity)) for entity in self.states[index]]
        gone = known.keys() - {entity.identity for entity in self.states[index]}
        return [text for text in texts if text] + [f"{name} gone" for name in known if name in gone]

    def anchored(self, step: int) -> list[str]:
        """What a step made more specific in the goal, such as "mug → mug 1", or added to it."""
        return [event.text for event in _goal_events(self, self.index_of(step))]

    def events(self, jump: float = JUMP) -> list[Event]:
        """What is worth a remark, by step: changes of the goal, and fits that changed by `jump` or more."""
        events: list[Event] = []
        for index in range(len(self)):
            events += _goal_events(self, index)
            for part in self.parts:
                now, before = part.matches[index], part.matches[index - 1] if index else None
                change = (now.score if now else 0.0) - (before.score if before else 0.0)
                if now and before and abs(change) >= jump:
                    why = _reason(self, index, now if change > 0 else before)
                    events.append(Event(index + 1, "rise" if change > 0 else "fall", why, change))
        return events


def walk(row: Row, trace: Trace, embedder: Embedder, convention: Convention = PAPER) -> Walkthrough:
    """A trajectory with its rewards and matches. Raises ValueError if the trace is of another number of steps."""
    if len(row.trajectory) != len(trace.states):
        raise ValueError(f"{row.id} has {len(row.trajectory)} steps, and its trace {len(trace.states)}")
    compared = list(zip(map(entities, trace.goals), map(entities, trace.states), strict=True))
    # Most steps change nothing: each distinct pair of goal and state is matched once.
    by_pair = {pair: matches(*pair, embedder, convention) for pair in dict.fromkeys(compared)}
    rewards = trace_rewards(trace, embedder, convention)
    flags = with_constant(trace_flags(trace, None, embedder, convention), rewards)
    return Walkthrough(row, trace, rewards, tuple(by_pair[pair] for pair in compared), flags)


def timeline(
    row: Row, trace: Trace | None = None, rewards: Sequence[float] | None = None, exchanges: Sequence[Exchange] = (),
    calls: int = 0, flags: Flags = (),
) -> Timeline:  # fmt: skip
    """The trajectory as steps, with what was extracted or predicted at each and its flags, as far as it is given.

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
        doubts = f"; flagged: {', '.join(sorted(flags[index]))}" if flags and flags[index] else ""
        steps.append(
            Step(
                title=step.action, reason=f"{predicted}truth {step.reward.shaped:.2f}{doubts}", action=step.action,
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


def told(entity: Entity) -> str:
    """An object in words: "mug 1: location in cabinet 2, temperature hot"."""
    return _told(entity.identity, entity.attributes)


def _told(identity: str, attributes: Sequence[Attribute]) -> str:
    facts = ", ".join(f"{attribute.name} {attribute.value}" for attribute in attributes)
    return ": ".join(text for text in (identity, facts) if text)


def _links(before: Sequence[Entity], now: Sequence[Entity]) -> list[int | None]:
    """For each object of a goal, which one it was a step before: that of its name, else one with like attributes."""
    links: list[int | None] = [None] * len(now)
    free = list(range(len(before)))
    # All names before any attributes: else an object could be taken for its like before its own name is reached.
    for key in (lambda entity: entity.identity, lambda entity: {attribute.name for attribute in entity.attributes}):
        for index, entity in enumerate(now):
            link = next((number for number in free if key(before[number]) == key(entity)), None)
            if links[index] is None and link is not None:
                links[index] = link
                free.remove(link)
    return links


def _change(entity: Entity, before: tuple[Attribute, ...] | None) -> str:
    if before is None:
        return told(entity)
    news = [attribute for attribute in entity.attributes if attribute not in before]
    names = {attribute.name for attribute in entity.attributes}
    lost = [Attribute(attribute.name, "unknown") for attribute in before if attribute.name not in names]
    return _told(entity.identity, [*news, *lost]) if news or lost else ""


def _goal_events(walked: Walkthrough, index: int) -> Iterator[Event]:
    for part in walked.parts if index else ():
        before, now = part.matches[index - 1], part.matches[index]
        if now and not before:
            yield Event(index + 1, "added", f"new: {told(now.goal)}")
        elif now and before and now.goal != before.goal:
            yield Event(index + 1, "anchored", _anchoring(before.goal, now.goal))


def _anchoring(before: Entity, now: Entity) -> str:
    """What became more specific: the name, and values that were reworded."""
    texts = [f"{shortened(before.identity, NAME)} → {now.identity}"] if before.identity != now.identity else []
    for attribute in now.attributes:
        old = before.value(attribute.name)
        if old is None:
            texts.append(f"new: {attribute.name} {attribute.value}")
        elif attribute not in before.attributes:
            texts.append(f"{old} → {attribute.value}")
    return ", ".join(texts) or f"{now.identity}: fewer attributes"


def _reason(walked: Walkthrough, index: int, match: Match) -> str:
    """What the step changed in the matched object, of that which was compared; else the goal object's name.

    A rise is explained by the object now matched, and a fall by the one that was matched before.
    """
    name = match.entity.identity if match.entity else None
    known = {entity.identity: entity.attributes for entity in walked.states[index - 1]}
    news = [(entity.identity, attribute.value) for entity in walked.states[index] if entity.identity == name
            for attribute in entity.attributes if attribute not in known.get(entity.identity, ())
            and attribute.name in {aligned_attribute.aligned for aligned_attribute in match.attributes}]  # fmt: skip
    identity = shortened(news[0][0] if news else match.goal.identity, NAME)
    return ": ".join([identity, *([", ".join(value for _, value in news)] if news else [])])


def _lines(match: Match) -> list[tuple[object, ...]]:
    ends = match.goal.identity, match.entity.identity if match.entity else None, match.identity
    compared = match.attributes or ((None,) * 5,)
    return [(*ends, *attribute, match.score) for attribute in compared]
