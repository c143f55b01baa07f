"""Expected figures: the numbers that a reproduction should show, and whether they came out.

A notebook reports a number, `notebooks/expected.yaml` says what it should be, and the runner compares the two.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from lab.machine import progress
from lab.machine.files import write_atomically
from lab.machine.paths import shown
from lab.machine.reading import damaged, read_json, read_yaml, typed
from lab.machine.spelling import hint
from lab.notebooks.documents import FOLDER, committed, name_of, read
from lab.notebooks.parameters import declared
from lab.results import display
from lab.results.figures import COMMITTED, folder, path_of

if TYPE_CHECKING:
    import pandas as pd

EXPECTATIONS = FOLDER / "expected.yaml"
DATA = ("official", "made")
COLUMNS = ["expected", "came out", "", "reason"]
SAME_NUMBERS = ("data", "workers", "cluster")  # parameters that may change without a figure being another

Value = float | int | str | bool


class Expectation(NamedTuple):
    """One line of expected.yaml. data: which data the value holds for. tolerance: absolute, for numbers."""

    notebook: str
    figure: str
    data: str
    value: Value
    tolerance: float = 0.0


class Reported(NamedTuple):
    """What a notebook's last run reported.

    n: how many tasks its main numbers rest on. changed: its parameters that were not at their defaults ("limit=2").
    values: by figure; None where this data cannot give it.
    """

    data: str
    n: int
    changed: tuple[str, ...]
    values: Mapping[str, Value | None]

    def __str__(self) -> str:
        return f"{self.data} data, n = {self.n:,}"


class FigureVerdict(NamedTuple):
    """A line of the closing table.

    state: OK, OFF, MISSING, SKIPPED, UNLISTED for what expected.yaml says nothing of, or NOTE where it need not.
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
    """What came out in a notebook, held against what was expected: the notebook's last cell.

        report = expected.Report("1_sdp/table2", run.setup.data, len(run.tasks))
        report("final pass rate", 99.17)
        report.table()

    It is kept in `results/<notebook>.json` among the figures, from where the runner reads it.
    """

    def __init__(self, notebook: str, data: str, n: int) -> None:
        """notebook: its name, such as "1_sdp/table2". data: "official" or "made". n: tasks of the main numbers.

        Raises ValueError for another word for the data.
        """
        if data not in DATA:
            raise ValueError(f"data={data!r} of the report of {notebook}; choose one of {', '.join(DATA)}")
        self.notebook = notebook
        self.reported = Reported(data, int(n), tuple(_changed(notebook)), {})
        self._keep()

    def __call__(self, figure: str, value: Value | None) -> None:
        """Report one figure; None if this data cannot give it. Raises ValueError for a NaN."""
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(
                f"figure {figure!r} of {self.notebook} came out as {value}; report None if this data cannot give it"
            )
        plain = getattr(value, "item", lambda: value)()  # JSON cannot hold numpy's numbers
        self.reported = self.reported._replace(values={**self.reported.values, figure: plain})
        self._keep()

    def rows(self, frame: pd.DataFrame, figure: str, column: str, decimals: int = 2) -> None:
        """Report a column of a table, a figure a row. figure: its name, with columns in braces ("b = {budget}")."""
        for row in frame.to_dict("records"):
            self(figure.format(**row), round(row[column], decimals))

    def table(self) -> display.Shown:
        """Expected, came out, OK, OFF or SKIPPED and why, a row a figure; also says where figures and tables are."""
        import pandas as pd

        progress.say(self.where(), passing=True)
        verdicts = judge(expectations(), {self.notebook: self.reported})
        return display.shown(pd.DataFrame([verdict[1:] for verdict in verdicts], columns=["figure", *COLUMNS]))

    def where(self) -> str:
        """Where this run's figures are, on which data and n, and what the committed ones are of."""
        line = f"figures and tables: {shown(folder())} ({self.reported})"
        there = reported(self.notebook, COMMITTED)
        if folder() == COMMITTED or there is None:
            return line
        return f"{line}; those in {shown(COMMITTED)}/ stay as they are ({there})"

    def _keep(self) -> None:
        text = json.dumps(self.reported._asdict(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        write_atomically(path_of(f"results/{self.notebook}", ".json"), text.encode("utf-8"))


def reported(notebook: str, figures: Path | None = None) -> Reported | None:
    """What a notebook's last run reported; None if it did not. figures: where, by default where it would now.

    Raises DamagedFile.
    """
    path = (figures or folder()) / "results" / f"{notebook}.json"
    return read_json(path, Reported) if os.path.lexists(path) else None


def forget(notebooks: Iterable[str], figures: Path | None = None) -> None:
    """Remove what earlier runs reported, so that a figure no longer reported is found missing."""
    for notebook in notebooks:
        ((figures or folder()) / "results" / f"{notebook}.json").unlink(missing_ok=True)


def expectations(path: Path = EXPECTATIONS) -> list[Expectation]:
    """Read expected.yaml. Raises DamagedFile, naming the entry, where it could not tell whether a number came out.

    So it does without the file, without an entry, and for a notebook that is not beside it.
    """
    entries = [_expectation(entry, number, path) for number, entry in enumerate(read_yaml(path), start=1)]
    known = Counter(entry[:3] for entry in entries)
    if twice := [", ".join(stated) for stated, times in known.items() if times > 1]:
        raise damaged(path, f"it states twice: {'; '.join(twice)}", "Delete one of them")
    return entries


def judge(
    entries: Sequence[Expectation], results: Mapping[str, Reported | None], failed: Collection[str] = ()
) -> list[FigureVerdict]:
    """Hold what came out against what was expected, for the notebooks that ran; with changed parameters all is SKIPPED.

    A committed notebook without an entry is UNLISTED, and so is each value that it reports and none states.
    results: notebook name -> what it reported. failed: names of those that failed.
    """
    # Most figures are stated twice, for official and for made data: only the line for the data that ran is judged.
    stated = {entry[:3] for entry in entries}
    verdicts = []
    for entry in (entry for entry in entries if entry.notebook in results):
        came = results[entry.notebook]
        if came is None or came.data == entry.data or (*entry[:2], came.data) not in stated:
            verdicts.append(_verdict(entry, came, entry.notebook in failed))
    known, ours = {entry[:2] for entry in entries}, {name_of(path) for path in committed()}
    for notebook, came in results.items():
        # Nothing may pass for want of an entry; a reader's own notebook, or other parameters, need none.
        judged = notebook in ours and not (came and came.changed)
        state, why = ("UNLISTED", "state it in expected.yaml") if judged else ("NOTE", "not in expected.yaml")
        if judged and notebook not in {entry.notebook for entry in entries}:
            verdicts.append(FigureVerdict(notebook, "any", "", "", state, "expected.yaml has no line of this notebook"))
        if came is None:
            continue
        for figure, value in came.values.items():
            unstated = judged and value is not None and (notebook, figure, came.data) not in stated
            if unstated or (notebook, figure) not in known:
                verdicts.append(FigureVerdict(notebook, figure, "", str(value), state, why))
    return verdicts


def _expectation(entry: Any, number: int, path: Path) -> Expectation:
    fields = f"give {', '.join(Expectation._fields)} (tolerance may be left out)"
    try:
        expectation = typed(entry, Expectation)
        if not (path.parent / f"{expectation.notebook}.ipynb").is_file():
            near = hint(expectation.notebook, [name_of(path) for path in committed()])
            raise ValueError(f"there is no notebook {expectation.notebook!r}{near}")
        if expectation.data not in DATA:
            raise ValueError(f"data has to be one of {', '.join(DATA)}")
        value, tolerance = expectation.value, expectation.tolerance
        if _is_number(value) and not math.isfinite(value):
            raise ValueError("the value has to be a finite number")
        if (
            isinstance(entry.get("tolerance"), bool)
            or not 0 <= tolerance < math.inf
            or (tolerance and not _is_number(value))
        ):
            raise ValueError("the tolerance has to be a finite number of at least 0, beside a value that is a number")
    except (ValueError, OverflowError) as error:
        raise damaged(path, f"entry {number}, {entry!r}: {error}", f"Mend the entry: {fields}") from None
    return expectation


def _changed(notebook: str) -> Iterator[str]:
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
    if came and came.data != entry.data:  # of which the other data's run may have no row
        return "SKIPPED", f"needs {entry.data} data"
    if came is None or entry.figure not in came.values:
        return "MISSING", "the notebook failed" if failed else "the notebook did not report it"
    value = came.values[entry.figure]
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
