"""Small notebook files for the tests of the runner."""

from __future__ import annotations

from pathlib import Path

from lab.notebooks.documents import load

nbformat = load()
v4 = nbformat.v4

PARAMETERS = """engine: str = "rules?a=1&b=2"  # what answers; a = sign here is fine
limit: int = 3  # tasks per split
share: float | None = None  # of the tasks
names: list[str] = ["a", "b # not a comment"]  # what to call them"""


def notebook(path: Path, *code: str, parameters: str = PARAMETERS) -> Path:
    """A small notebook file with a parameters cell and the given code cells."""
    first = v4.new_code_cell(parameters, id="parameters", metadata={"tags": ["parameters"]})
    cells = [v4.new_code_cell(source, id=f"code-{place}") for place, source in enumerate(code)]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=[v4.new_markdown_cell("# Title", id="title"), first, *cells]), path)
    return path
