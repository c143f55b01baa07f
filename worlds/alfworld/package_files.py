"""Files and modules of the installed package `alfworld`: ALFRED's tables and goals, floor plans, domain and grammar.

They come with `pip install`, without a download; the released games do not, see `worlds.alfworld.official`. `package`
imports every module that needs ALFWorld or TextWorld, this folder's own engine and planner included.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

from lab.machine.doctor import INSTALL
from worlds.alfworld.tasks import TASK_MARK, Rules
from worlds.randomness import randomness_kept


@contextmanager
def data_folder() -> Iterator[None]:
    """Have ALFWORLD_DATA set during an import: without it the package creates a folder in the user's home."""
    # The package sets the variable as well, so it has to be removed afterwards.
    before = os.environ.get("ALFWORLD_DATA")
    os.environ["ALFWORLD_DATA"] = before or tempfile.gettempdir()
    try:
        yield
    finally:
        os.environ.pop("ALFWORLD_DATA", None)
        if before is not None:
            os.environ["ALFWORLD_DATA"] = before


@cache
def package(name: str) -> ModuleType:
    """A module that needs the text engine's packages. Raises ImportError with the line that installs them."""
    try:
        with data_folder(), randomness_kept():  # importing `textworld` uses numpy's global random state
            return import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(f"ALFWorld needs the package {error.name!r}. Install it with: {INSTALL}") from error


def named(environment: Any) -> Any:
    """Wrap an environment so that things have ALFWorld's names, such as "apple 1", instead of ids."""
    return package("alfworld.agents.environment.alfred_tw_env").AlfredDemangler()(environment)


def constants() -> ModuleType:
    """ALFRED's tables: which things can be heated, which receptacles hold what, which floor plans are for training."""
    return package("alfworld.gen.constants")


def goals() -> dict[str, dict[str, Any]]:
    """By task type, "pddl": the goal with {obj}, {recep} and {toggle} to fill in; "templates": its sentences."""
    return package("alfworld.gen.goal_library").gdict


@cache
def rules() -> Rules:
    """The package's own domain and grammar. The released games' domain differs in one point: there a thing can also be
    cleaned at a whole sink, if there is one besides its basin.
    """
    info = package("alfworld.info")
    domain = Path(info.ALFRED_PDDL_PATH).read_text(encoding="utf-8")
    grammar = Path(info.ALFRED_TWL2_PATH).read_text(encoding="utf-8")
    # "UNKNOWN GOAL." is the package's placeholder for a game's task.
    return Rules(domain, grammar.replace("UNKNOWN GOAL.", TASK_MARK))


@cache
def floor_plan(number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of things in an AI2-THOR floor plan, and the ids of the receptacles with a known position, sorted."""
    folder = files(package("alfworld.gen")) / "layouts"
    kinds = json.loads(folder.joinpath(f"FloorPlan{number}-objects.json").read_text(encoding="utf-8"))
    placed = json.loads(folder.joinpath(f"FloorPlan{number}-openable.json").read_text(encoding="utf-8"))
    return tuple(sorted(kinds)), tuple(sorted(placed))
