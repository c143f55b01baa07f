"""The catalogue of ScienceWorld's tasks: asked of the simulator once, then kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from lab.machine.doctor import INSTALL
from lab.machine.paths import answer_cache
from lab.models.cache import AnswerCache, key_of
from worlds.scienceworld.engine import Simulator
from worlds.scienceworld.tasks import (
    NOT_IN_REWARDPREDICTION,
    PACKAGE_SPLITS,
    PROTOCOL_VARIATIONS,
    SPLITS,
    ScienceTask,
    task_id,
)

# Types whose goals name two things in an order that is drawn at random while the task is loaded.
SHUFFLED = frozenset({
    "inclined-plane-determine-angle", "inclined-plane-friction-named-surfaces",
    "inclined-plane-friction-unnamed-surfaces",
})  # fmt: skip


def store() -> AnswerCache:
    """What was worked out with the simulator, beside the cache of answers."""
    return AnswerCache(answer_cache().with_name("scienceworld.sqlite"))


def names() -> tuple[str, ...]:
    """The thirty types, in the order of their ids in the paper, 1-1 to 10-2."""
    try:
        from scienceworld.constants import ID2TASK
    except ImportError as error:
        raise RuntimeError(f"ScienceWorld needs the package {error.name}. Install it with: {INSTALL}") from error
    return tuple(ID2TASK.values())


@lru_cache
def package_version() -> str:
    """Of `scienceworld`; what is kept on disk holds for one version."""
    try:
        return version("scienceworld")
    except PackageNotFoundError as error:
        raise RuntimeError(f"ScienceWorld needs the package scienceworld. Install it with: {INSTALL}") from error


def tasks(split: str, engine: Callable[[], Simulator]) -> list[ScienceTask]:
    """The tasks of a split, by type and then by variation.

    engine: gives the simulator, which is asked the first time only: a second for the protocol, some minutes for a
    whole split of the package. Raises ValueError for an unknown split.
    """
    if split not in SPLITS:
        raise ValueError(f"ScienceWorld has no split {split!r}; there are: {', '.join(SPLITS)}")
    if split == "rewardprediction":
        return [task for task in tasks("protocol", engine) if task.name not in NOT_IN_REWARDPREDICTION]
    key = key_of({"scienceworld": package_version(), "tasks": split})
    kept = store()
    rows = kept.get(key) or kept.put(key, _rows(split, engine()))
    return [ScienceTask(task_id(name, variation), goal, name, variation) for name, variation, goal in rows]


def task(name: str, variation: int, engine: Simulator) -> ScienceTask:
    """One task. Raises ValueError if there is none such."""
    if name not in names():
        raise ValueError(f"ScienceWorld has no task type {name!r}; there are: {', '.join(names())}")
    known = sum(map(len, engine.variations(name).values()))
    if not 0 <= variation < known:
        raise ValueError(f"{name} has the variations 0 to {known - 1}, not {variation}")
    return ScienceTask(task_id(name, variation), engine.goals(name, [variation], name in SHUFFLED)[0], name, variation)


def _rows(split: str, engine: Simulator) -> list[tuple[str, int, str]]:
    rows = []
    for name in names():
        sets = engine.variations(name)
        chosen = sets[split] if split in PACKAGE_SPLITS else sets["test"][:PROTOCOL_VARIATIONS]
        rows += [
            (name, number, goal)
            for number, goal in zip(chosen, engine.goals(name, chosen, name in SHUFFLED), strict=True)
        ]
    return rows
