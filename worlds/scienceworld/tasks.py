"""Tasks of ScienceWorld (one of thirty types in one of its variations), their catalogue, and the score of an episode.

The simulator lists the catalogue once; then it is cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from lab.machine.doctor import INSTALL
from lab.machine.files import key_of
from lab.machine.paths import answer_cache
from lab.models.cache import AnswerCache
from worlds.scienceworld.engine import PACKAGE_SPLITS, Simulator

PREFIX = "scienceworld"
# SwiftSage's protocol: the first ten test variations of each type, in the order of the package.
PROTOCOL_VARIATIONS = 10
# RewardPrediction uses the same without the types whose gold paths are long or were not reliable (Shen et al. 2026,
# Appendix A.3, names growing plants and fruit; the others are absent from the list of test variations that it uses).
NOT_IN_REWARDPREDICTION = frozenset({
    "grow-fruit", "grow-plant", "inclined-plane-determine-angle", "inclined-plane-friction-named-surfaces",
    "inclined-plane-friction-unnamed-surfaces", "measure-melting-point-unknown-substance",
    "mendelian-genetics-known-plant", "mendelian-genetics-unknown-plant",
})  # fmt: skip
# SwiftSage's groups by the mean length of the oracle's paths: below 20 actions, below 50, and more.
LENGTHS = {
    "short": frozenset({
        "power-component", "find-living-thing", "find-non-living-thing", "find-plant", "find-animal",
        "chemistry-mix-paint-secondary-color", "lifespan-longest-lived", "lifespan-shortest-lived",
        "lifespan-longest-lived-then-shortest-lived", "identify-life-stages-2",
    }),
    "medium": frozenset({
        "use-thermometer", "measure-melting-point-known-substance", "test-conductivity",
        "power-component-renewable-vs-nonrenewable-energy", "test-conductivity-of-unknown-substances", "chemistry-mix",
        "chemistry-mix-paint-tertiary-color", "identify-life-stages-1",
    }),
    "long": frozenset({
        "boil", "melt", "freeze", "change-the-state-of-matter-of", "measure-melting-point-unknown-substance",
        "grow-plant", "grow-fruit", "inclined-plane-determine-angle", "inclined-plane-friction-named-surfaces",
        "inclined-plane-friction-unnamed-surfaces", "mendelian-genetics-known-plant",
        "mendelian-genetics-unknown-plant",
    }),
}  # fmt: skip
SPLITS = (*PACKAGE_SPLITS, "protocol", "rewardprediction")
# Types whose goals name two things in an order that is chosen at random while the task is loaded.
SHUFFLED = frozenset({
    "inclined-plane-determine-angle", "inclined-plane-friction-named-surfaces",
    "inclined-plane-friction-unnamed-surfaces",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ScienceTask:
    """One task. goal: the simulator's task description. name: the type, such as "boil". variation: from 0."""

    id: str
    goal: str
    name: str
    variation: int


def task_id(name: str, variation: int) -> str:
    """ "scienceworld-boil-0021" for ("boil", 21)."""
    return f"{PREFIX}-{name}-{variation:04d}"


def name_and_variation(id: str) -> tuple[str, int]:
    """("boil", 21) for "scienceworld-boil-0021". Raises ValueError for other texts."""
    name, _, variation = id.removeprefix(f"{PREFIX}-").rpartition("-")
    if not (name and variation.isdecimal() and task_id(name, int(variation)) == id):
        raise ValueError(f"{id!r} is no task of ScienceWorld; ids are like {task_id('boil', 21)!r}")
    return name, int(variation)


def store() -> AnswerCache:
    """Cache of the simulator's results (catalogue, gold paths), next to the cache of answers."""
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
    """The version of `scienceworld`, which is a part of all cache keys."""
    try:
        return version("scienceworld")
    except PackageNotFoundError as error:
        raise RuntimeError(f"ScienceWorld needs the package scienceworld. Install it with: {INSTALL}") from error


def listed_tasks(split: str, engine: Callable[[], Simulator]) -> list[ScienceTask]:
    """The tasks of a split, by type and then by variation.

    engine: returns the simulator; called on a cache miss only, which takes a second for the protocol and some minutes
    for a whole split of the package. Raises ValueError for an unknown split.
    """
    if split not in SPLITS:
        raise ValueError(f"ScienceWorld has no split {split!r}; there are: {', '.join(SPLITS)}")
    if split == "rewardprediction":
        return [task for task in listed_tasks("protocol", engine) if task.name not in NOT_IN_REWARDPREDICTION]
    key = key_of({"scienceworld": package_version(), "tasks": split})
    cache = store()
    rows = cache.get(key) or cache.put(key, _rows(split, engine()))
    return [ScienceTask(task_id(name, variation), goal, name, variation) for name, variation, goal in rows]


def single_task(name: str, variation: int, engine: Simulator) -> ScienceTask:
    """One task. Raises ValueError for an unknown type or variation."""
    if name not in names():
        raise ValueError(f"ScienceWorld has no task type {name!r}; there are: {', '.join(names())}")
    count = sum(map(len, engine.variations(name).values()))
    if not 0 <= variation < count:
        raise ValueError(f"{name} has the variations 0 to {count - 1}, not {variation}")
    return ScienceTask(task_id(name, variation), engine.goals(name, [variation], name in SHUFFLED)[0], name, variation)


def _rows(split: str, engine: Simulator) -> list[tuple[str, int, str]]:
    rows = []
    for name in names():
        by_split = engine.variations(name)
        chosen = by_split[split] if split in PACKAGE_SPLITS else by_split["test"][:PROTOCOL_VARIATIONS]
        rows += [
            (name, number, goal)
            for number, goal in zip(chosen, engine.goals(name, chosen, name in SHUFFLED), strict=True)
        ]
    return rows


def protocol_score(native: Sequence[float]) -> float:
    """An episode's score in [0, 1], from the native scores after its steps (percentages, as in `Step.facts`).

    It is the last native score; if the episode failed (-100), the one before the failure; 0 without a step.
    """
    last = native[-1] if native else 0
    if last < 0:
        last = native[-2] if len(native) > 1 else 0
    return max(last, 0) / 100
