"""Planned recordings: the rows of the protocol. One command records a row, in as many sittings as needed.

`data/recordings/plan.yaml` declares a row before it is recorded: study, engine, conditions, tasks, and the claims of
the register that it decides. `python -m lab record NAME` plays the row and saves it as the recording NAME.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from lab.machine import progress
from lab.machine.paths import recordings_folder
from lab.machine.printing import aligned
from lab.machine.reading import MANIFEST, damaged, read_json, read_text, typed
from lab.models import budget
from lab.models.cache import RECORDING
from lab.results.claims import STRICT
from lab.runs import recordings
from lab.runs.collecting import WORKERS, collect, record_begun
from lab.runs.experiment import Experiment
from lab.runs.recordings import Recording, Sitting
from lab.runs.registry import STUDIES
from lab.runs.trial import Settings

PLAN = "plan.yaml"


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A row of the protocol. name: of the recording. tier: 1 is recorded first. hours: planned recording time.

    study: a registered name, or "module:CLASS" of a single experiment, which has no benchmarks and conditions. claims:
    ids in the register. floor: the pilot in which the plain agent was at the floor, so that the row is not recorded; ""
    otherwise.
    """

    __pydantic_config__ = STRICT

    name: str
    tier: int
    study: str
    engine: str
    limit: int
    hours: float
    benchmarks: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    options: Settings = field(default_factory=dict)
    data: str = "official"
    seed: int = 0
    workers: int = 8
    claims: tuple[str, ...] = ()
    floor: str = ""

    def experiment(self) -> Experiment:
        """The experiment to collect. Raises BadSetting."""
        declared = STUDIES.named(self.study)
        settings = {"engine": self.engine, "data": self.data, "limit": self.limit, "seed": self.seed}
        if isinstance(declared, type):
            return declared(**settings, **self.options)
        return declared.trial(**settings, benchmarks=self.benchmarks, conditions=self.conditions, options=self.options)

    def answered_by(self, engine: str) -> Planned:
        """The same row with another engine: a model, or `replay:` with the name of a recording."""
        return replace(self, engine=engine)

    @property
    def recording(self) -> Recording | None:
        """The recording's manifest; None before the first sitting. Raises DamagedFile."""
        path = recordings_folder() / self.name / MANIFEST
        return read_json(path, Recording) if path.exists() else None

    @property
    def state(self) -> str:
        """Its progress: "planned", "12 of 240", "whole" or "void"; or that it is at the floor."""
        recording = self.recording
        if recording is None:
            return f"at the floor: {self.floor}" if self.floor else "planned"
        if recordings.void(self.name):
            return "void"
        return "whole" if recording.whole else recording.played


def plan() -> dict[str, Planned]:
    """Name -> row, in the file's order; empty without a file. Raises DamagedFile for an invalid file."""
    from lab.machine.yaml12 import load

    path = recordings_folder() / PLAN
    if not path.exists():
        return {}
    try:
        rows = typed(load(read_text(path)), tuple[Planned, ...])
    except ValueError as error:
        raise damaged(path, error, "Mend the entry") from None
    return {row.name: row for row in rows}


def pending(claims: Collection[str] | None = None) -> dict[str, str]:
    """Claim -> why it is not run: its recording is planned or unfinished. Void recordings do not count as planned.

    claims: the ids of interest; None for all.
    """
    rows = [row for row in plan().values() if claims is None or not {*row.claims}.isdisjoint(claims)]
    rows = [row for row in rows if row.state not in ("whole", "void")]
    return {claim: f"recording {row.name}: {row.state}" for row in rows for claim in row.claims}


def record(row: Planned, calls: int | None = None, minutes: float | None = None) -> str:
    """Record a row, or resume it, within a budget. Returns a summary.

    The recording gets every answer of the sitting, those of unfinished episodes included. calls: 0 asks for nothing,
    and saves what a killed sitting left in the cache. A whole recording stays as it is.
    LAB_WORKERS overrides the row's `workers`, for a server that can answer more requests in parallel.
    Raises BudgetSpent if nothing was answered, and what `collect` raises.
    Raises KeyboardInterrupt after saving if Ctrl-C or SIGTERM stopped it; only the answers under way are lost.
    """
    if row.floor:
        return f"{row.name} is {row.state}; to record it all the same, delete `floor` in {recordings_folder() / PLAN}"
    if row.state == "whole":
        return f"{row.name} is whole, and stays as it is; delete {recordings_folder() / row.name} to record it again"
    os.environ |= {RECORDING: row.name, budget.VARIABLE: json.dumps({"calls": calls, "minutes": minutes})}
    if message := recordings.resume(row.name):
        progress.say(message)
    started, experiment = time.monotonic(), row.experiment()
    save: Callable[[Sitting], None]
    try:
        save = collect(cast(Any, experiment), int(os.environ.get(WORKERS) or row.workers)).record
    except budget.BudgetSpent as error:
        save = partial(record_begun, experiment, row.name, error)
    sitting = Sitting.of((time.monotonic() - started) / 60, budget.of_environment().made)
    save(sitting)
    summary = f"{row.name}: {row.state}, {sitting.minutes:g} minutes, {sitting.calls:,} calls"
    if budget.of_environment().stopped:
        raise KeyboardInterrupt(summary)
    return summary


def overview() -> str:
    """A table of the rows and their state, as text."""
    lines = [("recording", "tier", "study", "engine", "tasks", "state", "hours", "planned")]
    for row in plan().values():
        recording = row.recording
        hours = f"{recording.hours:.1f}" if recording else ""
        lines.append(
            (row.name, str(row.tier), row.study, row.engine, str(row.limit), row.state, hours, f"{row.hours:g}")
        )
    return aligned(lines)
