"""Answer boxes: the cell behind a notebook's title that shows what the register says of it.

Its output is computed from the committed results, not from the run around it. So it is written without executing the
notebook: by `make readme`, and after every in-place run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lab.notebooks import register, scoreboard
from lab.notebooks.documents import committed, load, name_of, read, tags, text_of, write
from lab.notebooks.normalise import normalise

if TYPE_CHECKING:
    from nbformat import NotebookNode

TAG = "answer"
SOURCE = 'from lab.notebooks import scoreboard\n\nscoreboard.answer("{}")'


def answered(notebook: NotebookNode, name: str) -> NotebookNode:
    """A copy with the answer box of today behind the title; a notebook that no item of a paper names has none."""
    listed = {item.notebook for paper in register.papers() for item in paper.items}
    clean = normalise(notebook)
    clean.cells = [cell for cell in clean.cells if TAG not in tags(cell)]
    if name in listed and clean.cells:
        clean.cells.insert(1, _cell(name))
    return normalise(clean)


def stale() -> list[Path]:
    """The committed notebooks whose answer box is not that of today."""
    return [path for path in committed() if text_of(answered(read(path), name_of(path))) != text_of(read(path))]


def refresh(notebooks: Sequence[Path] | None = None) -> None:
    """Write today's answer boxes into notebooks, by default all committed ones."""
    register.committed.cache_clear()  # an in-place run has just written other results
    register.recorded.cache_clear()
    for path in committed() if notebooks is None else notebooks:
        notebook = read(path)
        new = answered(notebook, name_of(path))
        if text_of(new) != text_of(notebook):
            write(new, path)


def _cell(name: str) -> NotebookNode:
    import nbformat

    load()
    data = {
        "text/markdown": scoreboard.answer_text(name),
        "text/plain": "<IPython.core.display.Markdown object>",
    }
    output = nbformat.v4.new_output("execute_result", data, execution_count=1)
    return nbformat.v4.new_code_cell(
        SOURCE.format(name), outputs=[output], execution_count=1, metadata={"tags": [TAG]}, id="answer"
    )
