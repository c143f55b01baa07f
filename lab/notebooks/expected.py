"""Regression numbers: the accepted numbers of each notebook, and the check whether a run reports the same.

`python -m lab expect` writes `notebooks/expected.yaml` from a run; it is never edited by hand. Comparisons with the
papers are claims (lab/results/claims.py).
"""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from lab.machine import progress
from lab.machine.files import write_atomically
from lab.machine.paths import shown
from lab.machine.printing import aligned, hint
from lab.machine.reading import damaged, read_text, typed
from lab.notebooks.documents import FOLDER, NotebookError, committed, name_of, read
from lab.notebooks.parameters import declared
from lab.results import display
from lab.results.stored import COMMITTED, Reported, Value, figures_folder, path_of, reported, write_scores
from lab.runs.experiment import score_lines
from lab.runs.study_results import answers

if TYPE_CHECKING:
    import pandas as pd

    from lab.runs.experiment import Results

EXPECTATIONS = FOLDER / "expected.yaml"
DATA = ("official", "synthetic")
UNSTATED = "published"  # data of others that we do not have: numbers on it are reported, but none is expected
COLUMNS = ["expected", "came out", "", "reason"]
COMMAND = "python -m lab expect"
REMEDY = f"Restore it: git checkout -- notebooks/expected.yaml; or write it: {COMMAND}"
HEADER = f"# Regression numbers, written by `{COMMAND}`; do not edit. [value, tolerance] or an exact value.\n"
SAME_NUMBERS = ("data", "workers", "cluster")  # parameters that change no expected number

FAILED = "the notebook failed"
WIDTH, MOST_LINES = 110, 12  # of a notebook's sentences in a terminal
INDENTED: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "    ", "break_on_hyphens": False}
NEAR, NEAR_ONE = 0.01, 0.001  # tolerances of new floats: with absolute values of at least 1, and below


class Expectation(NamedTuple):
    """A number in expected.yaml. data: the data that it is for. tolerance: absolute, for numbers."""

    notebook: str
    figure: str
    data: str
    value: Value
    tolerance: float = 0.0


class FigureVerdict(NamedTuple):
    """A line of the final table.

    state: OK, OFF, MISSING, SKIPPED, UNLISTED if expected.yaml lacks the figure, or NOTE if it may lack it.
    """

    notebook: str
    figure: str
    expected: str
    came_out: str
    state: str
    reason: str

    @property
    def bad(self) -> bool:
        return self.state in ("OFF", "MISSING", "UNLISTED")


class Report:
    """Reports a notebook's numbers and compares them with the expected ones, in the notebook's last cell.

        report = expected.Report("1_sdp/table2", run.setup.data, len(run.tasks))
        report("final pass rate", 99.17)
        report.scores(run)
        report.table()

    Stored in `results/<notebook>.json` and `.scores.csv` in the folder of figures (lab/results/stored.py).
    """

    def __init__(self, notebook: str, data: str, n: int) -> None:
        """notebook: its name, such as "1_sdp/table2". data: one of DATA, or UNSTATED. n: tasks of the main numbers.

        Raises ValueError for other data.
        """
        self.notebook = notebook
        self.reported = Reported(_known(data, notebook), int(n), tuple(changed(notebook)), {}, {})
        self._scores: list[pd.DataFrame] = []
        self._said: list[str] = []
        self._keep()
        write_scores(notebook, [])

    def __call__(self, figure: str, value: Value | None, data: str = "") -> None:
        """Report a figure; None if this data does not give it. data: of this figure, if it differs from the notebook's.

        Raises ValueError for a NaN or an infinite value.
        """
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(
                f"figure {figure!r} of {self.notebook} came out as {value}; report None if this data cannot give it"
            )
        plain = getattr(value, "item", lambda: value)()  # JSON cannot represent numpy's numbers
        other_data = dict(self.reported.other_data)
        if data and data != self.reported.data:
            other_data[figure] = _known(data, self.notebook)
        values = {**self.reported.values, figure: plain}
        self.reported = self.reported._replace(values=values, other_data=other_data)
        self._keep()

    def says(self, text: str) -> None:
        """Keep what a panel came to, a sentence a line, beside the sentences of studies (`Results.answer`)."""
        self._said += text.splitlines()

    def scores(self, results: Results[Any], benchmark: str = "", condition: str = "", role: str = "") -> None:
        """Store the per-task scores of a run, for claims (`lab.runs.experiment.score_lines`)."""
        self._scores.append(score_lines(results, benchmark, condition, role))
        write_scores(self.notebook, self._scores)

    def rows(self, frame: pd.DataFrame, figure: str, column: str, decimals: int = 2, data: str = "") -> None:
        """Report a column of a table, one figure per row.

        figure: template of its name, with columns in braces ("b = {budget}"). data: of all rows; by default the value
        of the row's column "data", if there is one.
        """
        for row in frame.to_dict("records"):
            row_data = row.get("data", "")
            self(figure.format(**row), round(row[column], decimals), data or (row_data if row_data in DATA else ""))

    def table(self) -> display.Shown:
        """A row per figure: expected and reported value, state and reason. Collapsed under a line with the counts."""
        import pandas as pd

        self.reported = self.reported._replace(answers=(*self._said, *answers()))
        self._keep()
        progress.say(self.where(), passing=True)
        verdicts = judge(expectations(), {self.notebook: self.reported})
        rows = pd.DataFrame([verdict[1:] for verdict in verdicts], columns=["figure", *COLUMNS])
        return display.folded(summary(verdicts), rows)

    def where(self) -> str:
        """Text on the folder of this run's figures, its data and n, and those of the committed figures."""
        line = f"figures and tables: {shown(figures_folder())} ({self.reported})"
        committed_report = reported(self.notebook, COMMITTED)
        if figures_folder() == COMMITTED or committed_report is None:
            return line
        return f"{line}; those in {shown(COMMITTED)}/ stay as they are ({committed_report})"

    def _keep(self) -> None:
        text = json.dumps(self.reported._asdict(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_atomically(path_of(f"results/{self.notebook}", ".json"), text.encode("utf-8"))


def expectations(path: Path = EXPECTATIONS) -> list[Expectation]:
    """Read expected.yaml. Raises DamagedFile, naming the entry, if it is invalid or empty."""
    from lab.machine.yaml12 import load

    try:
        notebooks = typed(load(read_text(path)), dict[str, dict[str, dict[str, Value | list[float]]]])
        entries = [
            _expectation(notebook, figure, data, stated, path)
            for notebook, by_data in notebooks.items()
            for data, figures in by_data.items()
            for figure, stated in figures.items()
        ]
    except (ValueError, OverflowError) as error:
        raise damaged(path, error, REMEDY) from None
    if not entries:
        raise damaged(path, "it states no number", REMEDY)
    return entries


def accept(notebooks: Iterable[str], figures: Path, path: Path = EXPECTATIONS) -> list[str]:
    """Write the numbers that notebooks reported into expected.yaml, replacing those of the same data.

    notebooks: names. figures: the folder of their reports. Existing tolerances are kept; a new float gets NEAR or
    NEAR_ONE. Returns a line per notebook on the changes. Raises NotebookError for a notebook that did not run there, or
    not with its defaults.
    """
    from lab.machine.yaml12 import dump

    entries = expectations(path) if path.exists() else []
    lines = []
    for notebook in notebooks:
        report = reported(notebook, figures)
        if report is None or report.changed:
            why = f"ran with {', '.join(report.changed)}" if report else "has reported nothing"
            raise NotebookError(f"{notebook} {why} in {shown(figures)}; run it with its defaults")
        tolerances = {entry.figure: entry.tolerance for entry in entries if entry.notebook == notebook}
        kept = [entry for entry in entries if entry.notebook != notebook or not _superseded(entry, report)]
        new = [
            Expectation(notebook, figure, report.data_of(figure), value, _tolerance(value, tolerances.get(figure)))
            for figure, value in report.values.items()
            if value is not None
        ]
        lines.append(f"{notebook}: {len(new)} numbers, {len(kept) + len(new) - len(entries):+d}")
        entries = kept + new
    document: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in sorted(entries, key=lambda entry: entry[:3]):
        content = [entry.value, entry.tolerance] if entry.tolerance else entry.value
        document.setdefault(entry.notebook, {}).setdefault(entry.data, {})[entry.figure] = content
    text = dump(document, sort_keys=True, width=200, default_flow_style=None)
    write_atomically(path, (HEADER + text).encode("utf-8"))
    return lines


def summary(verdicts: Sequence[FigureVerdict]) -> str:
    """ "17 of 18 numbers as expected, 1 OFF; 2 SKIPPED"."""
    states = Counter(verdict.state for verdict in verdicts)
    wrong = [f"{states[state]} {state}" for state in ("OFF", "MISSING", "UNLISTED") if states[state]]
    judged = len(verdicts) - states["SKIPPED"] - states["NOTE"]
    parts = [", ".join([f"{states['OK']} of {judged} numbers as expected", *wrong])] if judged else []
    parts += [f"{states[state]} {state}" for state in ("SKIPPED", "NOTE") if states[state]]
    return "; ".join(parts) or "no number is expected"


def _superseded(entry: Expectation, came: Reported) -> bool:
    """Whether a report replaces an entry: it has the figure for the same data, or reports on its data without it."""
    if entry.figure not in came.values:
        return entry.data in map(came.data_of, came.values)
    reported_here = came.values[entry.figure] is not None  # None: this data does not give it, so the entry stays
    return reported_here and entry.data == came.data_of(entry.figure)


def _tolerance(value: Value, stated: float | None) -> float:
    if not isinstance(value, float):
        return 0.0
    return stated or (NEAR if abs(value) >= 1 else NEAR_ONE)


def judge(
    entries: Sequence[Expectation], results: Mapping[str, Reported | None], failed: Collection[str] = ()
) -> list[FigureVerdict]:
    """Compare reported with expected numbers, for the notebooks that ran. With changed parameters all are SKIPPED.

    A committed notebook without entries is UNLISTED, and so is each of its reported values without an entry.
    results: notebook name -> its report, None without one. failed: names of failed notebooks.
    """
    # Many figures have entries for official and for synthetic data: only the entry for the data that ran is judged.
    stated = {entry[:3] for entry in entries}
    verdicts = []
    for entry in (entry for entry in entries if entry.notebook in results):
        report = results[entry.notebook]
        data = report.data_of(entry.figure) if report else ""
        if report is None or data == entry.data or (*entry[:2], data) not in stated:
            verdicts.append(_verdict(entry, report, entry.notebook in failed))
    listed, committed_names = {entry[:2] for entry in entries}, {name_of(path) for path in committed()}
    for notebook, report in results.items():
        # No number may pass because it has no entry; a user's own notebook, or other parameters, need none.
        judged = notebook in committed_names and not (report and (report.changed or report.data == UNSTATED))
        state, why = ("UNLISTED", f"accept it: {COMMAND} {notebook}") if judged else ("NOTE", "not in expected.yaml")
        if judged and notebook not in {entry.notebook for entry in entries}:
            verdicts.append(FigureVerdict(notebook, "any", "", "", state, "expected.yaml has none of this notebook"))
        if report is None:
            continue
        for figure, value in report.values.items():
            unstated = judged and value is not None and (notebook, figure, report.data_of(figure)) not in stated
            if unstated or (notebook, figure) not in listed:
                verdicts.append(FigureVerdict(notebook, figure, "", str(value), state, why))
    return verdicts


def folded(verdicts: Iterable[FigureVerdict]) -> list[FigureVerdict]:
    """The lines, where a notebook's SKIPPED ones of the same reason are merged, and those of a failed notebook."""
    lines: dict[tuple[str, ...], list[FigureVerdict]] = {}
    for index, verdict in enumerate(verdicts):
        mergeable = verdict.state == "SKIPPED" or verdict.reason == FAILED
        lines.setdefault((verdict.notebook, verdict.reason, "" if mergeable else str(index)), []).append(verdict)
    return [
        same[0] if len(same) == 1 else same[0]._replace(figure=f"{len(same)} numbers", expected="", came_out="")
        for same in lines.values()
    ]


def came_to(notebook: str, came: Reported) -> str:
    """A notebook's results as text: sentences of its runs, up to about MOST_LINES lines, or its reported numbers."""
    changed = f"; with {', '.join(came.changed)}" if came.changed else ""
    values = [(f"  {figure}", _shown(value)) for figure, value in came.values.items() if value is not None]
    head, lines = f"{notebook} ({came}{changed}):", list[str]()
    for index, answer in enumerate(came.answers):
        if len(lines) >= MOST_LINES:
            lines.append(f"  {len(came.answers) - index} more sentences: results/{notebook}.json among the figures")
            break
        lines += textwrap.wrap(answer, WIDTH, **INDENTED)
    return "\n".join([head, *(lines or ([aligned(values)] if values else []))])


def _expectation(notebook: str, figure: str, data: str, stated: Value | list[float], path: Path) -> Expectation:
    value, tolerance = stated if isinstance(stated, list) and len(stated) == 2 else (stated, 0.0)
    entry = f"{notebook}, {data}, {figure!r}"
    if isinstance(value, list):
        raise ValueError(f"{entry}: give a value, or [value, tolerance]")
    if not (path.parent / f"{notebook}.ipynb").is_file():
        alike = hint(notebook, [name_of(path) for path in committed()])
        raise ValueError(f"{entry}: there is no notebook {notebook!r}{alike}")
    _known(data, notebook)
    if _is_number(value) and not math.isfinite(value):
        raise ValueError(f"{entry}: the value has to be a finite number")
    if not 0 <= tolerance < math.inf or (tolerance and not _is_number(value)):
        raise ValueError(f"{entry}: the tolerance has to be a finite number of at least 0, of a value that is a number")
    return Expectation(notebook, figure, data, value, tolerance)


def _known(data: str, notebook: str) -> str:
    if data not in (*DATA, UNSTATED):
        raise ValueError(f"data={data!r} of {notebook}; choose one of {', '.join((*DATA, UNSTATED))}")
    return data


def changed(notebook: str) -> Iterator[str]:
    """Yield "name=value" for parameters whose values in the running kernel differ from the committed defaults.

    It does not matter who changed them: the runner, papermill or the user. SAME_NUMBERS are ignored.
    """
    shell = progress.shell()
    path = FOLDER / f"{notebook}.ipynb"
    if shell is None or not path.exists():
        return
    for name, parameter in declared(read(path), notebook).items():
        value = shell.user_ns.get(name, parameter.default)
        if name not in SAME_NUMBERS and value != parameter.default:
            yield f"{name}={value!r}"


def _verdict(entry: Expectation, came: Reported | None, failed: bool) -> FigureVerdict:
    value = came.values.get(entry.figure) if came else None
    state, reason = _state(entry, came, failed)
    text = _shown(entry.value) + (f" ± {_shown(entry.tolerance)}" if entry.tolerance else "")
    return FigureVerdict(entry.notebook, entry.figure, text, "" if value is None else _shown(value), state, reason)


def _state(entry: Expectation, came: Reported | None, failed: bool) -> tuple[str, str]:
    if came and came.changed:
        return "SKIPPED", f"with {', '.join(came.changed)}"
    if came and came.data_of(entry.figure) != entry.data:  # a run on other data may lack the figure
        return "SKIPPED", f"needs {entry.data} data"
    if came is None or entry.figure not in came.values:
        return "MISSING", FAILED if failed else "the notebook did not report it"
    value = came.values[entry.figure]
    if value is None and entry.data != came.data:
        return "SKIPPED", f"needs {entry.data} data"
    if _agree(entry, value):
        return "OK", ""
    return "OFF", "" if value is not None else "reported without a value"


def _agree(entry: Expectation, value: Value | None) -> bool:
    accepted = entry.value
    if not _is_number(accepted) or not _is_number(value):
        return accepted == value
    # Allow for rounding, so that a value exactly at the tolerance agrees.
    return abs(value - accepted) <= entry.tolerance + 1e-9 * max(1.0, abs(accepted))


def _is_number(value: Value | None) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)  # True is an int in Python


def _shown(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
