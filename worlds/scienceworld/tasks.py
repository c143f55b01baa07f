"""A task of ScienceWorld: one of thirty types in one of its variations."""

from __future__ import annotations

from dataclasses import dataclass

PREFIX = "scienceworld"
# SwiftSage's protocol: the first ten test variations of each type, in the order of the package.
PROTOCOL_VARIATIONS = 10
# RewardPrediction takes the same without the types whose gold paths are long or were not reliable (Shen et al. 2026,
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
PACKAGE_SPLITS = ("train", "dev", "test")
SPLITS = (*PACKAGE_SPLITS, "protocol", "rewardprediction")


@dataclass(frozen=True, slots=True)
class ScienceTask:
    """goal: the task description, as the simulator words it. name: the type, such as "boil". variation: from 0."""

    id: str
    goal: str
    name: str
    variation: int


def task_id(name: str, variation: int) -> str:
    """ "scienceworld-boil-0021" for ("boil", 21)."""
    return f"{PREFIX}-{name}-{variation:04d}"


def name_and_variation(id: str) -> tuple[str, int]:
    """("boil", 21) for "scienceworld-boil-0021". Raises ValueError for what is no id of this world."""
    name, _, variation = id.removeprefix(f"{PREFIX}-").rpartition("-")
    if not (name and variation.isdecimal() and task_id(name, int(variation)) == id):
        raise ValueError(f"{id!r} is no task of ScienceWorld; ids are like {task_id('boil', 21)!r}")
    return name, int(variation)
