"""Imports run one way, what is imported is declared, and importing the suite is quick."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lab.machine.paths import ROOT
from lab.notebooks.documents import committed, read

PAPERS = {"sdp", "statefactory", "procllm"}
MAY_IMPORT = {
    "lab": set(),
    "worlds": {"lab"},
    "agents": {"worlds", "lab"},
    **{paper: {"agents", "worlds", "lab"} for paper in PAPERS},
    "standins": {*PAPERS, "agents", "worlds", "lab"},
    "scripts": {"procllm", "worlds", "lab"},
}
SUITE = set(MAY_IMPORT)
HEAVY = {"pandas", "matplotlib", "scipy", "openai", "torch", "papermill", "jinja2"}
MODULES = sorted(path for package in SUITE for path in (ROOT / package).rglob("*.py"))


def imported(source: str, package: str) -> Iterator[str]:
    """Top-level names that a module imports; a relative import is of its own package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield package if node.level else (node.module or "").split(".")[0]


@pytest.mark.slow
@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_imports_only_what_lies_below_it(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    above = set(imported(path.read_text(encoding="utf-8"), package)) & SUITE - MAY_IMPORT[package] - {package}
    assert not above, (
        f"{package} may import {sorted(MAY_IMPORT[package]) or 'nothing of the suite'}, not {sorted(above)}"
    )


def test_every_package_has_its_place_among_the_imports() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == SUITE


def test_studies_import_experiments_and_never_the_other_way() -> None:
    experiments = [path for path in MODULES if "experiments" in path.parts]
    assert experiments
    for path in experiments:
        assert not [name for name in full_names(path.read_text(encoding="utf-8")) if ".studies" in name], path


@pytest.mark.slow
def test_nothing_imports_the_stand_ins() -> None:
    for path in (path for path in MODULES if path.relative_to(ROOT).parts[0] != "standins"):
        assert "standins" not in imported(path.read_text(encoding="utf-8"), ""), path


@pytest.mark.slow
def test_stand_ins_alone_register_rules_and_noise() -> None:
    registering = {"lab.models.rules.rule", "lab.models.rules.knows", "lab.models.rules.corruption"}
    by = {path for path in MODULES if registering & full_names(path.read_text(encoding="utf-8"))}
    assert len(by) > 10 and {path.relative_to(ROOT).parts[0] for path in by} == {"standins"}


def full_names(source: str) -> set[str]:
    """Modules that a module imports, and with their modules the names that it takes from them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.slow
def test_nothing_imports_notebooks_tests_benchmarks_or_scripts() -> None:
    outside = {"notebooks", "tests", "benchmarks", "scripts"}
    for path in (path for path in MODULES if path.relative_to(ROOT).parts[0] != "scripts"):
        assert not outside & set(imported(path.read_text(encoding="utf-8"), "")), path


@pytest.mark.slow
def test_every_package_that_the_suite_imports_is_declared() -> None:
    names = {name for path in MODULES for name in imported(path.read_text(encoding="utf-8"), "")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = [need for needs in (project["dependencies"], *project["optional-dependencies"].values()) for need in needs]
    declared = {canonicalize_name(Requirement(need).name) for need in needs}
    # A package that is not installed here, such as one of an extra, is taken to be called as its module.
    providers = packages_distributions()
    assert not [
        name
        for name in names - {""} - SUITE - set(sys.stdlib_module_names)
        if not declared & {canonicalize_name(one) for one in providers.get(name, [name])}
    ]


@pytest.mark.parametrize("path", committed(), ids=lambda path: path.stem)
def test_a_notebook_of_one_paper_uses_no_other(path: Path) -> None:
    code = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
    lines = "\n".join(
        line for source in code for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))
    )
    papers = set(imported(lines, "")) & PAPERS
    # The tour and the notebooks to explore with show several papers side by side.
    own = next((paper for paper in PAPERS if path.parent.name.endswith(f"_{paper}")), None)
    assert own is None or papers <= {own}


def test_importing_the_suite_is_quick_and_loads_nothing_heavy() -> None:
    code = f"import sys, {', '.join(sorted(SUITE))}; print(*sorted(sys.modules))"
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        loaded = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        seconds.append(time.perf_counter() - started)
    assert not HEAVY & set(loaded.split())
    assert min(seconds) < 0.5


# One trains with torch, and `training` imports it when a training begins; the other loads papermill once for all pages.
HEAVY_ITSELF = {"statefactory.reward_models.trainer", "lab.notebooks.preloaded"}
# Modules that make tables and figures, and are imported for it.
OF_TABLES = {"experiments", "studies", "plots"}


@pytest.mark.slow
def test_modules_load_heavy_packages_where_they_are_used() -> None:
    """All in one process: a heavy package stands there from the first module on that loads it."""
    paths = [path.relative_to(ROOT).with_suffix("") for path in MODULES if path.stem[0] != "_"]
    paths = [path for path in paths if not OF_TABLES & {*path.parts}]
    names = [name for name in (".".join(path.parts) for path in paths) if name not in HEAVY_ITSELF]
    code = f"""
import importlib, sys
for name in {names}:
    before = set(sys.modules)
    importlib.import_module(name)
    for heavy in {HEAVY} & (set(sys.modules) - before):
        print(name, heavy)
"""
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert len(names) > 250 and not loaded
