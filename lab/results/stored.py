"""Stored results of notebooks and recordings: tables, figures, reported numbers and per-task scores.

    figures/STEM.csv, .pdf, …              tables and figures
    figures/results/NOTEBOOK.json         the numbers that the notebook reported, by name
    figures/results/NOTEBOOK.scores.csv   one line per task: benchmark, condition, engine, value
    data/recordings/NAME/scores.csv       the same for a recorded run

Claims (lab/results/claims.py) use only these files. The committed `figures/` are written by in-place runs only
(lab/notebooks/commands.py); runs with other parameters or data write to another folder.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lab.machine.faults import MissingData
from lab.machine.files import write_atomically
from lab.machine.paths import ROOT, recordings_folder, runs_folder
from lab.machine.printing import hint, visible
from lab.machine.reading import read_json, read_table
from lab.notebooks import injected

if TYPE_CHECKING:
    import pandas as pd

COMMITTED = ROOT / "figures"
Value = float | int | str | bool
# metric: one per benchmark. role: method, ceiling, or floor (a null model or another agent without skill).
# data: "official" or "synthetic". run: "replay:NAME" for a recording, else method and condition of the run. value: in
# [0, 1] for a rate, else in the metric's own unit.
COLUMNS = ["benchmark", "condition", "metric", "role", "engine", "evidence", "data", "run", "task", "value"]
DECIMALS = 6  # of a stored score: the last bits differ between machines
FLOOR, CEILING, METHOD = "floor", "ceiling", "method"
SUFFIX = ".scores.csv"  # of a notebook's score file; a recording's file has this name without the first dot


class Reported(NamedTuple):
    """The numbers that a notebook's last run reported.

    data: of its main numbers. n: number of tasks behind them. changed: parameters with other values than their
    defaults ("limit=2"). values: figure -> value; None if this data does not give it. other_data: figure -> its data,
    if it differs from `data`. answers: the results of its runs in sentences (`Results.answer`).
    """

    data: str
    n: int
    changed: tuple[str, ...]
    values: Mapping[str, Value | None]
    other_data: Mapping[str, str] = {}
    answers: tuple[str, ...] = ()

    def data_of(self, figure: str) -> str:
        """The data behind a figure."""
        return self.other_data.get(figure, self.data)

    def __str__(self) -> str:
        return f"{self.data} data, n = {self.n:,}"


class Side(NamedTuple):
    """A condition of a benchmark with the engine that answered: one side of a paired contrast.

    benchmark: "A, B" means the tasks of both.
    """

    benchmark: str
    condition: str
    engine: str


class Scores(NamedTuple):
    """Per-task scores of a side. values: task -> score. For the other fields see COLUMNS."""

    side: Side
    metric: str
    role: str
    evidence: str
    data: str
    run: str
    values: Mapping[str, float]

    def mean(self, tasks: Mapping[str, float]) -> float:
        """The mean over the given tasks. Raises KeyError if one has no score."""
        return sum(self.values[task] for task in tasks) / len(tasks)


def figures_folder() -> Path:
    """The folder for figures: `LAB_FIGURES` if set (by the notebook runner), else `figures/` in the folder of runs.

    A papermill run with changed parameters has its own subfolder there.
    """
    return Path(os.environ.get("LAB_FIGURES") or runs_folder() / "figures" / injected.folder())


def path_of(stem: str, suffix: str) -> Path:
    """The path of a figure. stem may contain folders ("1_sdp/table2"); suffix includes its dot.

    Raises ValueError if the stem leads out of the folder.
    """
    path = figures_folder() / f"{stem}{suffix}"  # with_suffix would cut a stem at its last dot
    if not path.resolve().is_relative_to(figures_folder().resolve()):
        raise ValueError(
            f"figure name {stem!r} leads out of {figures_folder()}; use a plain name such as '1_sdp/table2'"
        )
    return path


def write_scores(notebook: str, frames: list[pd.DataFrame]) -> None:
    """Write a notebook's score file; without frames, delete an existing one."""
    import pandas as pd

    path = path_of(f"results/{notebook}", SUFFIX)
    if not frames:
        path.unlink(missing_ok=True)
        return
    frame = pd.concat(frames, ignore_index=True).drop_duplicates()
    write_atomically(path, visible(frame.to_csv(index=False, lineterminator="\n")).encode("utf-8"))


def reported(notebook: str, folder: Path | None = None) -> Reported | None:
    """The numbers that a notebook's last run reported; None if there are none. folder: default `figures_folder()`.

    Raises DamagedFile.
    """
    path = (folder or figures_folder()) / "results" / f"{notebook}.json"
    return read_json(path, Reported) if os.path.lexists(path) else None


class Stored:
    """The stored results of all notebooks.

    For each notebook: the results of the user's own run if it used the defaults and the same data as the committed run,
    else the committed results.
    """

    def __init__(self, folder: str = "committed") -> None:
        """folder: "committed"; "auto" for the rule of the class; or a folder of figures, used for all notebooks.

        Raises MissingData if it is no folder.
        """
        if folder not in ("auto", "committed") and not Path(folder).is_dir():
            raise MissingData(f"stored={folder!r} is no folder{hint(folder, ('auto', 'committed'))}; name one, or auto")
        self._own = {"auto": figures_folder, "committed": lambda: COMMITTED}.get(folder, lambda: Path(folder))()
        self._chosen = folder != "auto"
        self._tables: dict[Path, pd.DataFrame] = {}

    def folder(self, notebook: str) -> Path:
        """The folder from which a notebook's results are read."""
        own, committed = reported(notebook, self._own), reported(notebook, COMMITTED)
        replaces = own is not None and committed is not None and _replaces(own, committed)
        return self._own if self._chosen or replaces else COMMITTED

    def report(self, notebook: str) -> Reported | None:
        """The numbers that a notebook reported; None if there are none."""
        return reported(notebook, self.folder(notebook))

    def rows(self, stem: str, notebook: str) -> pd.DataFrame | None:
        """A stored table; None if it was not written. Raises DamagedFile."""
        path = self.folder(notebook) / f"{stem}.csv"
        if path not in self._tables and not os.path.lexists(path):
            return None
        if path not in self._tables:
            self._tables[path] = read_table(path)
        return self._tables[path]

    @cached_property
    def scores(self) -> Mapping[Side, Scores]:
        """The per-task scores of all notebooks and recordings. If a side is stored twice, the one with more tasks."""
        folders = {folder / "results" for folder in (self._own, COMMITTED)}
        names = {
            path.relative_to(folder).as_posix().removesuffix(SUFFIX)
            for folder in folders
            for path in folder.rglob(f"*{SUFFIX}")
        }
        paths = [self.folder(name) / "results" / f"{name}{SUFFIX}" for name in sorted(names)]
        largest: dict[Side, Scores] = {}
        for path in [*sorted(recordings_folder().glob(f"*/{SUFFIX[1:]}")), *filter(os.path.lexists, paths)]:
            for scores in _read_scores(path):
                previous = largest.get(scores.side)
                if previous is None or len(scores.values) > len(previous.values):
                    largest[scores.side] = scores
        return largest

    def of(self, side: Side) -> Scores | None:
        """The scores of a side; None if they are not stored for all its benchmarks.

        For several benchmarks task ids become "A/task", and `run` names the runs of all.
        """
        names = side.benchmark.split(", ")
        parts = {name: self.scores.get(side._replace(benchmark=name)) for name in names}
        stored = {name: scores for name, scores in parts.items() if scores}
        if len(stored) < len(names):
            return None
        first = next(iter(stored.values()))
        if len(names) == 1:
            return first
        values = {f"{name}/{task}": value for name, scores in stored.items() for task, value in scores.values.items()}
        runs = ", ".join(dict.fromkeys(scores.run for scores in stored.values()))
        return first._replace(side=side, run=runs, values=values)

    def agents(self, benchmark: str, role: str) -> list[Scores]:
        """The scores of all agents of a role on a benchmark; for "A, B", of those that are stored on both."""
        first = benchmark.split(", ")[0]
        sides = [side for side, scores in self.scores.items() if side.benchmark == first and scores.role == role]
        return [scores for side in sides if (scores := self.of(side._replace(benchmark=benchmark)))]


def _replaces(own: Reported, committed: Reported) -> bool:
    """Whether the user's run used the defaults and the same data, and has all figures of the committed one."""
    missing = [name for name, value in committed.values.items() if value is not None and own.values.get(name) is None]
    return own.data == committed.data and not own.changed and not missing


def _read_scores(path: Path) -> list[Scores]:
    """The scores in a score file, by side. Raises DamagedFile."""
    return sides_of(read_table(path, COLUMNS, ("value",)))


def sides_of(frame: pd.DataFrame) -> list[Scores]:
    """The scores in a table with the columns of COLUMNS, one entry per side and run."""
    keys = [*Side._fields, "metric", "role", "evidence", "data", "run"]
    return [
        Scores(Side(*side), metric, role, evidence, data, run, dict(zip(group["task"], group["value"], strict=True)))
        for (*side, metric, role, evidence, data, run), group in frame.groupby(keys, sort=False, dropna=False)
    ]
