"""What ALFWorld needs, for `python -m lab doctor`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from lab.doctor import INSTALL, Check
from worlds.alfworld.official import DATASET

# Package -> what it is imported as.
PACKAGES = {"textworld": "textworld", "alfworld": "alfworld", "fast-downward-textworld": "fast_downward"}


def checks() -> list[Check]:
    """The packages, and the released games, without which home-made ones are played."""
    there = DATASET.present(DATASET.folder)
    fix = f"python -m lab data fetch {DATASET.name}"
    return [*map(installed, PACKAGES), Check("released games", there, DATASET.about, fix, optional=True)]


def installed(package: str) -> Check:
    try:
        found = version(package)
    except PackageNotFoundError:
        return Check(package, False, "not installed", INSTALL)
    return Check(package, find_spec(PACKAGES[package]) is not None, found, INSTALL)
