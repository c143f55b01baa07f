"""The form of the notebooks' pages, and what says where one lacks it."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

from lab.notebooks import template
from lab.notebooks.documents import committed, name_of, read


@pytest.mark.parametrize("path", committed(), ids=name_of)
def test_a_notebook_is_a_short_computed_answer(path: Path) -> None:
    assert [*template.faults(read(path), name_of(path))] == []


def png(width: int, height: int) -> str:
    picture = io.BytesIO()
    Image.new("1", (width, height)).save(picture, "png")
    return base64.b64encode(picture.getvalue()).decode("ascii")


def page(
    *cells: NotebookNode, title: str = "# Does it help?", parameters: str = "limit: int = 0  # tasks",
    height: int = 450, box: str = "**Answer**: yes",
) -> NotebookNode:  # fmt: skip
    answer = new_output("display_data", {"text/markdown": box})
    picture = new_output("display_data", {"image/png": png(800, height)})
    first = new_code_cell("page.answer('n')", outputs=[answer, picture], metadata={"tags": ["answer"]})
    chosen = new_code_cell(parameters, metadata={"tags": ["parameters"]})
    return new_notebook(cells=[new_markdown_cell(title), first, chosen, *cells])


def table(columns: int, rows: int, folded: bool = False) -> NotebookNode:
    text = f"<table><thead><tr>{'<th>a</th>' * columns}</tr></thead>{'<tr><td>1</td></tr>' * rows}</table>"
    text = f"<details><summary>more</summary>{text}</details>" if folded else text
    return new_code_cell("frame", outputs=[new_output("execute_result", {"text/html": text})])


def drawing(metadata: dict[str, str]) -> NotebookNode:
    picture = new_output("display_data", {"image/png": png(9, 9)}, metadata={"image/png": metadata})
    return new_code_cell("plots.show(figure, 'a', 'a tree')", outputs=[picture])


def report(line: str) -> NotebookNode:
    return new_code_cell("report.table()", outputs=[new_output("display_data", {"text/plain": line})])


@pytest.mark.parametrize(
    ("notebook", "fault"),
    [
        (page(), ""),
        (page(title="# It helps"), "its title asks no question"),
        (new_notebook(cells=[new_markdown_cell("# Why?"), new_code_cell("1")]), "it does not begin with an answer box"),
        (page(parameters="\n".join(f"a{n}: int = 0  # tasks" for n in range(9))), "it has 9 parameters"),
        (page(new_markdown_cell("word " * 401)), "words outside of folds"),
        (page(box="word " * 151), "its answer box has 151 words"),
        (page(height=641), "its key figure is 641 px high"),
        (page(height=640), ""),
        (page(new_markdown_cell(f"<details>{'word ' * 401}</details>")), ""),
        (page(new_code_cell("\n".join("f()" for _ in range(13)))), "has 13 lines of code"),
        (page(new_code_cell("\n".join("f()" for _ in range(25)), metadata={"tags": ["yours"]})), ""),
        (page(new_code_cell("\n".join("f()" for _ in range(26)), metadata={"tags": ["yours-too"]})), "has 26 lines"),
        (page(table(6, 12)), ""),
        (page(table(7, 2)), "a table has 7 columns and 2 rows"),
        (page(table(2, 13)), "a table has 2 columns and 13 rows"),
        (page(table(20, 90, folded=True)), ""),
        (page(new_markdown_cell(f"<details><details open>a</details>{'word ' * 401}</details>")), ""),
        (page(new_markdown_cell(f"<details open><details>a</details>{'word ' * 401}</details>")), "words outside"),
        (page(new_markdown_cell("SDP passes 63 % of trips")), "a text states a result, '63 %'"),
        (page(new_markdown_cell("the distance is .303, not 0.299")), "a text states a result, '0.299'"),
        (page(new_markdown_cell("with 95 % intervals, a 0.5B model, A.2 and [a page](x-0.5.html)")), ""),
        (page(new_markdown_cell("it gains +12 points")), "a text states a result, '+1'"),
        (page(report("9 of 9 numbers as expected")), ""),
        (page(drawing({"alt": "a tree"})), ""),
        (page(drawing({})), "1 of its pictures have no alternative text"),
        (page(report("7 of 9 numbers as expected, 2 OFF")), "it says '7 of 9 numbers as expected, 2 OFF'"),
    ],
)
def test_what_is_not_of_the_form_is_named(notebook: NotebookNode, fault: str) -> None:
    found = "; ".join(template.faults(notebook, "n"))
    assert fault in found and bool(found) == bool(fault), found
