"""What BlocksWorld needs, for `python -m lab doctor`."""

from __future__ import annotations

from lab.machine.doctor import Check, package_check
from worlds.blocksworld.official import DATASET
from worlds.blocksworld.pyperplan_process import INSTALL as INSTALL_EXTRA


def checks() -> list[Check]:
    """The planner, the optional one, and PlanBench's problems, without which random ones are played."""
    there = DATASET.present(DATASET.folder)
    fix = f"python -m lab data fetch {DATASET.name}"
    return [
        package_check("clingo", "clingo, for plans"),
        package_check("pyperplan", "Pyperplan, for comparison", optional=True, fix=INSTALL_EXTRA),
        Check("PlanBench's problems", there, DATASET.about, fix, optional=True),
    ]
