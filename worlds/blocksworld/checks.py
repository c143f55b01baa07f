"""What BlocksWorld needs, for `python -m lab doctor`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from lab.doctor import INSTALL, Check
from worlds.blocksworld.official import DATASET
from worlds.blocksworld.pyperplan_process import INSTALL as INSTALL_EXTRA


def checks() -> list[Check]:
    """The planner, the optional one, and PlanBench's problems, without which random ones are played."""
    there = DATASET.present(DATASET.folder)
    fix = f"python -m lab data fetch {DATASET.name}"
    return [
        installed("clingo", "clingo, for plans", INSTALL),
        installed("pyperplan", "Pyperplan, for comparison", INSTALL_EXTRA, optional=True),
        Check("PlanBench's problems", there, DATASET.about, fix, optional=True),
    ]


def installed(package: str, what: str, fix: str, optional: bool = False) -> Check:
    try:
        return Check(what, True, version(package), fix, optional)
    except PackageNotFoundError:
        return Check(what, False, "not installed", fix, optional)
