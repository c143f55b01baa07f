"""Plain papermill: what its reader finds in our cells of parameters, and what the kernel makes of those it injected."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from papermill.translators import PythonTranslator, translate_parameters

from lab.notebooks import injected
from lab.notebooks.documents import NotebookError, committed, name_of, read, tags
from lab.notebooks.parameters import declared
from lab.results import plots, stored
from lab.runs import collecting
from small_notebooks import PARAMETERS

DECLARED = PARAMETERS + '\nwriter: str = "rules"  # who writes the letters\nlengths: list = ["short"]  # or "long"'


@pytest.mark.parametrize("path", committed(), ids=name_of)
def test_papermill_lists_every_parameter_of_a_notebook_with_its_default_and_help(path: Path) -> None:
    notebook = read(path)
    (cell,) = [cell for cell in notebook.cells if "parameters" in tags(cell)]
    listed = [(one.name, ast.literal_eval(one.default), one.help) for one in PythonTranslator.inspect(cell)]
    assert listed == [(one.name, one.default, one.help) for one in declared(notebook, path.stem).values()], (
        "papermill reads no line with a second equals sign, no type with |, and no default with a #"
    )


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes this process a kernel that has executed some cells: the declared parameters, and what papermill injects."""
    injected._checked.cache_clear()
    monkeypatch.delenv("LAB_FIGURES", raising=False)
    monkeypatch.delenv("LAB_NOTEBOOK", raising=False)

    def executed(*cells: str, **values: Any) -> None:
        cell = translate_parameters("python3", "python", values, "Parameters")
        shell = SimpleNamespace(user_ns={"In": ["", *(cells or ["import os", DECLARED]), cell, "plots.style()"]})
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))

    return executed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limitt": 3}, r"the notebook has no parameter 'limitt'; did you mean 'limit'\? There are:\n  engine: str = "),
        ({"limit": "3"}, r"parameter limit got '3', which is no int: limit: int = 3  # tasks per split"),
        ({"limit": 2.5}, r"parameter limit got 2.5, which is no int"),
        ({"names": "a"}, r"parameter names got 'a', which is no list\[str\] \(write -y 'names: \[…\]'\)"),
        ({"names": ["a", 2]}, r"parameter names\[1\] got 2, Input should be a valid string"),
        ({"engine": 7}, r"parameter engine got 7, which is no str \(write -r engine TEXT\)"),
        ({"share": float("nan"), "seed": 1}, "no parameter 'seed'"),
        (
            {"lengths": ["long", "shrt"]},
            "parameter lengths got 'shrt'; did you mean 'short'\\? choose from short, long",
        ),
        ({"writer": "replay:there-is-none"}, "engine 'replay:there-is-none' cannot answer, and nothing was run"),
    ],
)
def test_the_first_library_call_rejects_what_the_notebook_does_not_declare(
    kernel: Any, values: dict[str, Any], message: str
) -> None:
    kernel(**values)
    calls = (plots.style, lambda: collecting.collect(None), stored.figures_folder)  # type: ignore[arg-type]
    for call in calls:
        with pytest.raises(NotebookError, match=message):
            call()


def test_a_run_with_changed_parameters_draws_into_a_folder_of_its_own(
    kernel: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    for values, folder in (
        ({"limit": 3, "names": ["a", "b # not a comment"]}, ""),
        ({"limit": 2, "share": float("inf")}, "limit=2,share=inf"),
        ({"engine": "rules@0.5", "names": ["a", "b"]}, "engine=rules@0.5,names=a+b"),
        ({"share": None}, ""),
    ):
        kernel(**values)
        assert stored.figures_folder() == tmp_path / "figures" / folder
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path / "mine"))
    assert stored.figures_folder() == tmp_path / "mine"


@pytest.mark.parametrize("before", ["x = 1", "import os", PARAMETERS.replace("# tasks per split", ""), "x = ", ""])
def test_cells_of_a_readers_own_are_left_alone(kernel: Any, before: str) -> None:
    kernel(before, limitt=3)
    injected.check()
    assert injected.folder() == ""


def test_a_cell_that_only_begins_like_papermills_is_left_alone(kernel: Any) -> None:
    kernel(PARAMETERS, "# Parameters of mine\nfor limitt in range(3): print(limitt)")
    injected.check()


def test_in_a_plain_script_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    injected.check()
    monkeypatch.delitem(sys.modules, "IPython")
    assert injected.folder() == ""


def test_names_of_folders_are_short_and_tell_runs_apart() -> None:
    engines = [
        "rules@0.8?judge=GPT-5.2",
        "rules@0.8&judge=GPT-5.2",
        "rules?prompts=" + "a" * 99,
        "rules?prompts=" + "a" * 98,
    ]
    names = {injected.named_after({"engine": engine, "limit": 2}) for engine in engines}
    assert len(names) == 4 and all(len(name) < 70 and "/" not in name for name in names)
    assert injected.named_after({"seed": 1, "flag": True, "workers": 2, "cluster": "tcp://a"}) == "flag=true,seed=1"
    assert injected.named_after({"workers": 2}) == ""
