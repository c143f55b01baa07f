"""Workers that play episodes: threads and processes of this machine, or those of a Dask cluster.

They start an episode, and tell a worker's death from an episode's end; `lab.runs.execution` decides what becomes of
either.

A cluster is given by its scheduler's address. Start its scheduler and its workers in an environment with the same
checkout, installed, and the same packages. Keys are not shipped: a worker reads its own environment, so OPENAI_BASE_URL
(the same as here), OPENAI_API_KEY, LAB_DATA and LAB_CACHE (a file on a disk of its own) are set where the worker is
started. Whoever reaches a scheduler can run code on its workers: keep it on a network that you trust.

Episodes are submitted one by one rather than by joblib's Dask backend, which hands finished ones over in batches, and
(joblib 1.6) waits for ever for an episode that ends its workers.
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
EXIT_CODES = re.compile(r"SIG\w+|EXIT\(\d+\)")  # in loky's message, of the workers that ended
POLL_SECONDS = 0.5  # between two checks whether the process that started a worker still lives
INSTALL = "python -m pip install -r requirements-cluster.txt"
CONNECT_SECONDS = 10.0
# A thread has a connection to the server and, for moments, a file; a process has pipes to this one.
FILES_PER_WORKER = 4
SPARE_FILES = 24  # caches, logs, the run's files

Play = Callable[[str], Any]  # task -> what came of its episode (`lab.runs.execution.Ended`)


class WorkerDied(RuntimeError):
    """A worker died while it played an episode, its own or another's. times: how many workers did."""

    def __init__(self, why: str, times: int = 1) -> None:
        super().__init__(why)
        self.times = times


class Crew:
    """Workers that play the episodes of one run."""

    def __init__(self, play: Play, workers: int) -> None:
        self._play, self._workers = play, workers

    def room(self) -> int:
        """How many episodes may be under way at a time."""
        return self._workers

    def submit(self, task: str, alone: bool) -> Future[Any]:
        """Start an episode. alone: no other one is under way, and none will be beside it."""
        raise NotImplementedError

    def result(self, future: Future[Any]) -> Any:
        """What came of an episode that ended. Raises WorkerDied, and Unavailable."""
        return future.result()

    def give_up(self, future: Future[Any]) -> bool:
        """Stop waiting for an episode that takes too long; whether all others under way are lost with it."""
        return False

    def idle(self) -> None:
        """Called after some seconds in which no episode ended."""

    def close(self) -> None:
        """Let all workers go."""


class Threads(Crew):
    """Threads of this process, for episodes that wait for a server. An episode that hangs keeps nobody waiting."""

    def submit(self, task: str, alone: bool) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(self._play(task))
            except BaseException as error:
                future.set_exception(error)

        try:
            # A daemon: Ctrl-C must not wait for a slow server, and a pool's threads are joined at the end.
            threading.Thread(target=work, name=f"episode {task}", daemon=True).start()
        except RuntimeError as error:
            fix = f"take fewer than workers={self._workers}, or raise: ulimit -u, ulimit -v"
            raise Unavailable(f"{error}: {fix}") from None
        return future


class Processes(Crew):
    """Processes of this machine, of loky. Where one dies the pool is broken, and a new one takes its place."""

    def __init__(self, play: Play, workers: int) -> None:
        super().__init__(play, workers)
        self._pool: Any = None
        self._size = 0

    def submit(self, task: str, alone: bool) -> Future[Any]:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        size = 1 if alone else self._workers
        if size != self._size:
            self.close()
        for last in (False, True):
            self._pool, self._size = self._pool or _pool(size), size
            try:
                return self._pool.submit(_play_in_worker, self._play, task, os.getpid())
            except BrokenProcessPool:  # one of its workers died since its last episode
                if last:
                    raise
                self.close()
        raise AssertionError("unreachable")

    def result(self, future: Future[Any]) -> Any:
        from joblib.externals.loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        try:
            return future.result()
        except ShutdownExecutorError as error:  # closed below, since another worker had died
            raise WorkerDied(str(error)) from None
        except BrokenProcessPool as error:
            if str(error).startswith("A task"):  # could not be loaded by the worker, which is alive
                raise
            self.close()
            codes = EXIT_CODES.search(str(error))
            raise WorkerDied(codes[0] if codes else "ended without a word") from None

    def give_up(self, future: Future[Any]) -> bool:
        self.close()
        return True

    def close(self) -> None:
        """A later episode gets new workers, born with the environment (address, key) of then."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, kill_workers=True)
        self._pool, self._size = None, 0


def _pool(workers: int) -> Any:
    from joblib.externals.loky.process_executor import ProcessPoolExecutor

    # Else each worker's numerical libraries would take every core.
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    return ProcessPoolExecutor(workers, env={name: os.environ.get(name, threads) for name in THREAD_LIMITS})


def _play_in_worker(play: Play, task: str, parent: int) -> Any:
    _end_with(parent)
    return play(task)


@cache
def _end_with(parent: int) -> None:
    """End this worker when the run's process is killed; it would play on, and then wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Cluster(Crew):
    """A cluster's threads. A task whose worker died is played again by another one, as often as Dask allows.

    Closing it cancels all that has not begun; an episode under way plays on to its end and counts for nothing.
    """

    def __init__(self, play: Play, scheduler: str, workers: int, address: str) -> None:
        """workers: how many tasks at a time; 0 for every thread that there is. address: the run's, of who answers."""
        super().__init__(play, workers)
        self._expected = code_hash(), endpoint_of(address)
        self._scheduler, self._client = scheduler, _connect(scheduler)
        self._pool = self._client.get_executor(pure=False)
        self._noted = False

    def room(self) -> int:
        if self._workers:
            return self._workers
        with suppress(Exception):  # a lost scheduler shows in the futures, which are cancelled
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
            # Nothing else can come from the job itself: the scheduler or a worker could not load it.
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
        with suppress(Exception):  # the scheduler forgets what a closed client wanted; if it is gone, all is forgotten
            self._client.close(timeout=2)


def endpoint_of(address: str) -> str:
    """The address of the endpoint in that of a run, where other engines have a word in its place; "" for none."""
    whole, others = split(address)
    endpoints = (part for part in (whole, *others.values()) if part.startswith(("http://", "https://")))
    return next(endpoints, "")  # all of one OPENAI_BASE_URL


def _connect(cluster: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise Unavailable(f"cluster={cluster!r} needs Dask ({error}). Install it with: {INSTALL}") from None
    try:
        return Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False, name="lab")
    except (OSError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
    # The client that failed closes itself when it is collected. Left to a later collection, on the thread of the next
    # client's event loop, it would wait for a lock of Dask that the start of that loop holds.
    gc.collect()
    raise Unavailable(
        f"No Dask scheduler answers at cluster={cluster!r}: {why}. Give an address such as tcp://host:8786; "
        "a scheduler is started with: dask scheduler, and a worker with: dask worker ADDRESS"
    )


def _play_checked(code: str, address: str, play: Play, task: str) -> Any:
    """Play a task on a worker that has what the run expects."""
    _check(code, address)
    return play(task)


@cache
def _check(code: str, address: str) -> None:
    """Raise Unavailable if this worker would play something else than the run says."""
    here = f"The worker on {socket.gethostname()}"
    if code_hash() != code:
        raise Unavailable(
            f"{here} has other code in {ROOT} than the machine that started the run; "
            "install the same checkout there and start the worker again"
        )
    own = clean_address(os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI)
    if address and own != address:
        raise Unavailable(
            f"{here} has OPENAI_BASE_URL={own}, and the run is of {address}; "
            "set it where the worker is started, and start the worker again"
        )


def allow_open_files(workers: int) -> None:
    """Raises the soft limit of open files as far as needed. Raises Unavailable where the hard limit is too low."""
    spare = len(os.listdir("/dev/fd")) + SPARE_FILES
    need = spare + workers * FILES_PER_WORKER
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < need:
        most = need if hard == resource.RLIM_INFINITY else min(need, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    if resource.RLIM_INFINITY != soft < need:
        raise Unavailable(
            f"workers={workers} need about {need} open files, and this process may have {soft} (its hard limit is "
            f"{hard}). Take workers={max(1, (soft - spare) // FILES_PER_WORKER)}, or raise the limit before: "
            f"ulimit -Hn {need}, as root or in /etc/security/limits.conf"
        )
