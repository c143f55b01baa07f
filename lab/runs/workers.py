"""Workers that play episodes: threads and processes of this machine, or those of a Dask cluster.

They start episodes, and distinguish a worker's death from an episode's end; `lab.runs.execution` decides how to react.

A cluster is given by its scheduler's address. Start the scheduler and its workers in an environment with the same
checkout, installed, and the same packages. Keys are not sent: a worker reads its own environment. So set
OPENAI_BASE_URL (the same as here), OPENAI_API_KEY, LAB_DATA and LAB_CACHE (a file on the worker's own disk) where the
worker is started. Anyone who can reach a scheduler can run code on its workers: keep it on a network that you trust.

Episodes are submitted one by one. Joblib's Dask backend would return finished ones in batches, and (joblib 1.6) wait
forever for an episode that kills its workers.
"""

from __future__ import annotations

import gc
import os
import re
import resource
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import cache
from typing import Any

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.paths import ROOT
from lab.machine.secrets import clean_address, redact
from lab.machine.versions import code_hash
from lab.models.engines import split
from lab.models.servers import OPENAI

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
EXIT_CODES = re.compile(r"SIG\w+|EXIT\(\d+\)")  # exit codes of dead workers in loky's message
POLL_SECONDS = 0.5  # how often a worker checks that the process that started it is alive
INSTALL = "python -m pip install -r requirements-cluster.txt"
CONNECT_SECONDS = 10.0
# A thread uses a connection to the server and sometimes a file; a process uses pipes to this one.
FILES_PER_WORKER = 4
SPARE_FILES = 24  # caches, logs, the run's files

Play = Callable[[str], Any]  # task -> its ended episode (`lab.runs.execution.Ended`)


class WorkerDied(RuntimeError):
    """A worker died while an episode was in progress, on it or on another worker. times: number of dead workers."""

    def __init__(self, why: str, times: int = 1) -> None:
        super().__init__(why)
        self.times = times


class Crew:
    """Workers that play the episodes of one run."""

    def __init__(self, play: Play, workers: int) -> None:
        self._play, self._workers = play, workers

    def room(self) -> int:
        """How many episodes may be in progress at a time."""
        return self._workers

    def submit(self, task: str, alone: bool) -> Future[Any]:
        """Start an episode. alone: no other episode runs at the same time."""
        raise NotImplementedError

    def result(self, future: Future[Any]) -> Any:
        """The result of an ended episode. Raises WorkerDied and Unavailable."""
        return future.result()

    def give_up(self, future: Future[Any]) -> bool:
        """Give up an episode that takes too long. Returns whether all others in progress are lost with it."""
        return False

    def idle(self) -> None:
        """Called after some seconds in which no episode ended."""

    def close(self) -> None:
        """Release all workers."""


class Threads(Crew):
    """Threads of this process, for episodes that wait for a server. A hanging episode does not block the exit."""

    def submit(self, task: str, alone: bool) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(self._play(task))
            except BaseException as error:
                future.set_exception(error)

        try:
            # A daemon thread: Ctrl-C must not wait for a slow server, but a pool would join its threads at exit.
            threading.Thread(target=work, name=f"episode {task}", daemon=True).start()
        except RuntimeError as error:
            fix = f"take fewer than workers={self._workers}, or raise: ulimit -u, ulimit -v"
            raise Unavailable(f"{error}: {fix}") from None
        return future


class Processes(Crew):
    """Loky processes of this machine. If one dies, the pool is broken and is replaced by a new one."""

    def __init__(self, play: Play, workers: int) -> None:
        super().__init__(play, workers)
        self._pool: Any = None
        self._size = 0

    def submit(self, task: str, alone: bool) -> Future[Any]:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        size = 1 if alone else self._workers
        if size != self._size:
            self.close()
        for retried in (False, True):
            self._pool, self._size = self._pool or _pool(size), size
            try:
                return self._pool.submit(_play_in_worker, self._play, task, os.getpid())
            except BrokenProcessPool:  # one of its workers died since its last episode
                if retried:
                    raise
                self.close()
        raise AssertionError("unreachable")

    def result(self, future: Future[Any]) -> Any:
        from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        try:
            return future.result()
        except ShutdownExecutorError as error:  # the pool was closed below because another worker had died
            raise WorkerDied(str(error)) from None
        except BrokenProcessPool as error:
            if str(error).startswith("A task"):  # a task that the worker, still alive, could not load
                raise
            self.close()
            codes = EXIT_CODES.search(str(error))
            raise WorkerDied(codes[0] if codes else "ended without an exit code") from None

    def give_up(self, future: Future[Any]) -> bool:
        self.close()
        return True

    def close(self) -> None:
        """Stop the workers. Later episodes get new workers, with the environment (address, key) of that time."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
        self._pool, self._size = None, 0


def _pool(workers: int) -> Any:
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    # Without limits, each worker's numerical libraries would use all cores.
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    return ProcessPoolExecutor(workers, env={name: os.environ.get(name, threads) for name in THREAD_LIMITS})


def _play_in_worker(play: Play, task: str, parent: int) -> Any:
    _end_with(parent)
    return play(task)


@cache
def _end_with(parent: int) -> None:
    """End this worker when the run's process is killed. Otherwise it would finish its episode and idle for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Cluster(Crew):
    """Threads of a Dask cluster. If a worker dies, another one retries its task, as often as Dask allows.

    Closing cancels tasks that have not started; an episode in progress continues, but its result is dropped.
    """

    def __init__(self, play: Play, scheduler: str, workers: int, address: str) -> None:
        """workers: tasks at a time; 0 for all threads of the cluster. address: the run's engine address."""
        super().__init__(play, workers)
        self._expected = code_hash(), endpoint_of(address)
        self._scheduler, self._client = scheduler, _connect(scheduler)
        self._pool = self._client.get_executor(pure=False)
        self._noted = False

    def room(self) -> int:
        if self._workers:
            return self._workers
        with suppress(Exception):  # if the scheduler is lost, the futures are cancelled, which `result` reports
            return sum(self._client.nthreads().values())
        return 0

    def submit(self, task: str, alone: bool) -> Future[Any]:
        future: Future[Any] = self._pool.submit(_play_checked, *self._expected, self._play, task)
        return future

    def result(self, future: Future[Any]) -> Any:
        from distributed import KilledWorker

        if self._noted:
            self._note(False)
        try:
            return future.result()
        except KilledWorker as error:
            times = error.allowed_failures + 1  # dask's own setting, distributed.scheduler.allowed-failures
            raise WorkerDied("on the cluster", times) from None
        except Unavailable:
            raise
        except (CancelledError, OSError):
            raise Unavailable(f"The scheduler {self._scheduler} was lost; start it and its workers again") from None
        except Exception as error:
            # `play_one` catches an episode's own errors, so the scheduler or a worker could not load the task.
            message = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
            raise Unavailable(
                f"The cluster {self._scheduler} cannot load what is to be played: {redact(message[0])}. Start its "
                "scheduler and its workers in an environment with the same checkout and the same packages as here"
            ) from None

    def give_up(self, future: Future[Any]) -> bool:
        future.cancel()
        return False

    def idle(self) -> None:
        with suppress(Exception):  # as above
            self._note(not self._client.nthreads())

    def _note(self, deserted: bool) -> None:
        self._noted = deserted
        progress.note(f"no worker there; start one with: dask worker {self._scheduler}" if deserted else "")

    def close(self) -> None:
        with suppress(Exception):  # closing makes the scheduler drop the tasks; a lost one has dropped them already
            self._client.close(timeout=2)


def endpoint_of(address: str) -> str:
    """The endpoint's URL in a run's address, which may join several engines' addresses; "" if there is none."""
    default, others = split(address)
    endpoints = (part for part in (default, *others.values()) if part.startswith(("http://", "https://")))
    return next(endpoints, "")  # all endpoints share OPENAI_BASE_URL


def _connect(cluster: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise Unavailable(f"cluster={cluster!r} needs Dask ({error}). Install it with: {INSTALL}") from None
    try:
        return Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False, name="lab")
    except (OSError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
    # The failed client closes itself when it is garbage-collected. Collect it now: a later collection on the thread of
    # the next client's event loop would deadlock on a lock of Dask that the start of that loop holds.
    gc.collect()
    raise Unavailable(
        f"No Dask scheduler answers at cluster={cluster!r}: {why}. Give an address such as tcp://host:8786; "
        "a scheduler is started with: dask scheduler, and a worker with: dask worker ADDRESS"
    )


def _play_checked(code: str, address: str, play: Play, task: str) -> Any:
    """Play a task on a worker with the code and endpoint that the run expects."""
    _check(code, address)
    return play(task)


@cache
def _check(code: str, address: str) -> None:
    """Raises Unavailable if this worker's code or endpoint differs from the run's."""
    worker = f"The worker on {socket.gethostname()}"
    if code_hash() != code:
        raise Unavailable(
            f"{worker} has other code in {ROOT} than the machine that started the run; "
            "install the same checkout there and start the worker again"
        )
    own_address = clean_address(os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI)
    if address and own_address != address:
        raise Unavailable(
            f"{worker} has OPENAI_BASE_URL={own_address}, and the run is of {address}; "
            "set it where the worker is started, and start the worker again"
        )


def allow_open_files(workers: int) -> None:
    """Increase the soft limit of open files as far as needed. Raises Unavailable if the hard limit is too low."""
    spare = len(os.listdir("/dev/fd")) + SPARE_FILES
    need = spare + workers * FILES_PER_WORKER
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < need:
        target = need if hard == resource.RLIM_INFINITY else min(need, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
            soft = target
    if resource.RLIM_INFINITY != soft < need:
        raise Unavailable(
            f"workers={workers} need about {need} open files, and this process may have {soft} (its hard limit is "
            f"{hard}). Take workers={max(1, (soft - spare) // FILES_PER_WORKER)}, or raise the limit before: "
            f"ulimit -Hn {need}, as root or in /etc/security/limits.conf"
        )
