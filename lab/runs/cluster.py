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
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.paths import ROOT
from lab.machine.secrets import clean_address, redact
from lab.machine.versions import code_hash
from lab.models.engines import split
from lab.models.servers import OPENAI
from lab.runs.crews import WorkerDied
from lab.runs.playing import Ended, Play, play_one

INSTALL = "python -m pip install -r requirements-cluster.txt"
CONNECT_SECONDS = 10.0


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


class Cluster:
    """A cluster's threads. A task whose worker died is played again by another one, as often as Dask allows.

    Closing it cancels all that has not begun; an episode under way plays on to its end and counts for nothing.
    """

    def __init__(self, play: Play, cluster: str, at_once: int, expected: Expected) -> None:
        """at_once: how many tasks at a time; 0 for every thread that the cluster has or comes to have."""
        self._address, self._at_once = cluster, at_once
        self._client = _connect(cluster)
        self._pool = self._client.get_executor(pure=False)
        self._play, self._expected = play, expected
        self._noted = False

    def room(self) -> int:
        if self._at_once:
            return self._at_once
        with suppress(Exception):  # a lost scheduler shows in the futures, which are cancelled
            return sum(self._client.nthreads().values())
        return 0

    def submit(self, task: str, alone: bool) -> Future[Any]:
        future: Future[Any] = self._pool.submit(_play_checked, self._expected, self._play, task)
        return future

    def result(self, future: Future[Any], task: str) -> Ended:
        """Raises Unavailable, WorkerDied, and any Unavailable of the episode."""
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
            raise Unavailable(f"The scheduler {self._address} was lost; start it and its workers again") from None
        except Exception as error:
            # Nothing else can come from the job itself: the scheduler or a worker could not load it.
            message = str(error.__cause__ or error).strip().splitlines() or [type(error).__name__]
            raise Unavailable(
                f"The cluster {self._address} cannot load what is to be played: {redact(message[0])}. Start its "
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
        progress.note(f"no worker there; start one with: dask worker {self._address}" if deserted else "")

    def close(self) -> None:
        with suppress(Exception):  # the scheduler forgets what a closed client wanted; if it is gone, all is forgotten
            self._client.close(timeout=2)


def _connect(cluster: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise Unavailable(f"cluster={cluster!r} needs Dask ({error}). Install it with: {INSTALL}") from None
    try:
        return Client(cluster, timeout=CONNECT_SECONDS, set_as_default=False, name="lab")
    except (OSError, ValueError, TypeError, AssertionError) as error:  # the last: its event loop is not up in 10 s
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        if isinstance(error, AssertionError):
            why = "Dask's own event loop did not start in time, as on an overloaded machine"
        raise Unavailable(
            f"No Dask scheduler answers at cluster={cluster!r}: {why}. Give an address such as tcp://host:8786; "
            "a scheduler is started with: dask scheduler, and a worker with: dask worker ADDRESS"
        ) from None


def _play_checked(expected: Expected, play: Play, task: str) -> Ended:
    """Play a task on a worker that has what the run expects."""
    _check(expected)
    return play_one(play, task)


@cache
def _check(expected: Expected) -> None:
    """Raise Unavailable if this worker would play something else than the run says."""
    if code_hash() != expected.code:
        raise Unavailable(
            f"The worker on {_here()} has other code in {ROOT} than the machine that started the run; "
            "install the same checkout there and start the worker again"
        )
    address = clean_address(os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI)
    if expected.address and address != expected.address:
        raise Unavailable(
            f"The worker on {_here()} has OPENAI_BASE_URL={address}, and the run is of {expected.address}; "
            "set it where the worker is started, and start the worker again"
        )


def _here() -> str:
    import socket

    return socket.gethostname()
