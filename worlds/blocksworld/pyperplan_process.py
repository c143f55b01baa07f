"""Plans from Pyperplan, an optional extra under the GPL, which is only ever run as a program of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from lab.machine.scratch import scratch_folder
from worlds.blocksworld.problem import DOMAIN, BlocksProblem, read_operator
from worlds.blocksworld.state import Action

INSTALL = "python -m pip install -r requirements-planners.txt"
# A* with an admissible heuristic, so plans are shortest.
OPTIONS = ("--search", "astar", "--heuristic", "lmcut", "--loglevel", "warning")


def pyperplan_plan(problem: BlocksProblem) -> tuple[Action, ...] | None:
    """A shortest plan, or None if there is none.

    Raises ImportError if it is not installed, RuntimeError with the last lines of a run that failed.

    Up to seven blocks it takes about a second; each block more takes about ten times as long.
    """
    if find_spec("pyperplan") is None:
        raise ImportError(f"Pyperplan is not installed; install it with: {INSTALL}")
    with scratch_folder("blocksworld-") as folder:
        (folder / "domain.pddl").write_text(DOMAIN, encoding="utf-8")
        (folder / "problem.pddl").write_text(problem.to_pddl(), encoding="utf-8")
        _run(folder)
        plan = folder / "problem.pddl.soln"
        lines = plan.read_text(encoding="utf-8").splitlines() if plan.exists() else None
    return None if lines is None else tuple(map(read_operator, lines))


def _run(folder: Path) -> None:
    """Let Pyperplan write the plan beside the problem."""
    done = subprocess.run(
        [sys.executable, "-m", "pyperplan", *OPTIONS, str(folder / "domain.pddl"), str(folder / "problem.pddl")],
        env=os.environ | {"PYTHONHASHSEED": "0"},  # its choice among equally good actions follows the order of sets
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"Pyperplan ended with code {done.returncode}: {done.stderr[-1000:]}")
