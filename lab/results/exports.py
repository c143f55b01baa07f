"""Export of a table as Markdown, CSV and LaTeX files under `figures/`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.files import write_atomically
from lab.machine.printing import visible
from lab.results.figures import path_of

if TYPE_CHECKING:
    import pandas as pd

EMPTY = "–"  # an empty cell for reading; in the CSV it stays empty
MARKDOWN = str.maketrans({"\\": "\\\\", "|": "\\|", "\n": " ", "\r": ""})
TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what can begin one; "<= 0.05" cannot
# What a spreadsheet would run or look up. A sign before a word or a number, "-Validate" or "+0.5 [0.1, 0.9]", calls
# nothing, and neither does "= full".
FORMULA = re.compile(r"\s*[@\t\r]|\s*=(?! [A-Za-z ]+$)|\s*[+-](?=.*[(|!])", re.DOTALL)
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "[": "{[}",  # a cell that opens with a bracket would be read as the optional argument of \\
        "]": "{]}",
        "–": "--",
        "\n": " ",
    }
)


def write(frame: pd.DataFrame, stem: str) -> list[Path]:
    """Write `figures/<stem>.md`, `.csv` and `.tex`, each whole or not at all; the index is not written.

    The CSV keeps numbers in full and empty cells empty; the other two show six digits and an en dash.
    """
    texts = {
        ".md": markdown(frame),
        ".csv": csv(frame),
        ".tex": latex(frame),
    }
    paths = []
    for suffix, text in texts.items():
        path = path_of(stem, suffix)
        write_atomically(path, text.encode("utf-8"))
        paths.append(path)
    return paths


def csv(frame: pd.DataFrame) -> str:
    """The table as CSV; a cell that a spreadsheet would run as a formula begins with an apostrophe."""
    import numpy as np
    import pandas as pd

    safe = frame.rename(columns=_no_formula)
    for place, kind in enumerate(safe.dtypes):
        if not isinstance(kind, np.dtype) or kind.kind == "O":  # as objects: else a whole number beside an empty cell
            cells = [_no_formula(cell) for cell in safe.iloc[:, place]]  # would become a float
            safe.isetitem(place, pd.Series(cells, index=safe.index, dtype=object))
    return visible(safe.to_csv(index=False, lineterminator="\n"))


def _no_formula(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def markdown(frame: pd.DataFrame) -> str:
    """A GitHub table; numbers to the right, pipes and HTML escaped."""
    # By hand: pandas' to_markdown needs tabulate, which is no dependency, and leaves pipes and line breaks as they are.
    header, *rows = [[TAG.sub("&lt;", cell.translate(MARKDOWN)) for cell in line] for line in _texts(frame)]
    rule = ["---:" if right else "---" for right in _right_aligned(frame)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [header, rule, *rows])


def latex(frame: pd.DataFrame) -> str:
    """A `tabular` with the rules of the booktabs package; every special character escaped."""
    import pandas as pd

    # pandas lays the table out; the texts are escaped before, since its escape="latex" leaves brackets and dashes.
    header, *rows = [[cell.translate(LATEX) for cell in line] for line in _texts(frame)]
    columns = "".join("r" if right else "l" for right in _right_aligned(frame))
    return pd.DataFrame(rows, columns=header).style.hide(axis="index").to_latex(column_format=columns, hrules=True)


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


def _right_aligned(frame: pd.DataFrame) -> list[bool]:
    return [frame.dtypes.iloc[place].kind in "iuf" for place in range(frame.shape[1])]
