"""A benchmark: a world with its tasks, splits, score and expert, which is what a method is measured on.

A method's experiment inherits from one, and so says which tasks it plays: `class OnStairs(Stairs, Acting)`.
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
from worlds.base import NoSolution, task_of

T = TypeVar("T")
Expert = Callable[[Sequence[str]], str]  # the actions so far -> the one that it takes next
_of_thread = local()
_shared: dict[Hashable, Any] = {}
_loading = RLock()


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Some tasks of a world, and who knows how they are solved.

    data: "auto" (official where present, else synthetic), "official" or "synthetic". limit: how many tasks, spread
    evenly over the sorted ids; 0 for all. seed: of noise, and of synthetic data that is not stored (`data/synthetic`).
    split: as the world has them; "" for the one that papers report on.
    """

    data: str = "auto"
    limit: int = 0
    seed: int = 0
    split: str = ""

    benchmark: ClassVar[str]  # its name
    package: ClassVar[str] = ""  # of `worlds`, with a function `load` and a class `expert.Expert`
    reported: ClassVar[str] = "test"  # the split that papers report on; "" for the world's first
    shared: ClassVar[bool] = False  # whether one world serves all threads; its `apart` makes one for an episode
    read_by_rules: ClassVar[str] = ""  # the data that "auto" means where rules answer, which read no other
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "split")
    metric: ClassVar[str] = "score"

    def options(self) -> Mapping[str, Any]:
        """What the world is opened with, besides data and seed."""
        return {}

    def opened(self) -> Any:
        """A world of these tasks, for the caller alone. A benchmark without a package says here which."""
        if self.shared:
            return self.world().apart()
        return import_module(f"worlds.{self.package}").load(self.data, self.seed, **self.options())

    def world(self) -> Any:
        """The world of this thread, which plays one episode at a time; or of all, see `shared`."""
        if not self.shared:
            return of_thread(self._key("world"), self.opened)
        with _loading:
            key = self.package, self.data, str(official_data()), str(self.options())
            if key not in _shared:
                _shared[key] = import_module(f"worlds.{self.package}").load(data=self.data, **self.options())
            return _shared[key]

    def solver(self) -> Any:
        """The world's expert; nothing that an agent is given reaches it."""
        expert = f"worlds.{self.package}.expert"
        return of_thread(self._key("expert"), lambda: import_module(expert).Expert(self.world()))

    def decided(self) -> Self:
        """With `data` and `split` decided."""
        engine = getattr(self, "engine", "")  # of an experiment
        by_rules = self.data == "auto" and self.read_by_rules and engine and parse(engine).needs_rules
        world = replace(self, data=self.read_by_rules).world() if by_rules else self.world()
        return replace(self, data=getattr(world, "data", "synthetic"), split=self._split(world))

    def tasks(self) -> list[str]:
        """Ids of the tasks, sorted. Raises ValueError for a split that there is not."""
        return spread(sorted(task.id for task in self.known()), self.limit)

    def known(self) -> Sequence[Any]:
        """The tasks of the split, whatever the limit; read once a thread, since every episode looks for its own."""
        world = self.world()
        split = self._split(world)
        tasks: Sequence[Any] = of_thread((self._key("tasks"), split), lambda: world.tasks(split))
        return tasks

    def named(self, task: str) -> Any:
        """The task of an id. Raises LookupError."""
        return task_of(self.known(), task)

    def solution(self, task: str) -> Sequence[str]:
        """Actions that solve a task. Raises NoSolution where none are known."""
        if not self.package:
            raise NoSolution(f"{type(self).__name__} says no way to solve {task}: define `solution`")
        actions: Sequence[str] = self.solver().actions(self.named(task))
        return actions

    def expert(self, task: str) -> Expert:
        """Who knows the next action; by default it keeps to the solution."""
        return along(self.solution(task))

    def validate(self, few: int = 3) -> None:
        """Check, on a few tasks, that the expert reaches full score, and that doing nothing has none.

        few: how many tasks, 0 for all; those without a known solution are left out. Raises ValueError naming the
        tasks for which this does not hold.
        """
        setup = replace(self, limit=few).decided()
        wrong, solved = [], 0
        with closing(setup.opened()) as world:
            for task in setup.tasks():
                try:
                    steps = world.replay(setup.named(task), setup.solution(task))
                except NoSolution:
                    continue
                solved += 1
                if steps[0].score > 0:
                    wrong.append(f"{task} has a score of {steps[0].score:g} before anything was done")
                if steps[-1].score < 1:
                    wrong.append(f"{task} has a score of {steps[-1].score:g} at the end of its solution")
        if not solved:
            wrong.append("no task has a known solution")
        if wrong:
            raise ValueError(f"{setup.benchmark}, {setup.data} data: {'; '.join(wrong)}")

    def _split(self, world: Any) -> str:
        return self.split or self.reported or world.splits[0]

    def _key(self, what: str) -> Hashable:
        return what, self.benchmark, self.data, str(official_data()), self.seed, str(self.options())


def of_thread(key: Hashable, make: Callable[[], T]) -> T:
    """What this thread made for the key, made at the first call; an episode has it to itself, and leaves it there."""
    made: dict[Hashable, T] = _of_thread.__dict__.setdefault("made", {})
    if key not in made:
        made[key] = make()
    return made[key]


def along(path: Sequence[str]) -> Expert:
    """Takes the first action of a path that was not taken yet in its turn; at its end, from the beginning again."""

    def expert(actions: Sequence[str]) -> str:
        done = 0
        for action in actions:
            done += action == path[done % len(path)]
        return path[done % len(path)]

    return expert


def from_the_beginning(path: Sequence[str], back: str) -> Expert:
    """Takes the path, and after any other action begins it again. back: the action that leads to its beginning."""

    def expert(actions: Sequence[str]) -> str:
        taken: list[str] = []
        for action in actions:
            taken = [] if action == back else [*taken, action]
        return path[len(taken)] if taken == list(path[: len(taken)]) else back

    return expert
