"""Parallel execution of notebooks, each in a worker process of its own, so that a crash stays alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine import progress
from lab.machine.paths import ROOT, official_data
from lab.machine.scratch import scratch_folder
from lab.notebooks.documents import LAST, NotebookError, name_of
from lab.notebooks.worker import work

GRACE = 10.0  # seconds that a stopped worker gets to shut its kernel down
FOLDER_VARIABLES = ("LAB_DATA", "LAB_CACHE", "LAB_FIGURES", "LAB_RUNS", "LAB_RECORDINGS")


@dataclass(frozen=True)
class Job:
    """One notebook to execute: where from, where to, with which parameters instead of its defaults.

    figures: the folder of its figures; by default where a notebook that nobody runs for us would draw them.
    """

    source: Path
    output: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    figures: Path | None = None

    @property
    def name(self) -> str:
        return name_of(self.source)

    @property
    def partial(self) -> Path:
        """What papermill writes cell by cell, beside the output."""
        return self.output.with_name(f".{self.output.stem}.{os.getpid()}.partial.ipynb")

    @property
    def failed(self) -> Path:
        """Where an execution that failed is kept, up to and with the failing cell."""
        return self.output.with_name(f"{self.output.stem}.failed.ipynb")


class Outcome(NamedTuple):
    """How one job ended. failure: "" or what went wrong. seconds: wall time. cpu: seconds of computing."""

    job: Job
    failure: str
    seconds: float
    cpu: float


@dataclass(frozen=True)
class _Worker:
    """A process that executes a job. errors: the file of what it prints. status: of its kernel's line of progress."""

    job: Job
    process: SpawnProcess
    errors: Path
    status: Path
    started: float

    @property
    def line(self) -> str:
        """What it is at: `table2_travelplanner · sdp made 12/30 · 8.1 seconds left`."""
        return " · ".join(filter(None, (self.job.name.split("/")[-1], _text(self.status))))

    def outcome(self, receiver: Connection) -> Outcome:
        """How the job ended. receiver: of a worker that has sent it, or has ended without a word."""
        try:
            failure, cpu = receiver.recv()
            self.process.join()
        except EOFError:
            self.process.join()
            lines = [line.strip() for line in _text(self.errors).splitlines() if line.strip()] or ["it said nothing"]
            failure, cpu = f"the worker process ended with status {self.process.exitcode}: {lines[-1]}", 0.0
        job = self.job
        if not failure:
            job.partial.unlink(missing_ok=True)
            job.failed.unlink(missing_ok=True)
        elif job.partial.exists():
            os.replace(job.partial, job.failed)
        return Outcome(job, failure, time.monotonic() - self.started, cpu)


def execute(jobs: Sequence[Job], side_by_side: int = 2, timeout: float | None = None) -> list[Outcome]:
    """Execute every job, also after another has failed; outcomes come in the order of the jobs.

    The scoreboard starts when all others have ended.

    timeout: seconds for one notebook.
    A job's output appears whole or not at all; a failed job leaves NAME.failed.ipynb beside it.
    Raises NotebookError if two jobs have one output, MissingData if LAB_DATA names no folder, KeyboardInterrupt after
    stopping all kernels.
    """
    from tqdm import tqdm

    official_data()  # a LAB_DATA that names no folder is told before anything runs
    first: dict[Path, Job] = {}
    for job in jobs:
        other = first.setdefault(job.output, job)
        if other is not job:
            raise NotebookError(
                f"{other.source} and {job.source} would both be written to {job.output}; run them apart"
            )
    left = deque(sorted(jobs, key=lambda job: job.name == LAST))
    running: dict[Connection, _Worker] = {}
    outcomes: dict[Path, Outcome] = {}
    with progress.bar(len(jobs), "notebooks", alike=False) as bar, scratch_folder("lab-run-") as folder:
        try:
            while left or running:
                while left and len(running) < max(1, side_by_side) and not (running and left[0].name == LAST):
                    receiver, worker = _start(left.popleft(), timeout, Path(folder) / str(len(left)))
                    running[receiver] = worker
                ready = wait([*running], progress.PAUSE)
                for receiver in [receiver for receiver in running if receiver in ready]:
                    outcome = running.pop(receiver).outcome(receiver)
                    outcomes[outcome.job.output] = outcome
                    bar.update()
                    line = f"{outcome.job.name}: {outcome.failure or 'ok'} ({outcome.seconds:.1f} s)"
                    tqdm.write(line, file=sys.stderr)
                bar.remark = " | ".join(sorted(worker.line for worker in running.values()))
                bar.show()
        except BaseException:  # Ctrl-C, too, which is no Exception
            _stop([worker.process for worker in running.values()])
            raise
    return [outcomes[job.output] for job in jobs]


def _start(job: Job, timeout: float | None, folder: Path) -> tuple[Connection, _Worker]:
    """A new worker, and the connection by which it sends its outcome. folder: of its own."""
    for own in (folder, job.output.parent):
        own.mkdir(parents=True, exist_ok=True)
    # Files, not pipes: nobody reads them meanwhile, and a full pipe would block the worker.
    errors, status = folder / "errors", folder / "status"
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    told = (job.parameters, timeout, _environment(job, status), errors, sender)
    process = spawn.Process(target=work, args=(job.source, job.output, job.partial, *told), daemon=True)
    process.start()
    sender.close()  # so that the worker's end is the pipe's
    return receiver, _Worker(job, process, errors, status, time.monotonic())


def _stop(processes: Iterable[SpawnProcess]) -> None:
    """Interrupt workers, and kill those that do not shut their kernels down in time."""
    processes = [process for process in processes if process.pid and process.is_alive()]
    for process in processes:
        os.kill(process.pid or 0, signal.SIGINT)
    deadline = time.monotonic() + GRACE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        process.kill()


def _environment(job: Job, status: Path) -> dict[str, str]:
    """A worker's environment. Relative folders are made absolute, since a kernel works in its notebook's folder."""
    environment = dict(os.environ)
    if job.figures:
        environment["LAB_FIGURES"] = str(job.figures)
    for name in FOLDER_VARIABLES:
        if environment.get(name):
            environment[name] = str(Path(environment[name]).resolve())
    environment[progress.STATUS] = str(status)
    environment["LAB_NOTEBOOK"] = job.name  # names the folders of its runs
    # First on the path: a notebook uses the code of its own checkout, whichever is installed.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    # The order of a printed set would otherwise change from run to run.
    environment.setdefault("PYTHONHASHSEED", "0")
    return environment


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
