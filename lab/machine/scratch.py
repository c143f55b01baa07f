"""Working folders on the host: each held by a lock while it is used, so that those of a killed process can be told."""

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

MARK = "locked-"  # in the name of such a folder; others are none of ours


@contextlib.contextmanager
def scratch_folder(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """A new folder, removed afterwards whatever is in it. Raises OSError if it cannot be made, BackendDied if
    it cannot be removed.

    prefix: of its name. within: where it is made, by default among temporary files.

    The first call of a process removes those that killed processes left: whose lock, which ends with its holder, nobody
    has. Processes forked meanwhile hold it too; programs do not, since descriptors close when one starts.
    """
    parent = (within or Path(tempfile.gettempdir())).resolve()
    _remove_what_is_left(parent, prefix)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix + MARK, dir=parent))
        with _locked(folder, fcntl.LOCK_EX) as held:
            if not held:  # another process has taken it for left over, between the two lines above
                continue
            try:
                yield folder
            finally:
                _remove(folder)
            return


def identity(folder: Path) -> tuple[int, int]:
    """Device and inode."""
    status = os.lstat(folder)
    return status.st_dev, status.st_ino


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Iterator[bool]:
    """Whether the lock was had, and of the folder that still has that name."""
    with contextlib.ExitStack() as opened:
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, descriptor)
            fcntl.flock(descriptor, how)
            status = os.fstat(descriptor)
            held = (status.st_dev, status.st_ino) == identity(folder)
        except (FileNotFoundError, BlockingIOError):
            held = False
        except OSError:  # a file system without locks: there nothing is ever taken for left over
            held = how == fcntl.LOCK_EX
        yield held


@cache
def _remove_what_is_left(parent: Path, prefix: str) -> None:
    for path in parent.glob(f"{prefix}{MARK}*"):
        with contextlib.suppress(OSError, BackendDied), _locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB) as left_over:
            if left_over and os.lstat(path).st_uid == os.geteuid():
                _remove(path)


def _remove(folder: Path) -> None:
    """A program may leave folders that cannot be read, or thousands within each other; no link is followed."""

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
