"""Results tables: numbers with intervals and evidence, published ones next to measured ones."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.faults import MissingData
from lab.machine.files import write_atomically
from lab.machine.paths import published_data
from lab.machine.reading import damaged, read_table
from lab.results import display, exports
from lab.results.display import ANSWERS, SOURCE, THIS_RUN
from lab.results.display import folded as folded
from lab.results.display import shown as shown  # a cell ends with tables.shown(frame, decimals=3)
from lab.results.exports import EMPTY
from lab.results.latex import latex
from lab.results.stored import path_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from lab.results.outcomes import Outcomes

# failed, not_measured: numbers of episodes (see lab/results/outcomes.py); n includes the failed ones.
# bound_low, bound_high: the value if all episodes that were not measured had the lowest, or the highest score.
OUTCOMES = ["failed", "not_measured", "bound_low", "bound_high"]
COLUMNS = ["method", "backbone", "metric", "value", "ci_low", "ci_high", "n", *OUTCOMES, "evidence", "source"]
NUMBERS = ["value", "ci_low", "ci_high", "n", *OUTCOMES]
COUNTS = {"n": "n", "failed": "failed", "not measured": "not_measured"}  # displayed name -> column
NOTE = "note"  # an extra column: a caveat on the value in two or three words
COUNTED = ["backbone", "evidence", *COUNTS]
# How a model's answers were read, in percent: column -> field of `lab.results.outcomes.Readings`.
SHARES = {f"{name} %": name for name in ("malformed", "truncated", "repaired")}
PUBLISHED = ["table", "row_method", "backbone", "metric", "value", "source"]
EVIDENCE = ("published", "measured", "simulated")
WITH_WORLD = ", exact world model"  # suffix of a label: the method looks ahead in the world itself, as no agent could

Row = dict[str, Any]


def row(
    method: str, backbone: str, metric: str, value: float | None, *, evidence: str, source: str, n: int | None = None,
    interval: tuple[float, float] | None = None, outcomes: Outcomes | None = None,
    bounds: tuple[float, float] | None = None,
) -> Row:  # fmt: skip
    """A validated row of a results table; value, interval and bounds are in the metric's own unit.

    outcomes: of the episodes behind the number; if a model was asked, three more columns state in percent how its
    answers were read.

    Raises ValueError for an unknown evidence word, and for a number of ours without backbone, n or value.
    """
    if evidence not in EVIDENCE:
        raise ValueError(f"evidence {evidence!r} of {method}, {metric}; choose one of {', '.join(EVIDENCE)}")
    if evidence != "published":
        missing = [
            name for name, given in (("backbone", backbone), ("n", n), ("value", value is not None)) if not given
        ]
        if missing:
            raise ValueError(
                f"{evidence} row {method}, {metric} lacks {' and '.join(missing)}; name what ran and how often"
            )
    counts = (outcomes.failed, outcomes.not_measured) if outcomes else (None, None)
    numbers = (value, *(interval or (None, None)), n, *counts, *(bounds or (None, None)))
    cells = dict(zip(COLUMNS, (method, backbone, metric, *numbers, evidence, source), strict=True))
    shares = outcomes.readings._asdict() if outcomes and outcomes.readings else {}
    return cells | {column: shares[name] for column, name in SHARES.items() if shares}


def rate_row(
    method: str, backbone: str, metric: str, passes: int, n: int, evidence: str = "measured", source: str = "this run",
    outcomes: Outcomes | None = None,
) -> Row:  # fmt: skip
    """A row with a rate in percent, its 95 % Wilson interval, and bounds if episodes were not measured."""
    from lab.results.statistics import wilson

    rate = wilson(passes, n)
    interval = (100 * rate.low, 100 * rate.high)
    bounds = outcomes.bounds(100 * passes, n, 100) if outcomes else None
    options: dict[str, Any] = {"evidence": evidence, "source": source, "n": n, "interval": interval}
    return row(method, backbone, metric, 100 * rate.value, **options, outcomes=outcomes, bounds=bounds)


def mean_row(
    method: str, backbone: str, metric: str, values: Sequence[float] | np.ndarray, evidence: str = "measured",
    source: str = "this run", outcomes: Outcomes | None = None, top: float | None = None,
) -> Row:  # fmt: skip
    """A row with the mean of per-task scores, shape (n,), in their unit, and its 95 % bootstrap interval.

    top: the highest possible score, if there is one; needed for the bounds, which use 0 as the lowest.
    """
    from lab.results.statistics import bootstrap_mean

    mean = bootstrap_mean(values)
    bounds = outcomes.bounds(float(sum(values)), len(values), top) if outcomes and top is not None else None
    options: dict[str, Any] = {"evidence": evidence, "source": source, "n": len(values), "outcomes": outcomes}
    return row(method, backbone, metric, mean.value, **options, interval=(mean.low, mean.high), bounds=bounds)


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """A results table of rows: the columns of COLUMNS and extra ones; numbers as floats, empty cells as NaN."""
    import pandas as pd

    rows = list(rows)
    extra = [name for name in dict.fromkeys(name for cells in rows for name in cells) if name not in COLUMNS]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *extra])
    # Counts are floats, too: published rows have no n, and numpy has no NaN for integers.
    frame[NUMBERS] = frame[NUMBERS].astype(float)
    return frame


def published(name: str, paper: str | None = None) -> pd.DataFrame:
    """The rows that the papers report under table `name`, with evidence "published".

    A cell that no source reports has an empty value. An extra column `text` has the source's text if it is no plain
    number ("12-18", "~40%", "25%"); for a percentage `value` has the number, too. A rate in percent has a Wilson
    interval if the file states n in a column `n`.
    paper: the file to read (`<paper>_tables.csv`); needed only if two files have a table of that name.
    Raises MissingData if there are no files, and DamagedFile for an unreadable one.
    Raises ValueError for an unknown table, or one that is in two files.
    """
    files = {stem: lines[lines["table"] == name] for stem, lines in _published_files(paper).items()}
    having = {stem: lines for stem, lines in files.items() if len(lines)}
    if len(having) > 1:
        raise ValueError(f"table {name!r} is in {', '.join(sorted(having))}; say which with paper=")
    if not having:
        known = sorted({table for lines in _published_files(paper).values() for table in lines["table"]})
        raise ValueError(f"no published table {name!r}; there are: {'; '.join(known)}")
    (lines,) = having.values()
    return table(map(_published_row, lines.to_dict("records")))


def published_cells(paper: str) -> pd.DataFrame:
    """All cells of a paper's file, with the name of their table in the column `table`. Raises as `published` does."""
    import pandas as pd

    lines = pd.concat(_published_files(paper).values(), ignore_index=True)
    return table(map(_published_row, lines.to_dict("records"))).assign(table=lines["table"])


def side_by_side(results: pd.DataFrame, metrics: Sequence[str] = (), decimals: int = 1) -> pd.DataFrame:
    """Results for display: a row per method, backbone and evidence, a text column `value [low, high]` per metric.

    metrics: all of them by default, in their first-seen order.
    Methods keep their first-seen order; a method's published rows come before its measured and simulated ones. The
    index, "source", names the origin of a row. An empty cell is an en dash. n is a range if a row's metrics have
    different numbers of tasks. If episodes were not measured, the bounds of the value follow it. If a model was asked,
    a column has the shares of malformed, truncated and repaired answers.
    """
    import pandas as pd

    metrics = metrics or [*dict.fromkeys(results["metric"])]
    selected = results[results["metric"].isin(metrics)]
    methods = {name: index for index, name in enumerate(dict.fromkeys(selected["method"]))}
    # dropna=False keeps published rows, which often have no backbone.
    groups = selected.groupby(["method", "backbone", "evidence"], sort=False, dropna=False)
    ordered = sorted(groups, key=lambda group: (methods[group[0][0]], EVIDENCE.index(group[0][2])))
    rows = [_display_row(key, cells, metrics, decimals) for key, cells in ordered]
    answers = [ANSWERS] if any(ANSWERS in row for row in rows) else []
    frame = pd.DataFrame(rows, columns=[SOURCE, "method", *COUNTED, *answers, *metrics])
    return frame.fillna({ANSWERS: EMPTY}).set_index(SOURCE)


def write(
    rows: pd.DataFrame, stem: str, reading: pd.DataFrame | None = None, caption: str = "", decimals: int = 3
) -> list[Path]:
    """Write a table as data and for display; each file is written atomically, without the index. Returns the paths.

    rows: one row per value, in full precision, for `figures/<stem>.csv` and `.parquet`; empty cells stay empty.
    Parquet is never committed (lab/notebooks/commands.py): its bytes change with the library's version.
    reading: the layout for `.md` and `.tex`; by default a results table has its metrics side by side, and any other
    table is written as it is. caption: of the LaTeX table, without the final dot; by default made from the stem.
    decimals: maximal decimals in `.md` and `.tex`. Raises ValueError for a stem that leads out of the folder.
    """
    import pandas as pd

    if reading is None:
        reading = side_by_side(rows) if {*COLUMNS} <= {*rows} else rows
    columns = dict(display.columns_of(reading, decimals))
    texts = pd.DataFrame(columns).set_axis(reading.columns[[*columns]], axis=1)
    left = [reading.dtypes.iloc[index].kind not in "iuf" for index in columns]
    words = re.sub(r"(?<=[a-z])(?=\d)", " ", stem.rpartition("/")[2].replace("_", " ")).capitalize()
    contents = {
        ".md": exports.markdown(texts, left).encode(),
        ".csv": exports.csv(rows).encode(),
        ".parquet": exports.parquet(rows),
        ".tex": latex(reading, caption or words, stem, decimals).encode(),
    }
    for suffix, content in contents.items():
        write_atomically(path_of(stem, suffix), content)
    return [path_of(stem, suffix) for suffix in contents]


def telling(rows: pd.DataFrame, n: str = "n") -> pd.DataFrame:
    """The rows without those from a single task, which say nothing; all rows if there are no others of ours.

    n: the column with the number of tasks.
    """
    several = rows[rows[n] != 1]
    return several if (several["evidence"] != "published").any() else rows


def spread(cells: Iterable[Row], keys: Sequence[str]) -> pd.DataFrame:
    """Pivot displayed cells to one row for each combination of `keys`; the index is "source", as in `side_by_side`.

    cells: dicts with the keys, a source (see `counted`), and name -> value. An empty cell is an en dash.
    """
    import pandas as pd

    rows = pd.DataFrame(cells).groupby([*keys], sort=False).first().fillna(EMPTY)
    return rows.reset_index().set_index(SOURCE)


def _published_files(paper: str | None) -> dict[str, pd.DataFrame]:
    """Paper -> lines of its file. Raises MissingData if there are no files."""
    files = sorted(published_data().glob(f"{paper or '*'}_tables.csv"))
    if not files:
        raise MissingData(
            f"no {paper or '*'}_tables.csv in {published_data()}. The file comes with the repository: "
            "restore it with git, or name another paper"
        )
    return {path.stem.removesuffix("_tables"): _published_lines(path) for path in files}


def _published_lines(path: Path) -> pd.DataFrame:
    """The lines of a file of published numbers, every cell as text. Raises DamagedFile naming the line."""
    lines = read_table(path, PUBLISHED, text=True)
    fields = len(lines.columns)
    lines = lines.assign(n=lines.get("n", ""))
    faults = {
        f"it should have {fields} fields": lines["source"].eq(""),
        "it states a cell a second time": lines.duplicated(PUBLISHED[:4]),
        "its value is no number that a paper reports": lines["value"].map(
            lambda value: not math.isfinite(_number(value) or 0.0)
        ),
        "its value is no rate in percent of its n": [
            line["n"] != "" and _passes(line) is None for line in lines.to_dict("records")
        ],
    }
    for fault, flags in faults.items():
        if any(flags):
            raise damaged(path, fault, line=list(flags).index(True) + 2)
    return lines


def _published_row(line: Mapping[str, str]) -> Row:
    text = line["value"].strip()
    number = _number(text)
    labels = (line["row_method"], line["backbone"], line["metric"])
    origin: dict[str, Any] = {"evidence": "published", "source": line["source"]}
    passes = _passes(line)
    cell = row(*labels, number, **origin) if passes is None else rate_row(*labels, passes, int(line["n"]), **origin)
    return {**cell, "value": number, "text": text if number is None or text.endswith("%") else ""}


def _passes(line: Mapping[str, str]) -> int | None:
    """The number of passes out of a line's n that rounds to its published rate; None without n or such a number."""
    value, n = _number(line["value"]), int(line["n"]) if line["n"].isdecimal() else 0
    if not n or value is None:
        return None
    passes, decimals = round(value * n / 100), len(line["value"].removesuffix("%").partition(".")[2])
    return passes if 0 <= passes <= n and round(100 * passes / n, decimals) == value else None


def _number(text: str) -> float | None:
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        return None


def _display_row(key: tuple[str, str, str], cells: pd.DataFrame, metrics: Sequence[str], decimals: int) -> Row:
    method, backbone, evidence = key
    cell_of: dict[str, Row] = {}
    for cell in cells.to_dict("records"):
        if cell["metric"] in cell_of:
            raise ValueError(f"two {evidence} values of {cell['metric']} for {method}, {backbone}; keep one of them")
        cell_of[cell["metric"]] = cell
    displayed = {metric: display_cell(cell_of.get(metric), decimals) for metric in metrics}
    columns = {"method": method, "backbone": backbone or EMPTY, "evidence": evidence}
    read = cells.dropna(subset=[*SHARES]) if {*SHARES} <= {*cells} else cells[:0]
    if len(read):
        columns[ANSWERS] = ", ".join(f"{read.iloc[0][column]:.1f} {name}" for column, name in SHARES.items())
    # If a row mixes stored values with values of this run, it counts as of this run.
    sources = sorted(map(str, cells[SOURCE]), key=lambda source: not source.startswith(THIS_RUN))
    return columns | {name: span(cells[key]) for name, key in COUNTS.items()} | displayed | {SOURCE: sources[0]}


def display_cell(cell: Mapping[str, Any] | None, decimals: int) -> str:
    """The text of a table's cell: a paper's words, or a number with its interval, or EMPTY."""
    if cell is None:
        return EMPTY
    if isinstance(cell.get("text"), str) and cell["text"]:
        return cell["text"]
    if math.isnan(cell["value"]):
        return EMPTY
    return with_interval(cell, decimals)


def with_interval(cell: Mapping[str, Any], decimals: int) -> str:
    """A row's value as `value [low, high]`, followed by its bounds and its note, if any."""
    value = f"{cell['value']:.{decimals}f}"
    if not math.isnan(cell["ci_low"]):
        value += f" [{cell['ci_low']:.{decimals}f}, {cell['ci_high']:.{decimals}f}]"
    if not math.isnan(cell["bound_low"]):
        value += f" (with all measured: {cell['bound_low']:.{decimals}f} to {cell['bound_high']:.{decimals}f})"
    # Not `in`: rows without a note have NaN in that column.
    return f"{value}, {cell[NOTE]}" if isinstance(cell.get(NOTE), str) and cell[NOTE] else value


def counted(cell: Mapping[str, Any]) -> dict[str, Any]:
    """The displayed cells next to a row's value: source, backbone, evidence, and counts of its episodes."""
    counts = {name: EMPTY if math.isnan(cell[key]) else int(cell[key]) for name, key in COUNTS.items()}
    return {name: cell[name] for name in (SOURCE, "backbone", "evidence")} | counts


def span(counts: pd.Series) -> str:
    """Counts for display: a number if all are equal, else their range; an en dash if there are none."""
    distinct = sorted({int(count) for count in counts.dropna()})
    if not distinct:
        return EMPTY
    return str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]}–{distinct[-1]}"
