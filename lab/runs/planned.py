"""Planned recordings: the rows of the protocol, each recorded by one command, in as many sittings as it takes.

`data/recordings/plan.yaml` declares a row before it is recorded: a study, who answers, which conditions and tasks, and
the claims of the register that it decides. `python -m lab record NAME` plays it and saves it as the recording NAME.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field, replace
from typing import Any

from lab.machine import progress
from lab.machine.paths import recordings_folder
from lab.machine.printing import aligned
from lab.machine.reading import MANIFEST, damaged, read_json, read_text, typed
from lab.models.cache import RECORDING
from lab.results.claims import STRICT
from lab.runs import budget, recordings
from lab.runs.collecting import WORKERS, collect
from lab.runs.experiment import Experiment
from lab.runs.recordings import Recording, Sitting
from lab.runs.registry import STUDIES
from lab.runs.trial import Settings

PLAN = "plan.yaml"


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A row of the protocol. name: of the recording. tier: 1 is recorded first. hours: of recording, as planned.

    study: of the registry, or "module:CLASS" of a single experiment, which then takes neither benchmarks nor
    conditions. claims: their ids in the register.
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

    def experiment(self) -> Experiment:
        """What is collected. Raises BadSetting."""
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
        """Its manifest; None before the first sitting. Raises DamagedFile."""
        path = recordings_folder() / self.name / MANIFEST
        return read_json(path, Recording) if path.exists() else None

    @property
    def state(self) -> str:
        """Its progress: "planned", "12 of 240", "whole" or "void"."""
        made = self.recording
        if made is None:
            return "planned"
        if recordings.void(self.name):
            return "void"
        return "whole" if made.whole else made.played


def plan() -> dict[str, Planned]:
    """The rows by name, in order; none without a file. Raises DamagedFile for one that makes no sense."""
    from lab.machine.yaml12 import load

    path = recordings_folder() / PLAN
    if not path.exists():
        return {}
    try:
        rows = typed(load(read_text(path)), tuple[Planned, ...])
    except ValueError as error:
        raise damaged(path, error, "Mend the entry") from None
    return {row.name: row for row in rows}


def pending() -> dict[str, str]:
    """Claim -> why it is not run: its recording is planned, or not whole. A void one is no plan."""
    rows = [row for row in plan().values() if row.state not in ("whole", "void")]
    return {claim: f"recording {row.name}: {row.state}" for row in rows for claim in row.claims}


def record(row: Planned, calls: int | None = None, minutes: float | None = None) -> str:
    """Record a row, or go on with it, within a budget; what it came to. Ctrl-C loses no answer: the cache has them.

    LAB_WORKERS takes the place of the row's episodes at a time, for a server that answers more of them together.
    Raises BudgetSpent where no task was finished, and what `collect` raises.
    """
    os.environ |= {RECORDING: row.name, budget.VARIABLE: json.dumps({"calls": calls, "minutes": minutes})}
    if message := recordings.resume(row.name):
        progress.say(message)
    started = time.monotonic()
    results: Any = collect(row.experiment(), int(os.environ.get(WORKERS) or row.workers))
    took = Sitting.of((time.monotonic() - started) / 60, budget.of_environment().made)
    results.record(took)
    return f"{row.name}: {row.state}, {took.minutes:g} minutes, {took.calls:,} calls"


def overview() -> str:
    """The rows with their state, a line each."""
    lines = [("recording", "tier", "study", "engine", "tasks", "state", "hours", "planned")]
    for row in plan().values():
        made = row.recording
        hours = f"{made.hours:.1f}" if made else ""
        lines.append(
            (row.name, str(row.tier), row.study, row.engine, str(row.limit), row.state, hours, f"{row.hours:g}")
        )
    return aligned(lines)
