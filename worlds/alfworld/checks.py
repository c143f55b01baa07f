"""What ALFWorld needs, for `python -m lab doctor`."""

from __future__ import annotations

from lab.machine.doctor import Check, package_check
from worlds.alfworld.official import DATASET

PACKAGES = ("textworld", "alfworld", "fast-downward-textworld")


def checks() -> list[Check]:
    """The packages, and the released games, without which synthetic ones are played."""
    there = DATASET.present(DATASET.folder)
    fix = f"python -m lab data fetch {DATASET.name}"
    return [*map(package_check, PACKAGES), Check("released games", there, DATASET.about, fix, optional=True)]
