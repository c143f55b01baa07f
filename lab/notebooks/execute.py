"""Parallel execution of notebooks, each in a worker process of its own, so that a crash stays alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
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


class _Board:
    """State shared by the threads: the running workers with their lines of progress, and whether all are to stop."""

    def __init__(self, bar: progress.Bar) -> None:
        self._bar = bar
        self._lock = threading.Lock()
        self._workers: dict[str, tuple[SpawnProcess, Path]] = {}
        self.stopping = False

    def enter(self, name: str, worker: SpawnProcess, status: Path) -> None:
        """status: the file into which the worker's kernel writes its line of progress."""
        with self._lock:
            self._workers[name] = worker, status
            if self.stopping:  # Ctrl-C came while this worker was being started
                _interrupt(worker)

    def leave(self, name: str) -> None:
        with self._lock:
            self._workers.pop(name, None)

    def done(self, outcome: Outcome) -> None:
        from tqdm import tqdm

        self._bar.update()
        tqdm.write(f"{outcome.job.name}: {outcome.failure or 'ok'} ({outcome.seconds:.1f} s)", file=sys.stderr)

    def draw(self) -> None:
        """What each notebook is at: `table2_travelplanner · sdp made 12/30 · 8.1 seconds left | …`."""
        with self._lock:
            running = sorted((name, status) for name, (_, status) in self._workers.items())
        lines = (" · ".join(filter(None, (name.split("/")[-1], _text(status)))) for name, status in running)
        self._bar.remark = " | ".join(lines)
        self._bar.show()

    def stop(self) -> None:
        with self._lock:
            self.stopping = True
            workers = [worker for worker, _ in self._workers.values()]
        for worker in workers:
            _interrupt(worker)
        deadline = time.monotonic() + GRACE
        for worker in workers:
            worker.join(max(0.0, deadline - time.monotonic()))
            if worker.is_alive():
                worker.kill()


def execute(jobs: Sequence[Job], side_by_side: int = 2, timeout: float | None = None) -> list[Outcome]:
    """Execute every job, also after another has failed; outcomes come in the order of the jobs.

    The scoreboard starts when all others have ended.

    timeout: seconds for one notebook.
    A job's output appears whole or not at all; a failed job leaves NAME.failed.ipynb beside it.
    Raises NotebookError if two jobs have one output, MissingData if LAB_DATA names no folder, KeyboardInterrupt after
    stopping all kernels.
    """
    official_data()  # a LAB_DATA that names no folder is told before anything runs
    first: dict[Path, Job] = {}
    for job in jobs:
        other = first.setdefault(job.output, job)
        if other is not job:
            raise NotebookError(
                f"{other.source} and {job.source} would both be written to {job.output}; run them apart"
            )
    outcomes: dict[Path, Outcome] = {}
    with progress.bar(len(jobs), "notebooks", alike=False) as bar:
        board = _Board(bar)
        later = [job for job in jobs if job.name == LAST]
        with ThreadPoolExecutor(max_workers=max(1, side_by_side)) as pool:
            waiting = {pool.submit(_run, job, board, timeout) for job in jobs if job not in later}
            try:
                while waiting or later:
                    if not waiting:
                        waiting, later = {pool.submit(_run, job, board, timeout) for job in later}, []
                    finished, waiting = wait(waiting, progress.PAUSE, FIRST_COMPLETED)
                    for outcome in (future.result() for future in finished):
                        outcomes[outcome.job.output] = outcome
                        board.done(outcome)
                    board.draw()
            except BaseException:  # Ctrl-C, too, which is no Exception
                pool.shutdown(wait=False, cancel_futures=True)
                board.stop()
                raise
    return [outcomes[job.output] for job in jobs]


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


def _run(job: Job, board: _Board, timeout: float | None) -> Outcome:
    started = time.monotonic()
    job.output.parent.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    with scratch_folder("lab-run-") as folder:
        errors, status = Path(folder) / "errors", Path(folder) / "status"
        receiver, sender = spawn.Pipe(duplex=False)
        told = (job.parameters, timeout, _environment(job, status), errors, sender)
        worker = spawn.Process(target=work, args=(job.source, job.output, job.partial, *told), daemon=True)
        worker.start()
        sender.close()  # so that the worker's end is the pipe's
        board.enter(job.name, worker, status)
        try:
            failure, cpu = receiver.recv()
            worker.join()
        except EOFError:
            worker.join()
            lines = [line.strip() for line in _text(errors).splitlines() if line.strip()] or ["it said nothing"]
            failure, cpu = f"the worker process ended with status {worker.exitcode}: {lines[-1]}", 0.0
        finally:
            board.leave(job.name)
    if not failure:
        job.partial.unlink(missing_ok=True)
        job.failed.unlink(missing_ok=True)
    elif job.partial.exists():
        os.replace(job.partial, job.failed)
    return Outcome(job, failure, time.monotonic() - started, cpu)


def _interrupt(worker: SpawnProcess) -> None:
    if worker.pid and worker.is_alive():
        os.kill(worker.pid, signal.SIGINT)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
