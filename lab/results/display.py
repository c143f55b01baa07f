"""Display of tables in notebooks and terminals: one look for all, on light and dark pages.

No row numbers, text aligned left and numbers right, intervals small and on one line, evidence as a tag. This run's rows
are marked if there are others, and rows without a value are folded. The page is plain HTML with few inline styles:
JupyterLab drops style sheets from untrusted notebooks, and GitHub drops all styles.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.printing import aligned, visible
from lab.results.exports import EMPTY, text
from lab.results.text import shortened

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler

SOURCE = "source"  # a column, or the name of an index that is not displayed
THIS_RUN = "this run"  # prefix of the source of numbers of this run
ANSWERS = "answers, %"  # a displayed column: how a model's answers were read
FAULTS = ("failed", "not measured")  # columns of counts; in a displayed table the values come after them
MOST = 200  # displayed rows
LONGEST = 2000  # displayed characters of a cell
SHORT = 60  # the same in a terminal
WIDE = 30  # a column with a longer text has a minimal width
MANY = 11  # tables with at least so many columns have smaller print, to fit a page

TEMPLATES = Path(__file__).parent / "templates"
TINT = "rgba(64,128,255,.16)"  # of marked rows; legible on white and on black
FIGURE = re.compile(r"[<~]?[-+−]?\d[\d.,%e+–-]*( ± [\d.]+)?( \[[^]]*\])?( of \d+)?( \(with all measured.*|, .*)?")
INTERVAL = re.compile(r"(?<=\d) \[([^][\s,]+), ([^][\s,]+)\]")
RANGE = re.compile(r"(?<=\d)–(?=\d)")
BREAK = re.compile(r"(?<=\w{3}[_/:])(?=\w{3})")  # in current_city, sha256:0123; not in 12:30
LONG_WORD = re.compile(r"\S{40}(?=\S)")
LOW_OR_HIGH = re.compile(r"(?!bound).*(low|high)")
P = re.compile(r"p([ _].*)?|.* p")
P_DECIMALS = 4


@dataclass(frozen=True, repr=False, eq=False)
class Shown:
    """A table prepared for display.

    frame: the table itself. names, rows: its displayed columns and cells, as text. left: whether a column is text,
    aligned left. marked: whether a row is of this run, if others are not. folded: rows without a value, with the
    columns before the values. notes: text below the table. title: if set, the table is collapsed under this title.
    """

    frame: pd.DataFrame
    names: pd.Index
    rows: list[list[str]]
    left: list[bool]
    marked: list[bool]
    folded: list[list[str]]
    notes: list[str]
    title: str = ""

    def _repr_html_(self) -> str:
        page = self._table()
        return f"<details><summary>{_escaped(self.title)}</summary>{page}</details>" if self.title else page

    def _table(self) -> str:
        notes = ["<b>bold</b>: this run"] * any(self.marked) + [*map(_escaped, self.notes)]
        page = _page(self.names, self.rows, self.left, self.marked)
        page += f"<p><small>{'; '.join(notes)}</small></p>" if notes else ""
        if self.folded:
            count = len(self.folded[0])
            rows = _page(self.names[:count], self.folded, self.left[:count], [False] * len(self.folded))
            page += f"<details><summary>{self._without()}</summary>{rows}</details>"
        return f'<div style="overflow-x:auto">{page}</div>'

    def __repr__(self) -> str:
        header = [" ".join(filter(None, map(str, name if isinstance(name, tuple) else (name,)))) for name in self.names]
        lines = [self.title] * bool(self.title)
        lines += [_columns([header, *self.rows], self.left, ["", *("*" * mark for mark in self.marked)])]
        lines += ["*: this run"] * any(self.marked) + self.notes
        if self.folded:
            lines += [f"{self._without()}:", _columns(self.folded, self.left, [" "] * len(self.folded))]
        return visible("\n".join(lines))

    def _without(self) -> str:
        return f"{len(self.folded)} row{'s' * (len(self.folded) > 1)} without a value"


def shown(frame: pd.DataFrame, decimals: int = 3) -> Shown:
    """A displayed table, for the end of a notebook's cell.

    decimals: maximal number; a column has as many as it needs, and p-values may have four. Two columns whose names end
    in "low" and "high" are the interval of the number before them. Empty columns are left out, and so are counts of
    faults if all are 0. An index is displayed only if it has a name other than "source". An index or column "source"
    marks the rows of this run.
    """
    flat = frame.head(MOST).reset_index(drop=frame.index.names in ([None], [SOURCE]))
    columns = dict(columns_of(flat, decimals))
    fault = max((index for index in columns if flat.columns[index] in FAULTS), default=flat.shape[1])
    values = [cells for index, cells in columns.items() if index > fault]
    # If no row has a value, none is folded.
    empty = [bool(values) and {*row} == {EMPTY} for row in zip(*values, strict=True)] or [False] * len(flat)
    empty = [is_empty and not all(empty) for is_empty in empty]
    faultless = [index for index in columns if flat.columns[index] in FAULTS and {*columns[index]} <= {"0", EMPTY}]
    indices = [index for index in columns if index not in faultless]
    rows = [[columns[index][line] for index in indices] for line in range(len(flat))]
    filled = [line for line, is_empty in enumerate(empty) if indices and not is_empty]
    source = frame[SOURCE] if SOURCE in frame.columns else frame.index.to_series()
    of_this_run = [str(label).startswith(THIS_RUN) for label in source]
    others = not all(of_this_run)
    notes = [f"{' and '.join(map(str, flat.columns[faultless]))}: none counted"] if faultless and rows else []
    notes += [f"and {len(frame) - MOST:,} more rows"] * (len(frame) > MOST) + ["nothing to show"] * (not filled)
    return Shown(
        frame, flat.columns[indices], [rows[line] for line in filled],
        [is_text(columns[index]) for index in indices],
        [of_this_run[line] and others for line in filled],
        [row[: sum(index < fault for index in indices)] for row, is_empty in zip(rows, empty, strict=True) if is_empty],
        notes,
    )  # fmt: skip


def folded(title: str, frame: pd.DataFrame, decimals: int = 3) -> Shown:
    """A table that is collapsed under its title: for details, and for tables wider than a page."""
    return replace(shown(frame, decimals), title=title)


def is_text(cells: Sequence[str]) -> bool:
    """Whether a column has cells other than numbers, and so is aligned left."""
    return not all(cell == EMPTY or FIGURE.fullmatch(cell) for cell in cells)


def columns_of(frame: pd.DataFrame, decimals: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (index in the frame, cells as text) of each column that is not empty. Intervals are merged with their
    numbers.

    decimals: maximal decimals of numbers (see `shown`).
    """
    numeric = [kind.kind in "iuf" for kind in frame.dtypes]
    index = 0
    while index < frame.shape[1]:
        column, name, width = frame.iloc[:, index], str(frame.columns[index]), 1
        if numeric[index]:
            ends = frame.columns[index + 1 : index + 3]
            if all(numeric[index : index + 3]) and sum(bool(LOW_OR_HIGH.fullmatch(str(end))) for end in ends) == 2:
                width = 3
            most = max(decimals, P_DECIMALS) if P.fullmatch(name) else decimals
            cells = _numbers(frame.iloc[:, index : index + width], most)
        else:
            cells = [_text(cell, decimals) for cell in column]
        if not cells or any(cells) and (not numeric[index] or column.notna().any()):
            yield index, cells
        index += width


def _text(cell: Any, decimals: int) -> str:
    content = text(round(cell, decimals) if isinstance(cell, float) else cell)
    return content if len(content) <= LONGEST else f"{content[:LONGEST]} … ({len(content) - LONGEST:,} more characters)"


def _numbers(columns: pd.DataFrame, decimals: int) -> list[str]:
    """Numbers as text, with intervals if there are three columns. All have as many decimals as the longest needs."""
    rounded = columns.round(decimals)
    needed = next(n for n in range(decimals + 1) if n == decimals or rounded.round(n).equals(rounded))
    smallest = 10.0**-decimals

    def number(value: float) -> str:
        return f"<{smallest:.{decimals}f}" if 0 < value < smallest / 2 else f"{value:z.{needed}f}"

    lines = columns.astype(float).to_numpy().tolist()
    cells = [EMPTY if math.isnan(value) else number(value) for value, *_ in lines]
    known = [len(line) == 3 and not any(map(math.isnan, line)) for line in lines]
    ends = [
        f" [{number(line[1])}, {number(line[2])}]" if complete else ""
        for line, complete in zip(lines, known, strict=True)
    ]
    return [cell + end for cell, end in zip(cells, ends, strict=True)]


def _page(names: pd.Index, rows: Sequence[Sequence[str]], left: list[bool], marked: list[bool]) -> str:
    """Rows as an HTML table, rendered by pandas' Styler with our template."""
    import pandas as pd

    cells = [[*map(_escaped, row)] for row in rows]
    for row, mark in zip(cells, marked, strict=True):
        row[0] = f"<b>{row[0]}</b>" if mark else row[0]
    frame = pd.DataFrame(cells, columns=range(len(names)))
    for index, name in enumerate(names):
        if name == "evidence":
            frame[index] = frame[index].map("<code>{}</code>".format)
    frame.columns = names.map(lambda name: tuple(map(_escaped, name)) if isinstance(name, tuple) else _escaped(name))
    wide = [any(len(row[index]) > WIDE for row in rows) for index in range(len(names))]
    styler = _styler()(frame, uuid="").hide(axis="index")
    many = len(names) >= MANY
    return styler.to_html(exclude_styles=True, left=left, wide=wide, marked=marked, tint=TINT, many=many)


def _escaped(cell: Hashable) -> str:
    """A cell as HTML. Lines may break within long words and before intervals, but not within intervals or ranges."""
    broken = LONG_WORD.sub("\\g<0>\u200b", BREAK.sub("\u200b", visible(str(cell))))
    unbroken = INTERVAL.sub(" <small>[\\1,\u00a0\\2]</small>", html.escape(broken, quote=False))
    return RANGE.sub("\u2060–\u2060", unbroken).replace("\u200b", "<wbr>").replace("\n", "<br>")


def _columns(rows: Sequence[Sequence[str]], left: Sequence[bool], marks: Sequence[str]) -> str:
    """Rows as aligned text for a terminal, each after its mark."""
    short = [[shortened(cell, SHORT) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*short, strict=True)]
    cells = [
        [cell if text else cell.rjust(width) for cell, text, width in zip(row, left, widths, strict=False)]
        for row in short
    ]
    return aligned([([mark] if any(marks) else []) + row for mark, row in zip(marks, cells, strict=True)])


@cache
def _styler() -> type[Styler]:
    from pandas.io.formats.style import Styler

    return Styler.from_custom_template(str(TEMPLATES), html_table="table.html")
