"""Exports of a table: CSV and Parquet as data, Markdown for reading. LaTeX is in lab/results/latex.py."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab.machine.printing import visible

if TYPE_CHECKING:
    import pandas as pd

EMPTY = "–"  # an empty cell for reading; in the CSV it stays empty
MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": " ", "\r": ""})
TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what can begin one; "<= 0.05" cannot
# What a spreadsheet would run or look up. A sign before a word or a number, "-Validate" or "+0.5 [0.1, 0.9]", calls
# nothing, and neither does "= full".
FORMULA = re.compile(r"\s*[@\t\r]|\s*=(?! [A-Za-z ]+$)|\s*[+-](?=.*[(|!])", re.DOTALL)


def csv(frame: pd.DataFrame) -> str:
    """The rows as CSV: every digit of a number, nothing for an empty cell.

    A cell that a spreadsheet would run as a formula begins with an apostrophe.
    """
    import pandas as pd

    safe = _plain(frame).rename(columns=_no_formula)
    for place in _of_objects(safe):  # as objects: else a whole number beside an empty cell would become a float
        safe.isetitem(place, pd.Series([_no_formula(cell) for cell in safe.iloc[:, place]], dtype=object))
    return visible(safe.to_csv(index=False, lineterminator="\n"))


def parquet(frame: pd.DataFrame) -> bytes:
    """The same as Parquet, typed: a column of numbers and empty cells is one of floats; one with a text is all text."""
    import io

    typed = _plain(frame).rename(columns=str)
    for place in _of_objects(typed):
        column = typed.iloc[:, place]
        if any(isinstance(cell, str) for cell in column):
            typed.isetitem(place, column.map(lambda cell: visible(str(cell)), na_action="ignore"))
    file = io.BytesIO()
    typed.to_parquet(file, index=False)
    return file.getvalue()


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy without index, in which every kind of empty cell of text is None."""
    import pandas as pd

    plain = frame.reset_index(drop=True)
    for place in _of_objects(plain):
        cells = [None if pd.isna(cell) or cell in ("", EMPTY) else cell for cell in plain.iloc[:, place]]
        plain.isetitem(place, pd.Series(cells, index=plain.index, dtype=object))
    return plain


def _of_objects(frame: pd.DataFrame) -> list[int]:
    """Where columns are that hold no numbers alone."""
    import numpy as np

    kinds = enumerate(frame.dtypes)
    return [place for place, kind in kinds if not isinstance(kind, np.dtype) or kind.kind == "O"]


def _no_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def markdown(frame: pd.DataFrame, left: Sequence[bool] | None = None) -> str:
    """A GitHub table, pipes and HTML escaped. left: whether a column is text; by default what holds no numbers."""
    # By hand: pandas' to_markdown needs tabulate, which is no dependency, and leaves pipes and line breaks as they are.
    header, *rows = [[TAG.sub("&lt;", cell.translate(MARKDOWN)) for cell in line] for line in _texts(frame)]
    left = [kind.kind not in "iuf" for kind in frame.dtypes] if left is None else left
    rule = ["---" if text else "---:" for text in left]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [header, rule, *rows])


def _texts(frame: pd.DataFrame) -> list[list[str]]:
    """The header, then every row, as unescaped text."""
    return [[str(name) for name in frame.columns], *([text(cell) for cell in line] for line in frame.to_numpy(object))]


def text(cell: Any) -> str:
    """A cell for reading: six digits, an en dash for an empty one."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return EMPTY
    return f"{cell:.6g}" if isinstance(cell, float) else visible(str(cell))


def readable(data: Mapping[str, Any] | Sequence[Any], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A table of what a model or a world said, for reading: its texts as `visible` has them.

    data: columns by name, or rows. A notebook would show them raw, and pandas takes no halves of characters.
    """
    import pandas as pd

    return pd.DataFrame(_visible(data), columns=columns)


def _visible(value: Any) -> Any:
    """The value with each text in it made visible; rows become lists."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {name: _visible(part) for name, part in value.items()}
    return [_visible(part) for part in value] if isinstance(value, (list, tuple)) else value
