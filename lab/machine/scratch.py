"""Temporary working folders, locked while in use, so that folders of killed processes are recognised and removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lab.machine.faults import BackendDied

MARK = "locked-"  # marks our folders by their name


@contextlib.contextmanager
def scratch_folder(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """A new folder, removed afterwards whatever its content.

    prefix: of its name. within: its parent, by default the folder of temporary files.
    Raises OSError if it cannot be made, BackendDied if it cannot be removed.

    A process's first call removes folders that killed processes left: those that nobody locks, since a lock ends with
    its holder. Forked processes share the lock; started programs do not, since descriptors close on exec.
    """
    parent = (within or Path(tempfile.gettempdir())).resolve()
    _remove_what_is_left(parent, prefix)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix + MARK, dir=parent))
        with _locked(folder, fcntl.LOCK_EX) as locked:
            if not locked:  # between these two lines, another process took it for a leftover
                continue
            try:
                yield folder
            finally:
                _remove(folder)
            return


def identity(folder: Path) -> tuple[int, int]:
    """Device and inode, which identify a folder."""
    status = os.lstat(folder)
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Iterator[bool]:
    """Yield whether the lock was acquired, and the folder still has this name."""
    with contextlib.ExitStack() as opened:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, descriptor)
            fcntl.flock(descriptor, how)
            status = os.fstat(descriptor)
            locked = (status.st_dev, status.st_ino) == identity(folder)
        except (FileNotFoundError, BlockingIOError):
            locked = False
        except OSError:  # a file system without locks: there, nothing counts as a leftover
            locked = how == fcntl.LOCK_EX
        yield locked


@cache
def _remove_what_is_left(parent: Path, prefix: str) -> None:
    for path in parent.glob(f"{prefix}{MARK}*"):
        with contextlib.suppress(OSError, BackendDied), _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB) as left_over:
            if left_over and os.lstat(path).st_uid == os.geteuid():
                _remove(path)


def _remove(folder: Path) -> None:
    """Remove a folder, also with unreadable or thousands of nested folders; follows no link. Raises BackendDied."""

    def unlock(_call: object, path: str, _error: object) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            os.chmod(path, 0o700)

    for _ in range(2):
        with contextlib.suppress(RecursionError, OSError):
            shutil.rmtree(folder, onerror=unlock)
        if not folder.exists():
            return
    removed = subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, text=True, errors="replace")
    if removed.returncode:
        raise BackendDied(f"the working folder {folder} cannot be removed: {removed.stderr.strip()[-500:]}")
