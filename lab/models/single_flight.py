"""Who may ask: of all threads and processes that want one answer, the first asks and the others wait for it.

A claim is a lock on one byte of a file beside the cache, chosen by the key. The kernel drops it when its process dies,
so that there is no expiry to wait for and nothing to clean up, and it takes no room on a full disk.
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

FIRST_NAP, LONGEST_NAP = 0.002, 0.05  # seconds between two looks at another process's claim
SILENT = 2.0  # seconds of waiting before the progress line says so


class _Claimed:
    """The claims of this process on one file, which stays open as long as there is one.

    Closing any descriptor of the file would drop all of the process's locks on it: hence one for all threads.
    """

    def __init__(self, path: Path) -> None:
        self.places: set[int] = set()
        self.descriptor: int | None = None
        with suppress(OSError):  # without it, only the threads of a process wait for each other
            path.parent.mkdir(parents=True, exist_ok=True)
            self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def lock(self, place: int) -> bool:
        """Whether no other process is at this place; if so, none will be until `unlock`."""
        try:
            if self.descriptor is not None:
                fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # POSIX allows either for a lock that another holds
            return False
        except OSError:  # a file system without locks
            return True
        return True

    def unlock(self, place: int) -> None:
        with suppress(OSError):
            if self.descriptor is not None:
                fcntl.lockf(self.descriptor, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)


_files: dict[Path, _Claimed] = {}
_changed = threading.Condition()


def _forget() -> None:
    """In a forked child: its parent's claims are not its own, and its parent's threads are not there."""
    global _changed
    _files.clear()
    _changed = threading.Condition()


os.register_at_fork(after_in_child=_forget)


@contextmanager
def claimed(path: Path, key: str, known: Callable[[], Any | None], seconds: float) -> Iterator[Any | None]:
    """Give what is known by now, or None and with it the right to ask, which nobody else has while the block lasts.

    key: hex. known: looks for the answer. seconds: after waiting so long for another's answer it is asked for anyway,
    since a process that was stopped would hold its claim for ever.
    """
    path, place, deadline = path.resolve(), int(key[:15], 16), time.monotonic() + seconds
    if not _enter(path, place, known, deadline):
        yield known()
        return
    try:
        yield _alone(path, place, known, deadline)
    finally:
        _leave(path, place)


def _enter(path: Path, place: int, known: Callable[[], Any | None], deadline: float) -> bool:
    """Be the only thread of this process at this place; False if the answer came first, or time is up."""
    with _changed:
        while path in _files and place in _files[path].places:
            left = deadline - time.monotonic()
            if left <= 0 or known() is not None:
                return False
            _changed.wait(min(left, 1.0))
        if path not in _files:
            _files[path] = _Claimed(path)
        _files[path].places.add(place)
        return True


def _alone(path: Path, place: int, known: Callable[[], Any | None], deadline: float) -> Any | None:
    """Wait until no other process is at this place, or the answer is there."""
    nap, began, told = FIRST_NAP, time.monotonic(), False
    try:
        while not _files[path].lock(place) and time.monotonic() < deadline:
            if (value := known()) is not None:
                return value
            if not told and time.monotonic() - began > SILENT:
                progress.note("waiting for another process that asks the same")
                told = True
            time.sleep(nap)
            nap = min(nap * 1.5, LONGEST_NAP)
        return known()
    finally:
        if told:
            progress.note("")


def _leave(path: Path, place: int) -> None:
    with _changed:
        file = _files[path]
        file.places.discard(place)
        file.unlock(place)
        if not file.places:
            del _files[path]
            file.close()
        _changed.notify_all()
