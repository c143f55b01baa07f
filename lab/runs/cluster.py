"""Playing episodes on a Dask cluster, given its scheduler's address.

Start its scheduler and its workers in an environment with the same checkout, installed, and the same packages. Keys are
not shipped: a worker reads its own environment, so OPENAI_BASE_URL (the same as here), OPENAI_API_KEY, LAB_DATA and
LAB_CACHE (a file on a disk of its own) are set where the worker is started.
Whoever reaches a scheduler can run code on its workers: keep it on a network that you trust.

Episodes are submitted one by one rather than by joblib's Dask backend, which hands finished ones over in batches, and
(joblib 1.6) waits for ever for an episode that ends its workers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from lab.machine import progress
from lab.machine.addresses import OPENAI
from lab.machine.faults import Unavailable
from lab.machine.paths import ROOT
from lab.machine.secrets import clean_address, redact
from lab.machine.versions import code_hash
from lab.models.engines import split

INSTALL = "python -m pip install -r requirements-cluster.txt"
CONNECT_SECONDS = 10.0
POLL_SECONDS = 0.02  # between two looks for finished episodes
IDLE_SECONDS = 5.0  # without a finished episode, before it is asked whether there are workers at all

T = TypeVar("T")
Job = Callable[[str], T]
Died = Callable[[str, str], T]


class NoCluster(Unavailable):
    """The cluster cannot play the run: not installed, not there, lost, or set up differently from this machine."""


@dataclass(frozen=True)
class Expected:
    """What a worker must have in common with the run. code: hash of the suite. address: the endpoint's, or ""."""

    code: str
    address: str

    @classmethod
    def of(cls, address: str) -> Expected:
        """address: as in the run's manifest, where engines other than an endpoint have a word in its place."""
        whole, others = split(address)
        endpoints = (part for part in (whole, *others.values()) if part.startswith(("http://", "https://")))
        return cls(code_hash(), next(endpoints, ""))  # all of one OPENAI_BASE_URL


def stream(
    job: Job[T], tasks: Sequence[str], cluster: str, at_once: int, expected: Expected, died: Died[T]
) -> Generator[T]:
    """What `job` gives for each task, as it ends; a task whose worker died is done again by another one.

    at_once: how many tasks at a time; 0 for every thread that the cluster has or comes to have. died: task, why -> what
    stands for a task at which one worker after another died. Closing the iterator cancels all that has not begun; an
    episode under way plays on to its end and counts for nothing. Raises NoCluster, and any Unavailable of the job.
    """
    client = _connect(cluster)
    try:
        yield from _finished(client, _Checked(job, expected), tasks, at_once, cluster, died)
    finally:
        with suppress(Exception):  # the scheduler forgets what a closed client wanted; if it is gone, all is forgotten
            client.close(timeout=2)


def _connect(cluster: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise NoCluster(f"cluster={cluster!r} needs Dask ({error}). Install it with: {INSTALL}") from None
    try:
        return Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False, name="lab")
    except (OSError, ValueError, TypeError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NoCluster(
            f"No Dask scheduler answers at cluster={cluster!r}: {why}. Give an address such as tcp://host:8786; "
            "a scheduler is started with: dask scheduler, and a worker with: dask worker ADDRESS"
        ) from None


def _finished(
    client: Any, job: Job[T], tasks: Sequence[str], at_once: int, cluster: str, died: Died[T]
) -> Generator[T]:
    from distributed import as_completed

    left = iter(tasks)
    first = list(islice(left, at_once or len(tasks)))
    futures = client.map(job, first, pure=False)
    names = {future.key: task for future, task in zip(futures, first, strict=True)}
    waiting = as_completed(futures, loop=client.loop)
    del futures  # a future that is held keeps its result in a worker's memory
    while names:
        future = _next(waiting, client, cluster)
        for task in islice(left, 1):
            following = client.submit(job, task, pure=False)
            names[following.key] = task
            waiting.add(following)
        yield _result(future, names.pop(future.key), cluster, died)


def _next(waiting: Any, client: Any, cluster: str) -> Any:
    idle_since, noted = time.monotonic(), False
    while not waiting.has_ready():
        time.sleep(POLL_SECONDS)
        if time.monotonic() - idle_since > IDLE_SECONDS:
            idle_since, noted = time.monotonic(), False
            with suppress(Exception):  # a lost scheduler shows in the futures, which are cancelled
                noted = not client.nthreads()
                progress.note(f"no worker there; start one with: dask worker {cluster}" if noted else "")
    if noted:
        progress.note("")
    return next(waiting)


def _result(future: Any, task: str, cluster: str, died: Died[T]) -> T:
    from distributed import KilledWorker

    if future.status == "error":
        error = future.exception()
        if isinstance(error, KilledWorker):
            times = error.allowed_failures + 1  # dask's own setting, distributed.scheduler.allowed-failures
            return died(task, f"{times} workers died while they played {task}; their logs may say why (memory?)")
        if isinstance(error, Unavailable):
            raise error
        # Nothing else can come from the job itself: the scheduler or a worker could not load it.
        said = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
        raise NoCluster(
            f"The cluster {cluster} cannot load what is to be played: {redact(said[0])}. Start its scheduler and its "
            "workers in an environment with the same checkout and the same packages as here"
        )
    try:
        return future.result()
    except (CancelledError, OSError):
        raise NoCluster(f"The scheduler {cluster} was lost; start it and its workers again") from None


@dataclass(frozen=True)
class _Checked:
    """A job that first looks whether this worker has what the run expects."""

    job: Job[Any]
    expected: Expected

    def __call__(self, task: str) -> Any:
        _check(self.expected)
        return self.job(task)


@cache
def _check(expected: Expected) -> None:
    """Raise NoCluster if this worker would play something else than the run says."""
    if code_hash() != expected.code:
        raise NoCluster(
            f"The worker on {_here()} has other code in {ROOT} than the machine that started the run; "
            "install the same checkout there and start the worker again"
        )
    address = clean_address(os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI)
    if expected.address and address != expected.address:
        raise NoCluster(
            f"The worker on {_here()} has OPENAI_BASE_URL={address}, and the run is of {expected.address}; "
            "set it where the worker is started, and start the worker again"
        )


def _here() -> str:
    import socket

    return socket.gethostname()
