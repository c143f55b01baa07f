"""The package `worlds` names what a world of one's own is written with, and loads it on first use."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import worlds
from lab.machine.paths import ROOT

NAMES = {
    "Benchmark",
    "EpisodeOver",
    "Expert",
    "ListingWorld",
    "NoSolution",
    "PlainTask",
    "Step",
    "Task",
    "World",
    "WorldDied",
}


def test_the_package_lists_the_protocol_and_what_belongs_to_it() -> None:
    assert set(dir(worlds)) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_is_the_class_of_its_module(name: str) -> None:
    found = getattr(worlds, name)
    assert found.__name__ == name
    assert found is getattr(import_module(found.__module__), name)


def test_an_unknown_name_is_rejected_with_the_names_there_are() -> None:
    with pytest.raises(AttributeError, match="'Wolrd'; it has Benchmark, EpisodeOver, .*WorldDied"):
        _ = worlds.Wolrd


def test_the_docstring_has_a_line_for_each_world() -> None:
    assert worlds.__doc__ is not None
    folders = [module.name for module in pkgutil.iter_modules(worlds.__path__) if module.ispkg]
    assert len(folders) == 10
    for name in folders:
        assert f"    worlds.{name} " in worlds.__doc__


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, worlds; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not {"pandas", "scipy", "torch", "numpy"} & loaded
    assert "worlds.base" not in loaded
