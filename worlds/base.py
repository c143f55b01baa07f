"""The protocol of every world: Gymnasium's verbs, `reset` and `step`, with text in and text out."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from lab.machine.faults import BackendDied
from lab.machine.printing import hint


class WorldDied(BackendDied):
    """A world's backend (a JVM, a worker process) died; the runner starts it again and repeats the episode once."""


class EpisodeOver(RuntimeError):
    """`step` was called after the end of an episode, in a world that ends there, or before any `reset`."""


@dataclass(frozen=True, slots=True)
class Step:
    """A world's answer to `reset` or `step`.

    text: the observation, in the world's own words. score: in [0, 1], how much of the task is reached so far, as the
    world counts it. done: whether the episode is over. actions: the valid actions, empty where the world does not list
    them. facts: the observation's content as typed values, for code that should not parse text; never a verdict.
    """

    text: str
    # A total, unlike Gymnasium's reward of one step: it can go down and must not be summed.
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


class PlainTask(NamedTuple):
    """A task for a world that needs no class of its own. about: what the world has to know of it; no agent sees it."""

    id: str
    goal: str
    about: Any = None


class World(Protocol):
    """A text environment. An unknown action gets the world's own refusal text, never an exception."""

    def tasks(self, split: str) -> Sequence[Task]: ...

    # Any, because every world has a class of tasks of its own, and parameters are contravariant.
    def reset(self, task: Any) -> Step: ...

    def step(self, action: str) -> Step: ...

    def replay(self, task: Any, actions: Sequence[str]) -> list[Step]:
        """Reset and play the actions; returns the answer to the reset, then one for each action.

        The world stays in the state after the last action. Classes that inherit from this one need not define it.
        Raises what `reset` and `step` raise: WorldDied, and EpisodeOver for an action after the end of the episode.
        """
        return [self.reset(task), *map(self.step, actions)]

    def close(self) -> None:
        """Free what the world holds; by default nothing."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Begun:
    """A world within the episode of a task. now: its last answer."""

    def __init__(self, world: World, task: Task) -> None:
        self.world, self.task = world, task
        self.now = world.reset(task)

    def step(self, action: str) -> Step:
        """A step of the world."""
        self.now = self.world.step(action)
        return self.now

    def view(self) -> dict[str, Any]:
        """What the last answer shows: its facts, and behind them text, actions and score by these names."""
        now = self.now
        return {**now.facts, "text": now.text, "actions": [*now.actions], "score": now.score}


class ListingWorld(World, Protocol):
    """A world that can list the valid actions.

    data: "official" or "synthetic". splits: the names that `tasks` accepts. goes_on: whether steps are possible after
    the goal is reached (else `step` raises EpisodeOver there).
    Where listing is slow, open the world with `list_actions=False`: `Step.actions` is then empty. `valid_actions` lists
    them for the current state at any time, sorted, so that a seeded choice among them is repeatable.
    """

    data: str
    splits: tuple[str, ...]
    goes_on: bool

    def valid_actions(self) -> tuple[str, ...]: ...


class Expert(Protocol):
    """Knows the solution of each task. Created next to a world and never given to an agent."""

    def actions(self, task: Any) -> Sequence[str]:
        """Actions that take a fresh `reset(task)` to full score. Raises NoSolution naming the task if none is known."""
        ...


T = TypeVar("T", bound=Task)
Q = TypeVar("Q", bound=Any)


def task_of(tasks: Sequence[T], id: str) -> T:
    """The task with this id among a split's tasks. Raises LookupError, which names the range of ids."""
    by_id = {task.id: task for task in tasks}
    if id not in by_id:
        ids = sorted(by_id)
        raise LookupError(
            f"there is no task {id!r}; the {len(ids)} of this split run from {ids[0]} to {ids[-1]}{hint(id, ids)}"
        )
    return by_id[id]


class NoSolution(LookupError):
    """The expert knows no way to solve a task; the message names it."""


class QuestionWorld(ListingWorld, Generic[Q]):
    """A world that asks a question and ends with the answer. Actions are `VERB WORDS`; the verb's case does not matter.

    Q: type of a question with its hidden answer; it has a field `task`. A subclass defines `_act`, which carries out a
    verb, `_offer`, which describes the verbs, and ACTION, the pattern that parses an action.
    """

    goes_on = False
    ACTION: ClassVar[re.Pattern[str]]

    def __init__(self, questions: Mapping[str, Sequence[Q]], data: str, about: str, list_actions: bool) -> None:
        """questions: by split. about: what to call these questions in error messages."""
        self._questions, self._about, self.list_actions = questions, about, list_actions
        self._by_id = {question.task.id: question for of_split in questions.values() for question in of_split}
        self.splits, self.data = tuple(questions), data
        self._now: Q | None = None
        self._over = False

    def tasks(self, split: str) -> Sequence[Any]:
        """The tasks of a split. Raises ValueError for an unknown split, naming the known ones."""
        if split not in self.splits:
            raise ValueError(f"{self._about} has no split {split!r}; choose one of {', '.join(self.splits)}")
        return [question.task for question in self._questions[split]]

    def hidden(self, task: Any) -> Q:
        """The question of a task, with answer and evidence: for scores, experts and tests, never for an agent.

        Raises LookupError for a task of another world.
        """
        question = self._by_id.get(task.id)
        if question is None or question.task != task:
            raise LookupError(f"task {task.id!r} is not of this world ({self._about})")
        return question

    def named(self, id: str) -> Any:
        """The task with this id. Raises LookupError if this world has none."""
        if id not in self._by_id:
            raise LookupError(f"task {id!r} is not of this world ({self._about})")
        return self._by_id[id].task

    def step(self, action: str) -> Step:
        """Take an action. Raises EpisodeOver after the answer and before any `reset`."""
        if self._now is None:
            raise EpisodeOver(f"{type(self).__name__}.step was called before reset")
        if self._over:
            raise EpisodeOver(f"{self._now.task.id} ended with the answer; call reset")
        match = self.ACTION.fullmatch(action)
        step = self._act(self._now, match[1].lower(), match[2]) if match and match[2] else None
        return step or self._step(f"{action.strip()[:80]!r} is nothing that can be done here. {self._offer()}", {})

    @abstractmethod
    def _act(self, question: Q, verb: str, words: str) -> Step | None:
        """The world's response to an action; None for an action that is not possible."""

    @abstractmethod
    def _offer(self) -> str:
        """A description of the possible actions."""

    def _step(self, text: str, facts: Mapping[str, Any], score: float = 0.0) -> Step:
        return Step(text, score, self._over, self.valid_actions() if self.list_actions else (), facts)
