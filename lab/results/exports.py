"""Exports of a table: CSV and Parquet as data, Markdown for display. LaTeX is in lab/results/latex.py."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab.machine.printing import visible

if TYPE_CHECKING:
    import pandas as pd

EMPTY = "–"  # displayed for an empty cell; in the CSV it stays empty
MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": " ", "\r": ""})
TAG = re.compile(r"<(?=[A-Za-z/!?])")  # a possible start of an HTML tag; "<= 0.05" is none
# A cell that a spreadsheet would evaluate. A sign before a word or a number, "-Validate" or "+0.5 [0.1, 0.9]", is
# harmless, and so is "= full".
FORMULA = re.compile(r"\s*[@\t\r]|\s*=(?! [A-Za-z ]+$)|\s*[+-](?=.*[(|!])", re.DOTALL)


def csv(frame: pd.DataFrame) -> str:
    """The rows as CSV, with all digits of numbers; empty cells stay empty.

    A cell that a spreadsheet would evaluate as a formula gets an apostrophe in front.
    """
    return visible(_plain(frame, _no_formula).to_csv(index=False, lineterminator="\n"))


def parquet(frame: pd.DataFrame) -> bytes:
    """The rows as typed Parquet: numbers and empty cells give a column of floats; any text makes all cells text."""
    import io

    typed = _plain(frame, lambda cell: visible(str(cell)) if isinstance(cell, str) else cell)
    for index in range(typed.shape[1]):
        column = typed.iloc[:, index]
        if any(isinstance(cell, str) for cell in column):
            typed.isetitem(index, column.map(str, na_action="ignore"))
    file = io.BytesIO()
    typed.to_parquet(file, index=False)
    return file.getvalue()


def _plain(frame: pd.DataFrame, written: Callable[[Any], Any]) -> pd.DataFrame:
    """A copy without index: empty cells of any kind become None, and `written` is applied to other cells and names."""
    import numpy as np
    import pandas as pd

    plain = frame.reset_index(drop=True).rename(columns=lambda name: written(str(name)))
    for index, kind in enumerate(plain.dtypes):
        if isinstance(kind, np.dtype) and kind.kind != "O":  # numbers alone
            continue
        cells = [None if pd.isna(cell) or cell in ("", EMPTY) else written(cell) for cell in plain.iloc[:, index]]
        # dtype=object: otherwise an integer in a column with an empty cell would become a float.
        plain.isetitem(index, pd.Series(cells, index=plain.index, dtype=object))
    return plain


def _no_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def markdown(frame: pd.DataFrame, left: Sequence[bool] | None = None) -> str:
    """A GitHub table, with pipes and HTML escaped. left: which columns are text; by default those without numbers."""
    # Not pandas' to_markdown: it needs tabulate, which is no dependency, and does not escape pipes and line breaks.
    lines = [map(str, frame.columns), *(map(text, line) for line in frame.to_numpy(object))]
    header, *rows = [[TAG.sub("&lt;", cell.translate(MARKDOWN)) for cell in line] for line in lines]
    left = [kind.kind not in "iuf" for kind in frame.dtypes] if left is None else left
    rule = ["---" if is_text else "---:" for is_text in left]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [header, rule, *rows])


def text(cell: Any) -> str:
    """A cell as text: numbers with six digits, an en dash for an empty cell."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return EMPTY
    return f"{cell:.6g}" if isinstance(cell, float) else visible(str(cell))


def readable(data: Mapping[str, Any] | Sequence[Any], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table with texts of a model or a world, made safe for display by `visible`.

    data: columns by name, or rows. A notebook would display raw control characters, and pandas rejects lone surrogates.
    """
    import pandas as pd

    return pd.DataFrame(_visible(data), columns=columns)


def _visible(value: Any) -> Any:
    """A copy with `visible` applied to all texts in it; rows become lists."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {name: _visible(part) for name, part in value.items()}
    return [_visible(part) for part in value] if isinstance(value, (list, tuple)) else value
