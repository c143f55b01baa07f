"""What worlds of questions have in common: tasks by split and by id, and what is hidden behind each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, Self, TypeVar

from worlds.base import ListingWorld, Task


class HasTask(Protocol):
    """A task with what is hidden from the agent."""

    @property
    def task(self) -> Any: ...


T = TypeVar("T", bound=Task)
Q = TypeVar("Q", bound=HasTask)


class QuestionWorld(ListingWorld, Generic[T, Q]):
    """A world that asks questions, each answered once. T: of its tasks. Q: of what stands behind them."""

    goes_on = False

    def __init__(self, questions: Mapping[str, Sequence[Q]], data: str, about: str) -> None:
        """questions: by split. about: which questions these are, in words for errors."""
        self._questions, self._about = questions, about
        self._by_id = {question.task.id: question for some in questions.values() for question in some}
        self.splits, self.data = tuple(questions), data

    def tasks(self, split: str) -> Sequence[T]:
        """The tasks of a split. Raises ValueError, naming the splits that there are, for another word."""
        if split not in self.splits:
            raise ValueError(f"{self._about} has no split {split!r}; choose one of {', '.join(self.splits)}")
        return [question.task for question in self._questions[split]]

    def hidden(self, task: T) -> Q:
        """A task with its answer and evidence: for scores, experts and tests, never for an agent.

        Raises LookupError for a task of another world.
        """
        question = self._by_id.get(task.id)
        if question is None or question.task != task:
            raise self._unknown(task.id)
        return question

    def named(self, id: str) -> T:
        """The task of an id. Raises LookupError for one that is not of this world."""
        if id not in self._by_id:
            raise self._unknown(id)
        task: T = self._by_id[id].task
        return task

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _unknown(self, id: str) -> LookupError:
        return LookupError(f"task {id!r} is not of this world ({self._about})")
