"""No module of the suite imports itself by way of others; imports in functions and for type checkers count."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from lab.machine.paths import ROOT

PACKAGES = tuple(sorted(path.parent.name for path in ROOT.glob("*/__init__.py")))
Graph = Mapping[str, set[str]]


def modules(root: Path, packages: tuple[str, ...]) -> dict[str, Path]:
    """Dotted name -> file; a package is its `__init__`."""
    files = sorted(path for package in packages for path in (root / package).rglob("*.py"))
    return {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def import_graph(named: Mapping[str, Path]) -> dict[str, set[str]]:
    """Module -> the modules among `named` that it imports anywhere in its file, also for type checkers alone."""
    return {name: set(_imported(ast.parse(path.read_text("utf-8")), named)) - {name} for name, path in named.items()}


def _imported(tree: ast.AST, named: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in named)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            # `from package import name` is of the submodule where there is one of that name, else of the package.
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from inner & set(named)
            if node.module in named and not inner <= set(named):
                yield node.module


def circles(graph: Graph) -> list[list[str]]:
    """Circles of imports, each from a module back to itself; empty if every strongly connected component is one module.

    Of circles that share a module one is named: the next shows when that one is mended.
    """
    found: list[list[str]] = []
    while True:
        try:
            TopologicalSorter(graph).prepare()
            return found
        except CycleError as error:
            circle = error.args[1][::-1]  # graphlib goes from what is imported to the importer
            found.append(circle)
            graph = {name: graph[name] - set(circle) for name in sorted(graph.keys() - set(circle))}


@pytest.mark.slow
def test_no_module_imports_itself_by_way_of_others() -> None:
    found = circles(import_graph(modules(ROOT, PACKAGES)))
    assert not found, "imports go in circles:\n" + "\n".join(" -> ".join(circle) for circle in found)


def test_a_circle_through_a_function_or_for_type_checkers_is_found(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    for name, text in {
        "__init__": "",
        "a": "from p import b",
        "b": "def f():\n    import p.c",
        "c": "from p.a import x",
        "d": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.e import x",
        "e": "import p.d",
    }.items():
        (tmp_path / "p" / f"{name}.py").write_text(text)
    found = circles(import_graph(modules(tmp_path, ("p",))))
    assert sorted(len(circle) - 1 for circle in found) == [2, 3]
