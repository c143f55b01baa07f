"""Regression numbers: what each notebook reported when it was last accepted, and whether a run reports the same.

`notebooks/expected.yaml` is written by `python -m lab expect` from a run, and edited by nobody. It says nothing about
the papers: that is what claims are for (lab/results/claims.py).
"""

from __future__ import annotations

import json
import math
import sys
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
from lab.results.stored import COMMITTED, METHOD, Reported, Value, figures_folder, path_of, reported, write_scores
from lab.runs.experiment import score_lines
from lab.runs.study_results import answers

if TYPE_CHECKING:
    import pandas as pd

    from lab.runs.experiment import Results

EXPECTATIONS = FOLDER / "expected.yaml"
DATA = ("official", "synthetic")
UNSTATED = "published"  # data of others that is not at hand: numbers on it are reported, and none is expected
COLUMNS = ["expected", "came out", "", "reason"]
COMMAND = "python -m lab expect"
REMEDY = f"Restore it: git checkout -- notebooks/expected.yaml; or write it: {COMMAND}"
HEADER = f"# Regression numbers, written by `{COMMAND}`; do not edit. [value, tolerance] or an exact value.\n"
SAME_NUMBERS = ("data", "workers", "cluster")  # parameters that may change without a figure being another

FAILED = "the notebook failed"
WIDTH, MOST_LINES = 110, 12  # of sentences in a terminal
INDENTED: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "    ", "break_on_hyphens": False}
NEAR, NEAR_ONE = 0.01, 0.001  # tolerances of a new float, of at least 1 and below


class Expectation(NamedTuple):
    """One number of expected.yaml. data: which data the value holds for. tolerance: absolute, for numbers."""

    notebook: str
    figure: str
    data: str
    value: Value
    tolerance: float = 0.0


class FigureVerdict(NamedTuple):
    """A line of the closing table.

    state: OK, OFF, MISSING, SKIPPED, UNLISTED for what expected.yaml lacks, or NOTE where it need not have it.
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
    """What came out in a notebook, compared with what was expected: the notebook's last cell.

        report = expected.Report("1_sdp/table2", run.setup.data, len(run.tasks))
        report("final pass rate", 99.17)
        report.scores(run)
        report.table()

    It is kept in `results/<notebook>.json` and `.scores.csv` among the figures (lab/results/stored.py).
    """

    def __init__(self, notebook: str, data: str, n: int) -> None:
        """notebook: its name, such as "1_sdp/table2". data: one of DATA, or UNSTATED. n: tasks of the main numbers.

        Raises ValueError for another word for the data.
        """
        self.notebook = notebook
        self.reported = Reported(_known(data, notebook), int(n), tuple(changed(notebook)), {}, {})
        self._scores: list[pd.DataFrame] = []
        self._keep()
        write_scores(notebook, [])

    def __call__(self, figure: str, value: Value | None, data: str = "") -> None:
        """Report one figure; None if this data cannot give it. data: of this figure, where it is not the notebook's.

        Raises ValueError for a NaN.
        """
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(
                f"figure {figure!r} of {self.notebook} came out as {value}; report None if this data cannot give it"
            )
        plain = getattr(value, "item", lambda: value)()  # JSON cannot hold numpy's numbers
        other_data = dict(self.reported.other_data)
        if data and data != self.reported.data:
            other_data[figure] = _known(data, self.notebook)
        values = {**self.reported.values, figure: plain}
        self.reported = self.reported._replace(values=values, other_data=other_data)
        self._keep()

    def scores(self, results: Results[Any], benchmark: str = "", condition: str = "", role: str = METHOD) -> None:
        """Store the per-task scores of a run, on which claims can rest (`lab.results.stored.score_lines`)."""
        self._scores.append(score_lines(results, benchmark, condition, role))
        write_scores(self.notebook, self._scores)

    def rows(self, frame: pd.DataFrame, figure: str, column: str, decimals: int = 2, data: str = "") -> None:
        """Report a column of a table, a figure a row.

        figure: its name, with columns in braces ("b = {budget}"). data: of all rows; by default each row's own, where
        the table has a column of that name.
        """
        for row in frame.to_dict("records"):
            own = row.get("data", "")
            self(figure.format(**row), round(row[column], decimals), data or (own if own in DATA else ""))

    def table(self) -> display.Shown:
        """Expected, came out, OK, OFF or SKIPPED and why, a row a figure, folded under one line that counts them."""
        import pandas as pd

        self.reported = self.reported._replace(answers=answers())
        self._keep()
        progress.say(self.where(), passing=True)
        verdicts = judge(expectations(), {self.notebook: self.reported})
        rows = pd.DataFrame([verdict[1:] for verdict in verdicts], columns=["figure", *COLUMNS])
        return display.folded(summary(verdicts), rows)

    def where(self) -> str:
        """Where this run's figures are, on which data and n, and what the committed ones are of."""
        line = f"figures and tables: {shown(figures_folder())} ({self.reported})"
        there = reported(self.notebook, COMMITTED)
        if figures_folder() == COMMITTED or there is None:
            return line
        return f"{line}; those in {shown(COMMITTED)}/ stay as they are ({there})"

    def _keep(self) -> None:
        text = json.dumps(self.reported._asdict(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_atomically(path_of(f"results/{self.notebook}", ".json"), text.encode("utf-8"))


def expectations(path: Path = EXPECTATIONS) -> list[Expectation]:
    """Read expected.yaml. Raises DamagedFile, naming the entry, where it could not tell whether a number came out."""
    from lab.machine.yaml12 import load

    try:
        held = typed(load(read_text(path)), dict[str, dict[str, dict[str, Value | list[float]]]])
        entries = [
            _expectation(notebook, figure, data, stated, path)
            for notebook, by_data in held.items()
            for data, figures in by_data.items()
            for figure, stated in figures.items()
        ]
    except (ValueError, OverflowError) as error:
        raise damaged(path, error, REMEDY) from None
    if not entries:
        raise damaged(path, "it states no number", REMEDY)
    return entries


def accept(notebooks: Iterable[str], figures: Path, path: Path = EXPECTATIONS) -> list[str]:
    """Write into expected.yaml what notebooks reported, in place of what it has of the same data; what was done.

    notebooks: names. figures: the folder in which they reported. A tolerance that is stated stays; a new float has
    NEAR or NEAR_ONE. Raises NotebookError for one that did not run there, or not with its defaults.
    """
    from lab.machine.yaml12 import dump

    held = expectations(path) if path.exists() else []
    lines = []
    for notebook in notebooks:
        came = reported(notebook, figures)
        if came is None or came.changed:
            why = f"ran with {', '.join(came.changed)}" if came else "has reported nothing"
            raise NotebookError(f"{notebook} {why} in {shown(figures)}; run it with its defaults")
        tolerances = {entry.figure: entry.tolerance for entry in held if entry.notebook == notebook}
        stays = [entry for entry in held if entry.notebook != notebook or not _superseded(entry, came)]
        new = [
            Expectation(notebook, figure, came.data_of(figure), value, _tolerance(value, tolerances.get(figure)))
            for figure, value in came.values.items()
            if value is not None
        ]
        lines.append(f"{notebook}: {len(new)} numbers, {len(stays) + len(new) - len(held):+d}")
        held = stays + new
    whole: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in sorted(held, key=lambda entry: entry[:3]):
        stated = [entry.value, entry.tolerance] if entry.tolerance else entry.value
        whole.setdefault(entry.notebook, {}).setdefault(entry.data, {})[entry.figure] = stated
    text = dump(whole, sort_keys=True, width=200, default_flow_style=None)
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
    """Whether a run replaces a number: it reports the figure of the same data, or no such figure any more."""
    if entry.figure not in came.values:
        return True
    here = came.values[entry.figure] is not None  # else this data cannot give it, and the number stays
    return here and entry.data == came.data_of(entry.figure)


def _tolerance(value: Value, stated: float | None) -> float:
    if not isinstance(value, float):
        return 0.0
    return stated or (NEAR if abs(value) >= 1 else NEAR_ONE)


def judge(
    entries: Sequence[Expectation], results: Mapping[str, Reported | None], failed: Collection[str] = ()
) -> list[FigureVerdict]:
    """Hold what came out against what was expected, for the notebooks that ran; with changed parameters all is SKIPPED.

    A committed notebook without an entry is UNLISTED, and so is each value that it reports and none states.
    results: notebook name -> what it reported. failed: names of those that failed.
    """
    # Many figures are stated twice, for official and for synthetic data: only the line for the data that ran is judged.
    stated = {entry[:3] for entry in entries}
    verdicts = []
    for entry in (entry for entry in entries if entry.notebook in results):
        came = results[entry.notebook]
        data = came.data_of(entry.figure) if came else ""
        if came is None or data == entry.data or (*entry[:2], data) not in stated:
            verdicts.append(_verdict(entry, came, entry.notebook in failed))
    known, ours = {entry[:2] for entry in entries}, {name_of(path) for path in committed()}
    for notebook, came in results.items():
        # Nothing may pass for want of an entry; a reader's own notebook, or other parameters, need none.
        judged = notebook in ours and not (came and (came.changed or came.data == UNSTATED))
        state, why = ("UNLISTED", f"accept it: {COMMAND} {notebook}") if judged else ("NOTE", "not in expected.yaml")
        if judged and notebook not in {entry.notebook for entry in entries}:
            verdicts.append(FigureVerdict(notebook, "any", "", "", state, "expected.yaml has none of this notebook"))
        if came is None:
            continue
        for figure, value in came.values.items():
            unstated = judged and value is not None and (notebook, figure, came.data_of(figure)) not in stated
            if unstated or (notebook, figure) not in known:
                verdicts.append(FigureVerdict(notebook, figure, "", str(value), state, why))
    return verdicts


def folded(verdicts: Iterable[FigureVerdict]) -> list[FigureVerdict]:
    """The lines, with a notebook's that are SKIPPED for one reason as one, and those of a notebook that failed."""
    lines: dict[tuple[str, ...], list[FigureVerdict]] = {}
    for index, verdict in enumerate(verdicts):
        alike = verdict.state == "SKIPPED" or verdict.reason == FAILED
        lines.setdefault((verdict.notebook, verdict.reason, "" if alike else str(index)), []).append(verdict)
    return [
        same[0] if len(same) == 1 else same[0]._replace(figure=f"{len(same)} numbers", expected="", came_out="")
        for same in lines.values()
    ]


def came_to(notebook: str, came: Reported) -> str:
    """What a notebook came to: sentences of its runs, about MOST_LINES of them, or the numbers that it reported."""
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
        near = hint(notebook, [name_of(path) for path in committed()])
        raise ValueError(f"{entry}: there is no notebook {notebook!r}{near}")
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
    """The parameters that have other values in the running kernel than the committed notebook's defaults.

    Whoever changed them: the runner, papermill or the reader. Which data there is, and how many episodes run at a time,
    changes no number that is expected.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
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
    wanted = _shown(entry.value) + (f" ± {_shown(entry.tolerance)}" if entry.tolerance else "")
    return FigureVerdict(entry.notebook, entry.figure, wanted, "" if value is None else _shown(value), state, reason)


def _state(entry: Expectation, came: Reported | None, failed: bool) -> tuple[str, str]:
    if came and came.changed:
        return "SKIPPED", f"with {', '.join(came.changed)}"
    if came and came.data_of(entry.figure) != entry.data:  # of which the other data's run may have no row
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
    wanted = entry.value
    if not _is_number(wanted) or not _is_number(value):
        return wanted == value
    # A tolerance written in decimals should include the value just at its edge.
    return abs(value - wanted) <= entry.tolerance + 1e-9 * max(1.0, abs(wanted))


def _is_number(value: Value | None) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)  # True is an int in Python


def _shown(value: Value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
