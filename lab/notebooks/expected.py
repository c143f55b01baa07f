"""Expected figures: the numbers that a reproduction should show, and whether they came out.

A notebook reports a number, `notebooks/expected.yaml` says what it should be, and the runner compares the two.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from lab.machine.files import write_atomically
from lab.notebooks.documents import FOLDER
from lab.results.figures import folder, path_of

EXPECTATIONS = FOLDER / "expected.yaml"
DATA = ("official", "made", "any")

Value = float | int | str | bool


class Expectation(NamedTuple):
    """One line of expected.yaml. data: which data the value holds for. tolerance: absolute, for numbers."""

    notebook: str
    figure: str
    data: str
    value: Value
    tolerance: float = 0.0


class Reported(NamedTuple):
    """What a notebook said came out; None where its data cannot give the figure."""

    value: Value | None
    data: str


class FigureVerdict(NamedTuple):
    """A line of the closing table. state: OK, OFF, MISSING, SKIPPED, or NOTE for a figure that nobody expects."""

    notebook: str
    figure: str
    expected: str
    came_out: str
    state: str
    reason: str

    @property
    def bad(self) -> bool:
        return self.state in ("OFF", "MISSING")


def report(figure: str, value: Value | None, *, notebook: str, data: str) -> None:
    """Record in `figures/results/<notebook>.json` what came out for one figure; a later report of it takes its place.

    notebook: its name, such as "1_sdp/table2". data: "official", "made", or "any" if the figure does not depend on it.
    value: None if this data cannot give the figure. Raises ValueError for a NaN and for another word for the data.
    """
    if data not in DATA:
        raise ValueError(f"data={data!r} of figure {figure!r}; choose one of {', '.join(DATA)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"figure {figure!r} of {notebook} came out as {value}; report None if this data cannot give it"
        )
    results = {name: entry._asdict() for name, entry in reported(notebook).items()}
    plain = getattr(value, "item", lambda: value)()  # JSON cannot hold numpy's numbers
    results[figure] = {"value": plain, "data": data}
    text = json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomically(path_of(f"results/{notebook}", ".json"), text.encode("utf-8"))


def reported(notebook: str, figures: Path | None = None) -> dict[str, Reported]:
    """What a notebook's last run reported, by figure; empty if nothing."""
    path = (figures or folder()) / "results" / f"{notebook}.json"
    if not path.exists():
        return {}
    return {figure: Reported(**entry) for figure, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def forget(notebooks: Iterable[str], figures: Path | None = None) -> None:
    """Remove what earlier runs reported, so that a figure no longer reported is found missing."""
    for notebook in notebooks:
        ((figures or folder()) / "results" / f"{notebook}.json").unlink(missing_ok=True)


def expectations(path: Path = EXPECTATIONS) -> list[Expectation]:
    """Read expected.yaml; none if there is no such file. Raises ValueError, naming the entry, for a malformed one."""
    import yaml

    if not path.exists():
        return []
    return [_expectation(entry, path) for entry in yaml.safe_load(path.read_text(encoding="utf-8")) or []]


def judge(
    entries: Sequence[Expectation],
    results: Mapping[str, Mapping[str, Reported]],
    failed: Collection[str] = (),
    why_not: str = "",
) -> list[FigureVerdict]:
    """Hold what came out against what was expected, for the notebooks that ran.

    results: notebook name -> what it reported. failed: names of those that failed. why_not: if given, nothing is
    judged and this is the reason shown (other parameters than the defaults, say).
    """
    ran = [entry for entry in entries if entry.notebook in results]
    # Most figures are stated twice, for official and for made data: only the line for the data that ran is judged.
    told = [entry for entry in ran if not _stated_for_this_data(entry, ran, results)]
    verdicts = [_verdict(entry, results[entry.notebook], failed, why_not) for entry in told]
    known = {(entry.notebook, entry.figure) for entry in entries}
    for notebook, figures in results.items():
        for figure, entry in figures.items():
            if (notebook, figure) not in known:  # said, so that a new figure is not left without an expectation
                verdicts.append(FigureVerdict(notebook, figure, "", str(entry.value), "NOTE", "not in expected.yaml"))
    return verdicts


def _expectation(entry: Any, path: Path) -> Expectation:
    try:
        expectation = Expectation(**entry)
    except TypeError as error:
        fields = ", ".join(Expectation._fields)
        raise ValueError(
            f"{path.name}: {entry!r} is no expectation; give {fields} (tolerance may be left out)"
        ) from error
    if expectation.data not in DATA:
        raise ValueError(f"{path.name}: data of {entry!r} has to be one of {', '.join(DATA)}")
    return expectation


def _stated_for_this_data(
    entry: Expectation, entries: Sequence[Expectation], results: Mapping[str, Mapping[str, Reported]]
) -> bool:
    """Whether another entry states the figure for the data that was used, so that this one is not the one to judge."""
    came = results[entry.notebook].get(entry.figure)
    if came is None or entry.data in ("any", came.data):
        return False
    return any(other[:3] == (entry.notebook, entry.figure, came.data) for other in entries)


def _verdict(
    entry: Expectation, figures: Mapping[str, Reported], failed: Collection[str], why_not: str
) -> FigureVerdict:
    came = figures.get(entry.figure)
    shown = "" if came is None or came.value is None else _shown(came.value)
    state, reason = _state(entry, came, entry.notebook in failed, why_not)
    wanted = _shown(entry.value) + (f" ± {_shown(entry.tolerance)}" if entry.tolerance else "")
    return FigureVerdict(entry.notebook, entry.figure, wanted, shown, state, reason)


def _state(entry: Expectation, came: Reported | None, failed: bool, why_not: str) -> tuple[str, str]:
    if why_not:
        return "SKIPPED", why_not
    if came is None:
        return "MISSING", "the notebook failed" if failed else "the notebook did not report it"
    if "any" not in (entry.data, came.data) and came.data != entry.data:
        return "SKIPPED", f"needs {entry.data} data"
    if _agree(entry, came.value):
        return "OK", ""
    return "OFF", "" if came.value is not None else "reported without a value"


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
