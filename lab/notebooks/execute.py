"""Parallel execution of notebooks, each in its own worker process, so that a crash does not affect the others."""

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
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, NamedTuple

from lab.machine import progress
from lab.machine.paths import ROOT, official_data
from lab.machine.scratch import scratch_folder
from lab.notebooks.documents import LAST, NotebookError, name_of
from lab.notebooks.worker import work
from lab.runs.workers import THREAD_LIMITS

CORES = "LOKY_MAX_CPU_COUNT"  # environment variable: the number of cores that joblib reports
PRELOADED = "lab.notebooks.preloaded"  # imported once by the server from which workers are forked
GRACE = 10.0  # seconds for a stopped worker to shut its kernel down
FOLDER_VARIABLES = ("LAB_DATA", "LAB_CACHE", "LAB_FIGURES", "LAB_RUNS", "LAB_RECORDINGS")


@dataclass(frozen=True)
class Job:
    """A notebook to execute. source, output: files. parameters: values that replace its defaults.

    figures: the folder for its figures; by default the one of a notebook that is run by hand.
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
        """The file that papermill writes cell by cell, next to the output."""
        return self.output.with_name(f".{self.output.stem}.{os.getpid()}.partial.ipynb")

    @property
    def failed(self) -> Path:
        """The file for a failed execution, up to and including the failing cell."""
        return self.output.with_name(f"{self.output.stem}.failed.ipynb")


class Outcome(NamedTuple):
    """The outcome of a job. failure: the error, or "". seconds: wall time. cpu: CPU-seconds."""

    job: Job
    failure: str
    seconds: float
    cpu: float


@dataclass(frozen=True)
class _Worker:
    """A process that executes a job. errors: file with its printed output. status: file with its kernel's progress."""

    job: Job
    process: ForkServerProcess
    errors: Path
    status: Path
    started: float

    @property
    def line(self) -> str:
        """Its progress: `table2_travelplanner · sdp made 12/30 · 8.1 seconds left`."""
        return " · ".join(filter(None, (self.job.name.split("/")[-1], _text(self.status))))

    def outcome(self, receiver: Connection) -> Outcome:
        """The outcome of the ended job. receiver: the worker has sent its outcome, or has died without sending one."""
        try:
            failure, cpu = receiver.recv()
            self.process.join()
        except EOFError:
            self.process.join()
            lines = [line.strip() for line in _text(self.errors).splitlines() if line.strip()] or ["no output"]
            failure, cpu = f"the worker process ended with status {self.process.exitcode}: {lines[-1]}", 0.0
        job = self.job
        if not failure:
            job.partial.unlink(missing_ok=True)
            job.failed.unlink(missing_ok=True)
        elif job.partial.exists():
            os.replace(job.partial, job.failed)
        return Outcome(job, failure, time.monotonic() - self.started, cpu)


def execute(jobs: Sequence[Job], side_by_side: int = 2, timeout: float | None = None) -> list[Outcome]:
    """Execute all jobs, even if some fail. Returns the outcomes in the order of the jobs.

    The scoreboard starts when all others have ended.

    timeout: seconds for a notebook.
    Outputs are written atomically; a failed job leaves NAME.failed.ipynb next to its output.
    Raises NotebookError if two jobs have the same output.
    Raises MissingData if LAB_DATA is no folder.
    Raises KeyboardInterrupt on Ctrl-C, after stopping all kernels.
    """
    from tqdm import tqdm

    official_data()  # raises for a wrong LAB_DATA before anything runs
    first: dict[Path, Job] = {}
    for job in jobs:
        other = first.setdefault(job.output, job)
        if other is not job:
            raise NotebookError(
                f"{other.source} and {job.source} would both be written to {job.output}; run them apart"
            )
    side_by_side = max(1, min(side_by_side, len(jobs)))
    queue = deque(sorted(jobs, key=lambda job: job.name == LAST))
    running: dict[Connection, _Worker] = {}
    outcomes: dict[Path, Outcome] = {}
    with progress.bar(len(jobs), "notebooks", alike=False) as bar, scratch_folder("lab-run-") as folder:
        try:
            while queue or running:
                while queue and len(running) < side_by_side and not (running and queue[0].name == LAST):
                    receiver, worker = _start(queue.popleft(), timeout, Path(folder) / str(len(queue)), side_by_side)
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


def _start(job: Job, timeout: float | None, folder: Path, side_by_side: int) -> tuple[Connection, _Worker]:
    """Start a worker. Returns the connection that receives its outcome, and the worker. folder: for its files."""
    for path in (folder, job.output.parent):
        path.mkdir(parents=True, exist_ok=True)
    # Files, not pipes: nobody reads them during execution, and a full pipe would block the worker.
    errors, status = folder / "errors", folder / "status"
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([PRELOADED])
    receiver, sender = server.Pipe(duplex=False)
    arguments = (job.parameters, timeout, _environment(job, status, side_by_side), errors, sender)
    process = server.Process(target=work, args=(job.source, job.output, job.partial, *arguments), daemon=True)
    process.start()
    sender.close()  # so that the pipe closes when the worker ends
    return receiver, _Worker(job, process, errors, status, time.monotonic())


def _stop(processes: Iterable[ForkServerProcess]) -> None:
    """Interrupt workers, and kill those that do not stop within GRACE seconds."""
    processes = [process for process in processes if process.pid and process.is_alive()]
    for process in processes:
        os.kill(process.pid or 0, signal.SIGINT)
    deadline = time.monotonic() + GRACE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        process.kill()


def _environment(job: Job, status: Path, side_by_side: int) -> dict[str, str]:
    """A worker's environment. Relative folders become absolute, since a kernel runs in its notebook's folder."""
    environment = dict(os.environ)
    if job.figures:
        environment["LAB_FIGURES"] = str(job.figures)
    for name in FOLDER_VARIABLES:
        if environment.get(name):
            environment[name] = str(Path(environment[name]).resolve())
    environment[progress.STATUS] = str(status)
    environment["LAB_NOTEBOOK"] = job.name  # names the folders of its runs
    # First on the path: a notebook uses the code of its own checkout, even if another one is installed.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    # Otherwise the order of a printed set would change from run to run.
    environment.setdefault("PYTHONHASHSEED", "0")
    # Kernels share the cores: threads of numerical libraries wait by spinning, and each worker process loads its own
    # libraries and models.
    cores = str(max(1, (os.cpu_count() or 1) // side_by_side))
    return dict.fromkeys((*THREAD_LIMITS, CORES), cores) | environment


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
