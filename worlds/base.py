"""The protocol of every world: Gymnasium's verbs, `reset` and `step`, with text in and text out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from lab.machine.faults import BackendDied
from lab.machine.printing import hint


class WorldDied(BackendDied):
    """A world's backend (a JVM, a worker process) died; the runner starts it again and repeats the episode once."""


class EpisodeOver(RuntimeError):
    """`step` was called after the end of an episode, in a world that ends there, or before any `reset`."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a world answers to `reset` or `step`.

    text: the world's own words. score: in [0, 1], how much of the task is reached, as the world itself counts.
    done: whether the episode is over. actions: the valid actions where the world lists them, else empty. facts: what
    was found, as typed values for code that should not parse text back; never a verdict.
    """

    text: str
    # The standing so far, where Gymnasium has the reward of one step: it can go down, and must not be summed.
    score: float = 0.0
    done: bool = False
    actions: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Task(Protocol):
    """One problem of a world. Ids are stable and sort the same everywhere; worlds add their own fields."""

    @property
    def id(self) -> str: ...

    @property
    def goal(self) -> str: ...


class World(Protocol):
    """A text environment. An unknown action gets the world's own refusal text, never an exception."""

    def tasks(self, split: str) -> Sequence[Task]: ...

    # Any, because every world has a class of tasks of its own, and parameters are contravariant.
    def reset(self, task: Any) -> Step: ...

    def step(self, action: str) -> Step: ...

    def replay(self, task: Any, actions: Sequence[str]) -> list[Step]:
        """Reset and play the actions: the answer to the reset, then one to each action. The episode then stands there.

        A world that inherits from this class has it as it is. Raises what `reset` and `step` raise: EpisodeOver where
        actions are left after the end of an episode, WorldDied.
        """
        return [self.reset(task), *map(self.step, actions)]

    def close(self) -> None: ...


class ListingWorld(World, Protocol):
    """A world that can list what may be done now.

    data: "official" or "synthetic". splits: the names that `tasks` takes. goes_on: whether steps are possible after the
    goal is reached (else `step` raises EpisodeOver there).
    Where listing is costly the world is told not to (`list_actions=False`): `Step.actions` stays empty then, and
    `valid_actions` gives them for the state at hand, sorted, so that a seeded choice among them is repeatable.
    """

    data: str
    splits: tuple[str, ...]
    goes_on: bool

    def valid_actions(self) -> tuple[str, ...]: ...


class Expert(Protocol):
    """Knows how a task is solved. Made beside a world and never handed to an agent."""

    def actions(self, task: Any) -> Sequence[str]:
        """Actions that take a fresh `reset(task)` to full score. Raises NoSolution naming the task if none is known."""
        ...


T = TypeVar("T", bound=Task)


def task_of(tasks: Sequence[T], id: str) -> T:
    """The task of that id among those of a split. Raises LookupError, telling which ids there are."""
    known = {task.id: task for task in tasks}
    if id not in known:
        ids = sorted(known)
        raise LookupError(
            f"there is no task {id!r}; the {len(ids)} of this split run from {ids[0]} to {ids[-1]}{hint(id, ids)}"
        )
    return known[id]


class NoSolution(LookupError):
    """The expert knows no way to solve a task; the message names it."""
