"""Single-flight: concurrent identical requests, across threads and processes, are sent once.

Who comes first holds a lock on one byte of a file beside the cache, chosen by the request's key; the others wait for
its answer. The kernel releases the lock when its process dies, so there is no expiry to wait for and nothing to clean
up, and a byte range takes no room on a full disk.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lab.machine import progress

FIRST_NAP, LONGEST_NAP = 0.002, 0.05  # seconds between two tries to get a lock that another process holds
SILENT = 2.0  # seconds of waiting before the progress line says so


class _LockFile:
    """The byte locks that this process holds on one file, which stays open as long as there is one.

    held: offsets that a thread of this process has, or is waiting to lock against other processes.
    """

    # POSIX drops all locks of a process on a file when it closes any descriptor of it: hence one for all threads.
    def __init__(self, path: Path) -> None:
        self.held: set[int] = set()
        self.descriptor: int | None = None
        with suppress(OSError):  # without the file, only the threads of a process wait for each other
            path.parent.mkdir(parents=True, exist_ok=True)
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def lock(self, offset: int) -> bool:
        """Try to lock one byte; True if acquired."""
        try:
            if self.descriptor is not None:
                fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except (BlockingIOError, PermissionError):  # POSIX allows either for a lock that another process holds
            return False
        except OSError:  # a file system without locks: asking twice is better than not asking
            return True
        return True

    def unlock(self, offset: int) -> None:
        with suppress(OSError):
            if self.descriptor is not None:
                fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, offset)

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)


_files: dict[Path, _LockFile] = {}
_changed = threading.Condition()


def _forget() -> None:
    """In a forked child: locks are not inherited, and a condition that a parent's thread held would stay locked."""
    global _changed
    _files.clear()
    _changed = threading.Condition()


os.register_at_fork(after_in_child=_forget)


@contextmanager
def single_flight(path: Path, key: str, known: Callable[[], Any | None], seconds: float) -> Iterator[Any | None]:
    """Yield the answer if it is known by now; else None, while this caller alone holds the lock of `key`.

    path: the lock file. key: hex. known: looks the answer up. After `seconds` of waiting the caller goes on without the
    lock, since a process that was stopped (SIGSTOP) would hold its own for ever.
    """
    # 60 bits fit an off_t. Two keys with one offset would wait for each other, and no more than that.
    path, offset, deadline = path.resolve(), int(key[:15], 16), time.monotonic() + seconds
    if not _enter(path, offset, known, deadline):
        yield known()
        return
    try:
        yield _alone(path, offset, known, deadline)
    finally:
        _leave(path, offset)


def _enter(path: Path, offset: int, known: Callable[[], Any | None], deadline: float) -> bool:
    """Exclude the other threads of this process, which a POSIX lock does not; False on an answer or a timeout."""
    with _changed:
        while path in _files and offset in _files[path].held:
            left = deadline - time.monotonic()
            if left <= 0 or known() is not None:
                return False
            _changed.wait(min(left, 1.0))
        if path not in _files:
            _files[path] = _LockFile(path)
        _files[path].held.add(offset)
        return True


def _alone(path: Path, offset: int, known: Callable[[], Any | None], deadline: float) -> Any | None:
    """Exclude the other processes; returns the answer if one of them has put it into the cache meanwhile."""
    nap, began, reported = FIRST_NAP, time.monotonic(), False
    try:
        # Polled: a blocking lockf has no timeout, and the answer may come from a process that holds no lock.
        while not _files[path].lock(offset) and time.monotonic() < deadline:
            if (value := known()) is not None:
                return value
            if not reported and time.monotonic() - began > SILENT:
                progress.waits("another process asks the same", "waiting for another process that asks the same")
                reported = True
            time.sleep(nap)
            nap = min(nap * 1.5, LONGEST_NAP)
        return known()
    finally:
        if reported:
            progress.waits("")


def _leave(path: Path, offset: int) -> None:
    with _changed:
        file = _files[path]
        file.held.discard(offset)
        file.unlock(offset)
        if not file.held:
            del _files[path]
            file.close()
        _changed.notify_all()
