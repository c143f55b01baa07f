"""Parallel execution of notebooks, each in a worker process of its own, so that a crash stays alone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from lab.machine import progress
from lab.machine.paths import ROOT, official_data
from lab.notebooks.documents import NotebookError, name_of, read

GRACE = 10.0  # seconds that a stopped worker gets to shut its kernel down
FOLDER_VARIABLES = ("LAB_DATA", "LAB_CACHE", "LAB_FIGURES", "LAB_RUNS", "LAB_RECORDINGS")


@dataclass(frozen=True)
class Job:
    """One notebook to execute: where from, where to, with which parameters instead of its defaults."""

    source: Path
    output: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)

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
    """How one job ended. failure: "" or what went wrong. seconds: wall time."""

    job: Job
    failure: str
    seconds: float


class _Board:
    """State shared by the threads: the running workers, the progress bar, and whether all are to stop."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._lock = threading.Lock()
        self._workers: dict[str, subprocess.Popen[str]] = {}
        self.stopping = False

    def enter(self, name: str, worker: subprocess.Popen[str]) -> None:
        with self._lock:
            self._workers[name] = worker
            self._bar.set_postfix_str(", ".join(sorted(self._workers)))
            if self.stopping:  # Ctrl-C came while this worker was being started
                worker.send_signal(signal.SIGINT)

    def leave(self, name: str) -> None:
        with self._lock:
            self._workers.pop(name, None)
            self._bar.set_postfix_str(", ".join(sorted(self._workers)))

    def advance(self, cells: int) -> None:
        with self._lock:
            self._bar.update(cells)

    def stop(self) -> None:
        with self._lock:
            self.stopping = True
            workers = list(self._workers.values())
        for worker in workers:
            worker.send_signal(signal.SIGINT)
        deadline = time.monotonic() + GRACE
        for worker in workers:
            try:
                worker.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()


def execute(
    jobs: Sequence[Job], side_by_side: int = 2, timeout: float | None = None, figures: Path | None = None
) -> list[Outcome]:
    """Execute every job, also after another has failed; outcomes come in the order of the jobs.

    timeout: seconds for one notebook. figures: where the notebooks write their figures, else `figures/`.
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
    cells = {job.source: len(read(job.source).cells) for job in jobs}
    environment = _environment(figures)
    with progress.bar(sum(cells.values()), "cells", show=sys.stderr.isatty()) as bar:
        board = _Board(bar)
        with ThreadPoolExecutor(max_workers=max(1, side_by_side)) as pool:
            futures = {pool.submit(_run, job, board, cells[job.source], timeout, environment): job for job in jobs}
            try:
                done = {futures[future].output: _say(future.result()) for future in as_completed(futures)}
            except BaseException:  # Ctrl-C, too, which is no Exception
                pool.shutdown(wait=False, cancel_futures=True)
                board.stop()
                raise
    return [done[job.output] for job in jobs]


def _environment(figures: Path | None) -> dict[str, str]:
    """The workers' environment. Relative folders are made absolute, since a kernel works in its notebook's folder."""
    environment = dict(os.environ)
    if figures:
        environment["LAB_FIGURES"] = str(figures)
    for name in FOLDER_VARIABLES:
        if environment.get(name):
            environment[name] = str(Path(environment[name]).resolve())
    # First on the path: a notebook uses the code of its own checkout, whichever is installed.
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), environment.get("PYTHONPATH")]))
    # The order of a printed set would otherwise change from run to run.
    environment.setdefault("PYTHONHASHSEED", "0")
    return environment


def _run(job: Job, board: _Board, cells: int, timeout: float | None, environment: Mapping[str, str]) -> Outcome:
    started = time.monotonic()
    job.output.parent.mkdir(parents=True, exist_ok=True)
    # A file, not a pipe: nobody reads it meanwhile, and a full pipe would block the worker.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        worker = _start(job, timeout, environment, errors)
        try:
            board.enter(job.name, worker)
            failure = _follow(worker, board, cells)
            worker.wait()
        finally:
            board.leave(job.name)
            # Its end tells a worker that outlived us to stop.
            with contextlib.suppress(BrokenPipeError):
                _pipe(worker.stdin).close()
        if failure is None:
            failure = f"the worker process ended with status {worker.returncode}: {_last_line(errors)}"
    _settle(job, failure)
    return Outcome(job, failure, time.monotonic() - started)


def _start(job: Job, timeout: float | None, environment: Mapping[str, str], errors: IO[str]) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-m", "lab.notebooks.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env={**environment, "LAB_NOTEBOOK": job.name},  # names the folders of its runs
        start_new_session=True,  # a Ctrl-C in the terminal comes to us, and we stop the workers in order
    )
    order = {"source": str(job.source), "output": str(job.output), "partial": str(job.partial), "timeout": timeout}
    # A worker that is already gone says so by its missing events, and no other notebook should suffer.
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps({**order, "parameters": dict(job.parameters)}), file=worker.stdin, flush=True)
    return worker


def _follow(worker: subprocess.Popen[str], board: _Board, cells: int) -> str | None:
    """Read a worker's events to their end: "" if it succeeded, the failure, or None if it ended without a word.

    cells: of the notebook; those that never ran count as done in the end, and an injected one does not count.
    """
    failure, counted = None, 0
    for line in _pipe(worker.stdout):
        event = json.loads(line)
        if "end" in event and counted < cells:
            counted += 1
            board.advance(1)
        failure = "" if event.get("done") else event.get("failed", failure)
    board.advance(cells - counted)
    return failure


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None, "a worker is started with pipes"
    return stream


def _settle(job: Job, failure: str) -> None:
    """Keep what a failed execution had done, and remove what an earlier one left."""
    if not failure:
        job.partial.unlink(missing_ok=True)
        job.failed.unlink(missing_ok=True)
    elif job.partial.exists():
        os.replace(job.partial, job.failed)


def _say(outcome: Outcome) -> Outcome:
    from tqdm import tqdm

    tqdm.write(f"{outcome.job.name}: {outcome.failure or 'ok'} ({outcome.seconds:.1f} s)", file=sys.stderr)
    return outcome


def _last_line(errors: IO[str]) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors if line.strip()]
    return lines[-1] if lines else "it said nothing"
