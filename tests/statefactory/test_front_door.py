"""The package's front door: every name resolves, and importing the package loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import statefactory
from lab.machine.paths import ROOT

HEAVY = {"numpy", "pandas", "scipy", "torch", "matplotlib", "openai", "pydantic"}


@pytest.mark.parametrize("name", dir(statefactory))
def test_each_name_of_the_front_door_is_the_module_s_own(name: str) -> None:
    found = getattr(statefactory, name)
    assert found is not None and found is getattr(sys.modules[statefactory.PLACES[name]], name)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, statefactory; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split())
