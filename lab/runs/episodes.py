"""What every experiment's episode does around its own work: connect, keep to the budget, keep the accounts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from lab.runs import budget
from lab.machine import progress
from lab.models.backbone import Backbone, Ledger
from lab.models.connect import connect
from lab.runs.execution import Played
from lab.machine.paths import ROOT
from lab.runs.run import Manifest, Run, RunBusy
from lab.models.usage import by_operator

T = TypeVar("T")
BUSY_PAUSE = 1.0  # seconds between two looks at a run that another process writes


def backbone_of(engine: str) -> Backbone:
    """The backbone of an engine string, connected once a process; raises as `lab.models.backbone.connect` does."""
    # By address, too: a notebook may change OPENAI_BASE_URL between two cells.
    return _connected(engine, os.environ.get("OPENAI_BASE_URL", ""))


def booked(engine: str, record: bool, work: Callable[[Ledger], Any]) -> Played:
    """Do an episode's work with a ledger of its own, within the budget of `lab record`.

    work: returns the episode's result, JSON. record: keep the answers. Raises BudgetSpent before the work, and what the
    work raises, with its accounts attached (see `lab.runs.execution`).
    """
    allowed = budget.of_environment()
    allowed.check()
    ledger = Ledger(backbone_of(engine), record)
    try:
        result = work(ledger)
    except Exception as error:
        error.played = Played(None, by_operator(ledger.calls), ledger.recorded)
        raise
    finally:
        allowed.book(sum(not call.cached for call in ledger.calls))
    return Played(result, by_operator(ledger.calls), ledger.recorded)


@contextmanager
def run_of(manifest: Manifest, folder: str = "") -> Iterator[Run]:
    """The run, as soon as no other process writes to it: notebooks that are executed side by side share their runs.

    folder: a name goes under `runs/`; by default one that no other experiment shares. Raises ManifestMismatch.
    """
    with when_free(lambda: Run(ROOT / "runs" / (folder or manifest.name()), manifest)) as run:
        yield run


def when_free(open_it: Callable[[], T]) -> T:
    """What `open_it` returns, as soon as no other process writes to the run that it needs."""
    waiting = False
    while True:
        try:
            return open_it()
        except RunBusy as busy:
            if not waiting:
                progress.note(f"waiting: {busy}")
            waiting = True
            time.sleep(BUSY_PAUSE)


def held_by(backbone: Backbone, ids: Sequence[str]) -> list[str]:
    """The episodes that a recording holds, where one is replayed; of any other backbone, all."""
    held = set(getattr(backbone, "tasks", ()))
    return [name for name in ids if name in held] or list(ids)


@cache
def _connected(engine: str, address: str) -> Backbone:
    return connect(engine)
