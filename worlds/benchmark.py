"""A benchmark: a world with its tasks, splits, score and expert, which is what a method is measured on.

A method's experiment inherits from a benchmark to say which tasks it plays: `class OnStairs(Stairs, Acting)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import import_module
from threading import RLock, local
from typing import Any, ClassVar, Self, TypeVar

from lab.machine.paths import official_data
from lab.models.engines import parse
from lab.runs.experiment import spread
from worlds.base import Begun, NoSolution, task_of

T = TypeVar("T")
Expert = Callable[[Sequence[str]], str]  # actions so far -> next action
_of_thread = local()
_shared: dict[Hashable, Any] = {}
_loading = RLock()


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """A selection of a world's tasks, and the expert that solves them.

    data: "auto" (official where present, else synthetic), "official" or "synthetic". limit: how many tasks, spread
    evenly over the sorted ids; 0 for all. seed: of noise, and of synthetic data that is not stored (`data/synthetic`).
    split: one of the world's splits; "" for the one that papers report on.
    """

    data: str = "auto"
    limit: int = 0
    seed: int = 0
    split: str = ""

    benchmark: ClassVar[str]  # its name
    package: ClassVar[str] = ""  # subpackage of `worlds` that has a function `load` and a class `expert.Expert`
    reported: ClassVar[str] = "test"  # the split that papers report on; "" for the world's first
    shared: ClassVar[bool] = False  # whether all threads share one world, whose `apart` opens one for an episode
    read_by_rules: ClassVar[str] = ""  # the data that "auto" selects for rules that can read no other
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "split")
    metric: ClassVar[str] = "score"

    def options(self) -> Mapping[str, Any]:
        """Keyword arguments of the world's `load`, besides data and seed."""
        return {}

    def opened(self) -> Any:
        """Open a world for the caller alone. A benchmark without a package overrides this method."""
        if self.shared:
            return self.world().apart()
        return import_module(f"worlds.{self.package}").load(self.data, self.seed, **self.options())

    def world(self) -> Any:
        """This thread's world, which plays one episode at a time; with `shared`, one world for all threads."""
        if not self.shared:
            return of_thread(self._key("world"), self.opened)
        with _loading:
            key = self.package, self.data, str(official_data()), str(self.options())
            if key not in _shared:
                _shared[key] = import_module(f"worlds.{self.package}").load(data=self.data, **self.options())
            return _shared[key]

    def begun(self, task: str) -> Begun:
        """A world for the caller alone, at the beginning of a task. Raises LookupError for one that there is not."""
        return Begun(self.opened(), self.named(task))

    def solver(self) -> Any:
        """This thread's expert. Nothing that an agent is given refers to it."""
        expert = f"worlds.{self.package}.expert"
        return of_thread(self._key("expert"), lambda: import_module(expert).Expert(self.world()))

    def decided(self) -> Self:
        """A copy in which `data` ("auto") and `split` ("") are resolved to definite values."""
        engine = getattr(self, "engine", "")  # only experiments have one
        rules_answer = self.data == "auto" and self.read_by_rules and engine and parse(engine).needs_rules
        world = replace(self, data=self.read_by_rules).world() if rules_answer else self.world()
        return replace(self, data=getattr(world, "data", "synthetic"), split=self._split(world))

    def tasks(self) -> list[str]:
        """Ids of the tasks, sorted. Raises ValueError for an unknown split."""
        return spread(sorted(task.id for task in self.known()), self.limit)

    def known(self) -> Sequence[Any]:
        """All tasks of the split, without the limit. Cached per thread, since every episode looks up its task."""
        world = self.world()
        split = self._split(world)
        tasks: Sequence[Any] = of_thread((self._key("tasks"), split), lambda: world.tasks(split))
        return tasks

    def named(self, task: str) -> Any:
        """The task with this id. Raises LookupError if the split has none."""
        return task_of(self.known(), task)

    def solution(self, task: str) -> Sequence[str]:
        """Actions that solve a task. Raises NoSolution where none are known."""
        if not self.package:
            raise NoSolution(f"{type(self).__name__} says no way to solve {task}: define `solution`")
        actions: Sequence[str] = self.solver().actions(self.named(task))
        return actions

    def expert(self, task: str) -> Expert:
        """The expert, as a function from the actions so far to the next one; by default it follows the solution."""
        return along(self.solution(task))

    def validate(self, few: int = 3) -> None:
        """Check on a few tasks that the expert reaches full score, and that the score is 0 before any action.

        few: how many tasks, 0 for all; tasks without a known solution are skipped. Raises ValueError naming the tasks
        that fail, or if no task has a known solution.
        """
        setup = replace(self, limit=few).decided()
        problems, solved = [], 0
        with closing(setup.opened()) as world:
            for task in setup.tasks():
                try:
                    steps = world.replay(setup.named(task), setup.solution(task))
                except NoSolution:
                    continue
                solved += 1
                if steps[0].score > 0:
                    problems.append(f"{task} has a score of {steps[0].score:g} before anything was done")
                if steps[-1].score < 1:
                    problems.append(f"{task} has a score of {steps[-1].score:g} at the end of its solution")
        if not solved:
            problems.append("no task has a known solution")
        if problems:
            raise ValueError(f"{setup.benchmark}, {setup.data} data: {'; '.join(problems)}")

    def _split(self, world: Any) -> str:
        return self.split or self.reported or world.splits[0]

    def _key(self, what: str) -> Hashable:
        return what, self.benchmark, self.data, str(official_data()), self.seed, str(self.options())


def of_thread(key: Hashable, make: Callable[[], T]) -> T:
    """This thread's object for the key, made at the first call. Episodes use it one after the other."""
    objects: dict[Hashable, T] = _of_thread.__dict__.setdefault("made", {})
    if key not in objects:
        objects[key] = make()
    return objects[key]


def along(path: Sequence[str]) -> Expert:
    """Expert that follows a path: its next action is the first of the path not yet taken, in order.

    Other actions in between are ignored. After the last action the path starts again.
    """

    def expert(actions: Sequence[str]) -> str:
        position = 0
        for action in actions:
            position += action == path[position % len(path)]
        return path[position % len(path)]

    return expert


def from_the_beginning(path: Sequence[str], back: str) -> Expert:
    """Expert that follows a path; after any other action it goes back and starts again.

    back: the action that leads to the start of the path.
    """

    def expert(actions: Sequence[str]) -> str:
        taken: list[str] = []
        for action in actions:
            taken = [] if action == back else [*taken, action]
        return path[len(taken)] if taken == list(path[: len(taken)]) else back

    return expert
