"""The required form of a notebook's page: a short, computed answer. `faults` lists deviations from it.

A question as title; then answer box and key figure; few parameters, words and lines of code; one small table; the rest
folded; no result in Markdown text.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lab.notebooks.documents import YOURS, tags
from lab.notebooks.parameters import declared

if TYPE_CHECKING:
    from nbformat import NotebookNode

MOST_PARAMETERS, MOST_WORDS, MOST_LINES = 8, 400, 12
MOST_YOURS = 25  # lines of a cell that a reader writes: a class of four methods, which no two cells can share
MOST_COLUMNS, MOST_ROWS = 6, 12
MOST_ANSWER, MOST_HEIGHT, WIDTH = 150, 640, 800  # words of the box; pixels of the key figure, displayed so wide
FOLD = re.compile(r"<details( open)?[^>]*>((?:(?!<details\b).)*?)</details>", re.DOTALL)  # with no other in it
TABLE = re.compile(r"<table.*?</table>", re.DOTALL)
ROW, CELL, HEAD = re.compile(r"<tr\b"), re.compile(r"<th\b"), re.compile(r"<thead.*?</thead>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
LINK = re.compile(r"\]\([^)]*\)|`[^`]*`")
# Numbers that only a run can give: decimals, percentages except the level of intervals, signed differences.
RESULT = re.compile(r"(?<![\w.§])[+−-]?\d+\.\d+(?![\w.])|(?<!\d)(?!95 %)\d+ ?%|(?<![\w–])[+−]\d")

OFF = re.compile(r"\d+ of \d+ numbers as expected, \d+ OFF")


def faults(notebook: NotebookNode, name: str) -> Iterator[str]:
    """Yield a sentence for each deviation of a notebook from the required form."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not texts or not texts[0].splitlines()[0].endswith("?"):
        yield "its title asks no question"
    if (
        not code
        or "answer" not in tags(code[0])
        or not any("image/png" in output.get("data", {}) for output in code[0].outputs)
    ):
        yield "it does not begin with an answer box and a key figure"
    yield from _first_screen(code[0]) if code else ()
    if (count := len(declared(notebook, name))) > MOST_PARAMETERS:
        yield f"it has {count} parameters, more than {MOST_PARAMETERS}"
    if (count := words(notebook)) > MOST_WORDS:
        yield f"it has {count} words outside of folds, more than {MOST_WORDS}"
    for cell in code:
        most = MOST_YOURS if any(tag.startswith(YOURS) for tag in tags(cell)) else MOST_LINES
        if "parameters" not in tags(cell) and (count := len(cell.source.splitlines())) > most:
            yield f"cell {cell.id} has {count} lines of code, more than {most}"
    for columns, rows in tables(notebook):
        if columns > MOST_COLUMNS or rows > MOST_ROWS:
            yield f"a table has {columns} columns and {rows} rows; fold what is over {MOST_COLUMNS} and {MOST_ROWS}"
    printed = "".join(output.get("data", {}).get("text/plain", "") for cell in code for output in cell.outputs)
    if off := OFF.search(printed):
        yield f"it says {off.group()!r}; once the numbers are stored (lab expect), run it in place again"
    if pictures := sum(not picture.get("alt") for picture in _pictures(code)):
        yield f"{pictures} of its pictures have no alternative text; use plots.show"
    for text in texts:
        if result := RESULT.search(LINK.sub("", text)):
            yield f"a text states a result, {result.group()!r}; let code say it"


def _pictures(code: Iterable[NotebookNode]) -> Iterator[dict[str, str]]:
    """The metadata of each picture, that of the answer box excepted, whose figure may have no title."""
    for output in (output for cell in code if "answer" not in tags(cell) for output in cell.outputs):
        if "image/png" in output.get("data", {}):
            yield output.get("metadata", {}).get("image/png", {})


def _first_screen(cell: NotebookNode) -> Iterator[str]:
    """Faults of an answer cell that would push its key figure off the first screen, 900 px at a width of 1,200."""
    for data in (output.get("data", {}) for output in cell.outputs):
        if (count := len(unfolded(data.get("text/markdown", "")).split())) > MOST_ANSWER:
            yield f"its answer box has {count} words, more than {MOST_ANSWER}"
        if (picture := base64.b64decode(data.get("image/png", ""))) and (height := _height(picture)) > MOST_HEIGHT:
            yield f"its key figure is {height} px high, more than {MOST_HEIGHT}"


def _height(picture: bytes) -> int:
    """The height in pixels at which a PNG is displayed if it is WIDTH wide."""
    width, height = struct.unpack(">II", picture[16:24])
    return round(height * WIDTH / width)


def words(notebook: NotebookNode) -> int:
    """The number of words in Markdown cells and answer boxes, without folded ones."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    outputs = (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
    texts += [data["text/markdown"] for data in outputs if "text/markdown" in data]
    return sum(len(TAG.sub(" ", LINK.sub("]", unfolded(text))).split()) for text in texts)


def tables(notebook: NotebookNode) -> Iterator[tuple[int, int]]:
    """Yield (columns, rows) of each table that is not folded."""
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        for table in TABLE.findall(unfolded(output.get("data", {}).get("text/html", ""))):
            heads = HEAD.findall(table)
            yield len(CELL.findall(heads[0])) if heads else 0, len(ROW.findall(HEAD.sub("", table)))


def unfolded(text: str) -> str:
    """A page without what a click has to open."""
    while (shorter := FOLD.sub(lambda fold: fold[2] if fold[1] else "", text)) != text:
        text = shorter
    return text
