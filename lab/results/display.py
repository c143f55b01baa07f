"""Display of a table in a notebook and in a terminal: one look for all of them, light and dark.

No row numbers, text to the left and figures to the right, intervals unbroken and small, evidence as a tag, this run's
rows marked where there are others, and rows without a value folded. The page is plain HTML with few inline styles:
JupyterLab drops a style sheet from a notebook that it does not trust, and GitHub drops every style.
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
THIS_RUN = "this run"  # how the source of a number begins that was made here
ANSWERS = "answers, %"  # a column for reading: how a model's answers were read
FAULTS = ("failed", "not measured")  # counts; in a table for reading, a row's values stand behind the last of them
MOST = 200  # rows that are displayed
LONGEST = 2000  # characters of a cell, and in a terminal:
SHORT = 60
WIDE = 30  # a column with a longer text is not squeezed to its longest word
MANY = 11  # columns of a table in smaller print, so that it fits a page

TEMPLATES = Path(__file__).parent / "templates"
TINT = "rgba(64,128,255,.16)"  # over white and over black
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
    """A table as it is displayed.

    frame: the table itself. names, rows: what is displayed of it, as text. left: whether a column is text. marked:
    whether a row is this run's, where others are not. folded: the rows without a value, up to where values begin.
    notes: what stands below. title: what a click opens the whole table under; "" for one that is open.
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
            few = len(self.folded[0])
            rows = _page(self.names[:few], self.folded, self.left[:few], [False] * len(self.folded))
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
    """A table for the end of a notebook's cell.

    decimals: of numbers, at most; a column has as many as it needs, and p-values may have four. Two columns whose names
    end in low and high are the interval of the number before them. Columns with nothing in them are left out, and so
    are counts of faults where there were none. An index without a name is not displayed, nor is one named "source": it
    says, as a column of that name does, which rows are this run's.
    """
    flat = frame.head(MOST).reset_index(drop=frame.index.names in ([None], [SOURCE]))
    columns = dict(columns_of(flat, decimals))
    behind = max((index for index in columns if flat.columns[index] in FAULTS), default=flat.shape[1])
    values = [cells for index, cells in columns.items() if index > behind]
    # Where no row has a value, there is nothing to fold them for.
    empty = [bool(values) and {*row} == {EMPTY} for row in zip(*values, strict=True)] or [False] * len(flat)
    empty = [without and not all(empty) for without in empty]
    none = [index for index in columns if flat.columns[index] in FAULTS and {*columns[index]} <= {"0", EMPTY}]
    indices = [index for index in columns if index not in none]
    rows = [[columns[index][line] for index in indices] for line in range(len(flat))]
    kept = [line for line, without in enumerate(empty) if indices and not without]
    source = frame[SOURCE] if SOURCE in frame.columns else frame.index.to_series()
    ours = [str(label).startswith(THIS_RUN) for label in source]
    others = not all(ours)
    notes = [f"{' and '.join(map(str, flat.columns[none]))}: none counted"] if none and rows else []
    notes += [f"and {len(frame) - MOST:,} more rows"] * (len(frame) > MOST) + ["nothing to show"] * (not kept)
    return Shown(
        frame, flat.columns[indices], [rows[line] for line in kept],
        [is_text(columns[index]) for index in indices],
        [ours[line] and others for line in kept],
        [row[: sum(index < behind for index in indices)] for row, without in zip(rows, empty, strict=True) if without],
        notes,
    )  # fmt: skip


def folded(title: str, frame: pd.DataFrame, decimals: int = 3) -> Shown:
    """A table that a click on its title opens: for details, and for what is wider than a page."""
    return replace(shown(frame, decimals), title=title)


def is_text(cells: Sequence[str]) -> bool:
    """Whether a column holds anything but figures, and is aligned to the left."""
    return not all(cell == EMPTY or FIGURE.fullmatch(cell) for cell in cells)


def columns_of(frame: pd.DataFrame, decimals: int) -> Iterator[tuple[int, list[str]]]:
    """The columns with something in them, intervals behind their numbers: index in the frame, and cells.

    decimals: of numbers, at most (see `shown`).
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
    line = text(round(cell, decimals) if isinstance(cell, float) else cell)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]} … ({len(line) - LONGEST:,} more characters)"


def _numbers(columns: pd.DataFrame, decimals: int) -> list[str]:
    """Numbers, with their intervals where there are three columns, all with as many decimals as one of them needs."""
    rounded = columns.round(decimals)
    needed = next(n for n in range(decimals + 1) if n == decimals or rounded.round(n).equals(rounded))
    least = 10.0**-decimals

    def number(value: float) -> str:
        return f"<{least:.{decimals}f}" if 0 < value < least / 2 else f"{value:z.{needed}f}"

    lines = columns.astype(float).to_numpy().tolist()
    cells = [EMPTY if math.isnan(value) else number(value) for value, *_ in lines]
    known = [len(line) == 3 and not any(map(math.isnan, line)) for line in lines]
    ends = [f" [{number(line[1])}, {number(line[2])}]" if has else "" for line, has in zip(lines, known, strict=True)]
    return [cell + end for cell, end in zip(cells, ends, strict=True)]


def _page(names: pd.Index, rows: Sequence[Sequence[str]], left: list[bool], marked: list[bool]) -> str:
    """Rows as an HTML table, by pandas' Styler and a template of ours."""
    import pandas as pd

    cells = [[*map(_escaped, row)] for row in rows]
    for row, mark in zip(cells, marked, strict=True):
        row[0] = f"<b>{row[0]}</b>" if mark else row[0]
    made = pd.DataFrame(cells, columns=range(len(names)))
    for index, name in enumerate(names):
        if name == "evidence":
            made[index] = made[index].map("<code>{}</code>".format)
    made.columns = names.map(lambda name: tuple(map(_escaped, name)) if isinstance(name, tuple) else _escaped(name))
    wide = [any(len(row[index]) > WIDE for row in rows) for index in range(len(names))]
    styler = _styler()(made, uuid="").hide(axis="index")
    many = len(names) >= MANY
    return styler.to_html(exclude_styles=True, left=left, wide=wide, marked=marked, tint=TINT, many=many)


def _escaped(cell: Hashable) -> str:
    """One cell as HTML. A line may break within a long word and before an interval, not within that or a range."""
    broken = LONG_WORD.sub("\\g<0>\u200b", BREAK.sub("\u200b", visible(str(cell))))
    unbroken = INTERVAL.sub(" <small>[\\1,\u00a0\\2]</small>", html.escape(broken, quote=False))
    return RANGE.sub("\u2060–\u2060", unbroken).replace("\u200b", "<wbr>").replace("\n", "<br>")


def _columns(rows: Sequence[Sequence[str]], left: Sequence[bool], marks: Sequence[str]) -> str:
    """Rows for a terminal, each behind its mark."""
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
