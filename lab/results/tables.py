"""Results tables: numbers with their intervals and evidence, published beside measured."""

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

# failed, not_measured: of the episodes behind the number (see lab/results/outcomes.py); n counts the failed ones.
# bound_low, bound_high: the value if all that was not measured had scored lowest, and highest.
OUTCOMES = ["failed", "not_measured", "bound_low", "bound_high"]
COLUMNS = ["method", "backbone", "metric", "value", "ci_low", "ci_high", "n", *OUTCOMES, "evidence", "source"]
NUMBERS = ["value", "ci_low", "ci_high", "n", *OUTCOMES]
COUNTS = {"n": "n", "failed": "failed", "not measured": "not_measured"}  # for reading -> the column
NOTE = "note"  # an extra column: what a reader of the value must know, in two or three words
COUNTED = ["backbone", "evidence", *COUNTS]
# How a model's answers were read, in percent: the column -> of `lab.results.outcomes.Readings`.
SHARES = {f"{name} %": name for name in ("malformed", "truncated", "repaired")}
PUBLISHED = ["table", "row_method", "backbone", "metric", "value", "source"]
EVIDENCE = ("published", "measured", "simulated")
WITH_WORLD = ", exact world model"  # of a label: the method looks ahead in the world itself, as no agent could

Row = dict[str, Any]


def row(
    method: str, backbone: str, metric: str, value: float | None, *, evidence: str, source: str, n: int | None = None,
    interval: tuple[float, float] | None = None, outcomes: Outcomes | None = None,
    bounds: tuple[float, float] | None = None,
) -> Row:  # fmt: skip
    """One checked row of a results table; value, interval and bounds in the metric's own unit.

    outcomes: how the episodes behind the number came out; where a model was asked, three more columns say in percent
    how its answers were read.

    Raises ValueError for an unknown evidence word, and for a number made here without its backbone, n or value.
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
    """A rate in percent with its 95 % Wilson interval, and its bounds where episodes were not measured."""
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
    """The mean of per-task scores, shape (n,), in their unit, with its 95 % bootstrap interval.

    top: the highest score that there can be, if there is one; the bounds need it, and take 0 for the lowest.
    """
    from lab.results.statistics import bootstrap_mean

    mean = bootstrap_mean(values)
    bounds = outcomes.bounds(float(sum(values)), len(values), top) if outcomes and top is not None else None
    options: dict[str, Any] = {"evidence": evidence, "source": source, "n": len(values), "outcomes": outcomes}
    return row(method, backbone, metric, mean.value, **options, interval=(mean.low, mean.high), bounds=bounds)


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows to a results table: the columns of COLUMNS, numbers as floats, an empty cell as NaN."""
    import pandas as pd

    rows = list(rows)
    extra = [name for name in dict.fromkeys(name for cells in rows for name in cells) if name not in COLUMNS]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *extra])
    # Counts too: numpy has no empty integer, and published rows have no n.
    frame[NUMBERS] = frame[NUMBERS].astype(float)
    return frame


def published(name: str, paper: str | None = None) -> pd.DataFrame:
    """The rows that the papers report under table `name`; every row's evidence is "published".

    A cell that no source gives has an empty value. An extra column `text` holds the value as the source words it, for
    what is no plain number ("12-18", "~40%", "25%"); a percentage also has its number in `value`. A rate in percent
    whose file states its n in a column `n` has a Wilson interval.
    paper: the file to read (`<paper>_tables.csv`), needed only where two files have a table of that name.
    Raises MissingData without the files, DamagedFile for one that cannot be read, ValueError for a name that they do
    not have or that two of them share.
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
    """Every cell of a paper's file, with the name of its table in the column `table`. Raises as `published` does."""
    import pandas as pd

    lines = pd.concat(_published_files(paper).values(), ignore_index=True)
    return table(map(_published_row, lines.to_dict("records"))).assign(table=lines["table"])


def side_by_side(results: pd.DataFrame, metrics: Sequence[str], decimals: int = 1) -> pd.DataFrame:
    """Results for reading: a row per method, backbone and evidence, a text column `value [low, high]` per metric.

    Methods keep their first-seen order, a method's published rows before its measured and simulated ones. The index,
    "source", says where a row comes from. An empty cell is an en dash. n is a range where metrics of a row were taken
    over different numbers of tasks. Where episodes were not measured, what the value could be with them stands behind
    it. Where a model was asked, a column says which shares of its answers were malformed, truncated and repaired.
    """
    import pandas as pd

    wanted = results[results["metric"].isin(metrics)]
    methods = {name: index for index, name in enumerate(dict.fromkeys(wanted["method"]))}
    # dropna=False: published rows often name no backbone, and would vanish.
    groups = wanted.groupby(["method", "backbone", "evidence"], sort=False, dropna=False)
    ordered = sorted(groups, key=lambda group: (methods[group[0][0]], EVIDENCE.index(group[0][2])))
    rows = [_display_row(key, cells, metrics, decimals) for key, cells in ordered]
    read = [ANSWERS] if any(ANSWERS in row for row in rows) else []
    whole = pd.DataFrame(rows, columns=[SOURCE, "method", *COUNTED, *read, *metrics])
    return whole.fillna({ANSWERS: EMPTY}).set_index(SOURCE)


def write(
    rows: pd.DataFrame, stem: str, reading: pd.DataFrame | None = None, caption: str = "", decimals: int = 3
) -> list[Path]:
    """Write a table as data and for reading, each file whole or not at all; the index is not written.

    rows: a row a value, numbers as numbers: what `figures/<stem>.csv` and `.parquet` hold, in full, with empty cells
    empty. Parquet is never committed (lab/notebooks/commands.py): its bytes change with the library that wrote them.
    reading: what `.md` and `.tex` show, such as a layout; by default a results table with its metrics side by side,
    and of any other the rows themselves. caption: of the LaTeX table, without its dot; by default the stem's words.
    decimals: of numbers in `.md` and `.tex`, at most. Raises ValueError for a stem that leads out of the folder.
    """
    import pandas as pd

    if reading is None:
        reading = side_by_side(rows, list(dict.fromkeys(rows["metric"]))) if {*COLUMNS} <= {*rows} else rows
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


def spread(cells: Iterable[Row], keys: Sequence[str]) -> pd.DataFrame:
    """Cells for reading as rows, one for each value of `keys`; its index is "source", as that of `side_by_side`.

    cells: each with its keys, its source (see `counted`) and a value by name. An empty cell is an en dash.
    """
    import pandas as pd

    rows = pd.DataFrame(cells).groupby([*keys], sort=False).first().fillna(EMPTY)
    return rows.reset_index().set_index(SOURCE)


def _published_files(paper: str | None) -> dict[str, pd.DataFrame]:
    """Paper -> the lines of its file."""
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
    for fault, wrong in faults.items():
        if any(wrong):
            raise damaged(path, fault, line=list(wrong).index(True) + 2)
    return lines


def _published_row(line: Mapping[str, str]) -> Row:
    text = line["value"].strip()
    number = _number(text)
    about = (line["row_method"], line["backbone"], line["metric"])
    origin: dict[str, Any] = {"evidence": "published", "source": line["source"]}
    passes = _passes(line)
    cell = row(*about, number, **origin) if passes is None else rate_row(*about, passes, int(line["n"]), **origin)
    return {**cell, "value": number, "text": text if number is None or text.endswith("%") else ""}


def _passes(line: Mapping[str, str]) -> int | None:
    """How many of a line's n a published rate counts; None where no n is stated, or where no count rounds to it."""
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
    of_metric: dict[str, Row] = {}
    for cell in cells.to_dict("records"):
        if cell["metric"] in of_metric:
            raise ValueError(f"two {evidence} values of {cell['metric']} for {method}, {backbone}; keep one of them")
        of_metric[cell["metric"]] = cell
    shown = {metric: _display_cell(of_metric.get(metric), decimals) for metric in metrics}
    cells_before = {"method": method, "backbone": backbone or EMPTY, "evidence": evidence}
    known = cells.dropna(subset=[*SHARES]) if {*SHARES} <= {*cells} else cells[:0]
    if len(known):
        cells_before[ANSWERS] = ", ".join(f"{known.iloc[0][column]:.1f} {name}" for column, name in SHARES.items())
    # Where some values were kept and others made here, the row is of this run.
    sources = sorted(map(str, cells[SOURCE]), key=lambda source: not source.startswith(THIS_RUN))
    return cells_before | {name: span(cells[key]) for name, key in COUNTS.items()} | shown | {SOURCE: sources[0]}


def _display_cell(cell: Row | None, decimals: int) -> str:
    if cell is None:
        return EMPTY
    if isinstance(cell.get("text"), str) and cell["text"]:
        return cell["text"]
    if math.isnan(cell["value"]):
        return EMPTY
    return with_interval(cell, decimals)


def with_interval(cell: Mapping[str, Any], decimals: int) -> str:
    """A row's value as `value [low, high]`, with its bounds and its note behind it where it has some."""
    value = f"{cell['value']:.{decimals}f}"
    if not math.isnan(cell["ci_low"]):
        value += f" [{cell['ci_low']:.{decimals}f}, {cell['ci_high']:.{decimals}f}]"
    if not math.isnan(cell["bound_low"]):
        value += f" (with all measured: {cell['bound_low']:.{decimals}f} to {cell['bound_high']:.{decimals}f})"
    # Not `in`: of a row without one, the column's cell is NaN.
    return f"{value}, {cell[NOTE]}" if isinstance(cell.get(NOTE), str) and cell[NOTE] else value


def counted(cell: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside a row's value for reading: source, backbone, evidence, and the counts of its episodes."""
    counts = {name: EMPTY if math.isnan(cell[key]) else int(cell[key]) for name, key in COUNTS.items()}
    return {name: cell[name] for name in (SOURCE, "backbone", "evidence")} | counts


def span(counts: pd.Series) -> str:
    """Counts for reading: the one that they all are, else the range; an en dash where there are none."""
    known = sorted({int(count) for count in counts.dropna()})
    if not known:
        return EMPTY
    return str(known[0]) if len(known) == 1 else f"{known[0]}–{known[-1]}"
