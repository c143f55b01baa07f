"""Checks of committed notebooks: faults of form and stale outputs."""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lab.machine.scratch import scratch_folder
from lab.notebooks import expected
from lab.notebooks.documents import FOLDER, YOURS, NotebookError, name_of, read, tags, text_of
from lab.notebooks.execute import Job, execute
from lab.notebooks.normalise import normalise
from lab.notebooks.parameters import declared
from lab.results.stored import COMMITTED, reported

if TYPE_CHECKING:
    from nbformat import NotebookNode

# Notebooks only display results: longer code belongs in a package, where it can be tested.
MOST_DEFS = 2
MOST_LINES = 120
PANDAS = 'class="dataframe"'
SHOWN_LINES = 8


class Finding(NamedTuple):
    """The faults of a notebook, and a remark if its outputs could not be compared."""

    notebook: str
    faults: list[str]
    remark: str = ""


def check(notebooks: Sequence[Path], side_by_side: int = 2, timeout: float | None = None) -> list[Finding]:
    """Check the form of every notebook, and compare its committed outputs with those of a re-run.

    Each notebook is executed with its defaults in a temporary folder; the checkout is not changed.
    """
    listed = {entry.notebook for entry in expected.expectations()}
    with scratch_folder("lab-check-") as folder:
        figures = Path(folder) / "figures"
        jobs = [Job(path, Path(folder) / f"{name_of(path)}.ipynb", figures=figures) for path in notebooks]
        outcomes = execute(jobs, side_by_side, timeout)
        return [_finding(outcome.job, outcome.failure, figures, listed) for outcome in outcomes]


def form(notebook: NotebookNode, name: str) -> list[str]:
    """The faults of a notebook's form, a sentence each."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    # Cells that a reader writes may define what they like; template.py limits each.
    ours = [cell for cell in code if not any(tag.startswith(YOURS) for tag in tags(cell))]
    lines, definitions = lines_of(code), sum(_definitions(cell.source) for cell in ours)
    faults = list(_parameter_faults(notebook, name))
    if not any(cell.outputs for cell in code):
        faults.append("has no outputs; execute it with: make notebooks")
    if definitions > MOST_DEFS:
        faults.append(f"defines {definitions} functions or classes, more than {MOST_DEFS}; move them into the library")
    if lines > MOST_LINES:
        faults.append(f"has {lines} lines of code, more than {MOST_LINES}; move work into the library")
    if any(PANDAS in str(output.get("data", {}).get("text/html", "")) for cell in code for output in cell.outputs):
        faults.append("shows a table as pandas does; end the cell with: tables.shown(frame)")
    if text_of(normalise(notebook)) != text_of(notebook):
        faults.append("is not normalised; execute it with: make notebooks")
    return faults


def lines_of(cells: Iterable[NotebookNode]) -> int:
    """The number of lines of code, without blank lines and comments."""
    lines = (line.strip() for cell in cells for line in cell.source.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def stale_cells(committed: NotebookNode, executed: NotebookNode) -> list[str]:
    """A fault for the first cell that differs from its re-run, with the differing lines; empty if none differs."""
    if len(committed.cells) != len(executed.cells):
        return ["has another number of cells than its re-run; execute it with: make notebooks"]
    # Normalise both: the committed one may have been normalised by earlier rules.
    old, new = (normalise(notebook).cells for notebook in (committed, executed))
    for number, (left, right) in enumerate(zip(old, new, strict=True), start=1):
        if left != right:
            changes = difflib.unified_diff(_lines(left), _lines(right), "committed", "re-run", lineterm="", n=0)
            diff = [f"    {line[:160]}" for line in changes if not line.startswith("@@")]
            differing = "\n".join(diff[: SHOWN_LINES + 2])
            return [f"is stale at cell {number}; execute it with: make notebooks\n{differing}"]
    return []


def _finding(job: Job, failure: str, figures: Path, listed: Collection[str]) -> Finding:
    committed = read(job.source)
    faults = form(committed, job.name)
    if job.source.resolve().is_relative_to(FOLDER.resolve()) and job.name not in listed:
        faults.append(f"has no number in expected.yaml; accept what it shows: {expected.COMMAND} {job.name}")
    if failure:
        return Finding(job.name, [*faults, failure])
    # A clone without the official data cannot repeat results on it.
    before, now = reported(job.name, COMMITTED), reported(job.name, figures)
    if before and now and before.data != now.data:
        return Finding(
            job.name, faults, f"outputs not compared: committed on {before.data} data, re-run on {now.data} data"
        )
    return Finding(job.name, faults + stale_cells(committed, read(job.output)))


def _definitions(source: str) -> int:
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError:  # a cell with a magic command
        return source.count("def ") + source.count("class ")
    return sum(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for node in nodes)


def _parameter_faults(notebook: NotebookNode, name: str) -> Iterator[str]:
    tagged = [cell for cell in notebook.cells if "parameters" in tags(cell)]
    if len(tagged) != 1:
        yield f"has {len(tagged)} cells tagged 'parameters'; tag the one that holds them"
    if any("injected-parameters" in tags(cell) for cell in notebook.cells):
        yield "holds a cell of injected parameters; execute it with its defaults: make notebooks"
    try:
        declared(notebook, name)
    except NotebookError as error:
        yield str(error)


def _lines(cell: NotebookNode) -> list[str]:
    return json.dumps(cell, indent=1, sort_keys=True, ensure_ascii=False).splitlines()
