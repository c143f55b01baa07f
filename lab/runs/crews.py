"""Who plays episodes: threads or processes of this machine; a cluster's workers are in lab/runs/cluster.py.

A crew starts an episode on a worker and tells a worker's death from an episode's end; `lab.runs.supervisor` decides
what becomes of either.
"""

from __future__ import annotations

import os
import re
import threading
import time
from concurrent.futures import Future
from functools import cache
from typing import Any, Protocol

from lab.machine.faults import Unavailable
from lab.runs.playing import Ended, Play, play_one

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
EXIT_CODES = re.compile(r"SIG\w+|EXIT\(\d+\)")  # in loky's message, of the workers that ended
POLL_SECONDS = 0.5  # between two checks whether the process that started a worker still lives


class WorkerDied(RuntimeError):
    """A worker died while it played an episode, its own or another's. times: how many workers did."""

    def __init__(self, why: str, times: int = 1) -> None:
        super().__init__(why)
        self.times = times


class Crew(Protocol):
    """Workers that play the episodes of one run."""

    def room(self) -> int:
        """How many episodes may be under way at a time."""

    def submit(self, task: str, alone: bool) -> Future[Any]:
        """Start an episode. alone: no other one is under way, and none will be beside it."""

    def result(self, future: Future[Any], task: str) -> Ended:
        """What came of an episode that ended. Raises WorkerDied, and Unavailable."""

    def give_up(self, future: Future[Any]) -> bool:
        """Stop waiting for an episode that takes too long; whether all others under way are lost with it."""

    def idle(self) -> None:
        """Called after some seconds in which no episode ended."""

    def close(self) -> None:
        """Let all workers go."""


class Threads:
    """Threads of this process, for episodes that wait for a server. An episode that hangs keeps nobody waiting."""

    def __init__(self, play: Play, workers: int) -> None:
        self._play, self._workers = play, workers

    def room(self) -> int:
        return self._workers

    def submit(self, task: str, alone: bool) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(play_one(self._play, task))
            except BaseException as error:
                future.set_exception(error)

        try:
            # A daemon: Ctrl-C must not wait for a slow server, and a pool's threads are joined at the end.
            threading.Thread(target=work, name=f"episode {task}", daemon=True).start()
        except RuntimeError as error:
            fix = f"take fewer than workers={self._workers}, or raise: ulimit -u, ulimit -v"
            raise Unavailable(f"{error}: {fix}") from None
        return future

    def result(self, future: Future[Any], task: str) -> Ended:
        return future.result()

    def give_up(self, future: Future[Any]) -> bool:
        return False

    def idle(self) -> None: ...

    def close(self) -> None: ...


class Processes:
    """Processes of this machine, of loky. Where one dies the pool is broken, and a new one takes its place."""

    def __init__(self, play: Play, workers: int) -> None:
        self._play, self._workers = play, workers
        self._pool: Any = None
        self._size = 0

    def room(self) -> int:
        return self._workers

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

    def result(self, future: Future[Any], task: str) -> Ended:
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

    def idle(self) -> None: ...

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


def _play_in_worker(play: Play, task: str, parent: int) -> Ended:
    _end_with(parent)
    return play_one(play, task)


@cache
def _end_with(parent: int) -> None:
    """End this worker when the run's process is killed; it would play on, and then wait for minutes."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
