"""The names that `procllm` offers: each resolves, the docstring's example runs, and the import is quick."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import procllm
from lab.machine.paths import ROOT
from lab.models.connect import connect


@pytest.mark.parametrize("name", dir(procllm))
def test_each_name_is_the_one_of_its_module(name: str) -> None:
    assert getattr(procllm, name) is getattr(import_module(procllm.PLACES[name]), name)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plya'; it has Domain, HUMAN, .*play"):
        _ = procllm.plya


def test_the_example_of_the_docstring_runs() -> None:
    import matplotlib

    matplotlib.use("Agg")
    blocks = procllm.domain("blocks")
    network = procllm.network_of(procllm.HUMAN, blocks)
    (instance,) = blocks.instances(1, seed=0)
    trajectory = procllm.play(blocks, instance, network, connect("rules"))
    assert trajectory.success
    assert procllm.film(network, trajectory).axes


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = "import sys, procllm; print({'pandas', 'matplotlib', 'numpy', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
