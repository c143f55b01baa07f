"""How much of the disk a program holds; no limit of the kernel says so without a mount.

A hostile program moves things about: it puts a link where a folder was, gives a folder a new name every moment, or
holds files that it has removed. So it is stopped while its folder is measured, and no link is followed.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from lab.sandbox.program import MB, Job, SandboxFailed

BLOCK = 512  # bytes in st_blocks
STOPPING_S = 0.1  # a thread that waits for a disk stops only after that
# A thread that did not stop in time has just moved something, or the process is just ending: the next look sees it.
MOVED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESRCH)
SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
STOPPED_OR_ENDED = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG


def holds_too_much(pid: int, job: Job) -> bool:
    """Whether the program holds more than its limits allow, in its folder or in files that it has removed from there.

    A folder that cannot be listed (no permission, path too long) holds too much: anything may be in it.
    Raises SandboxFailed if this machine is too short of memory or descriptors to look.
    """
    limit = job.limits.disk_mb * MB
    with _stopped(pid):
        try:
            size = _removed(pid, job.folder)
            for count, status in enumerate(_entries(job.folder), 1):
                size += status.st_blocks * BLOCK
                if size > limit or count > job.limits.disk_entries:
                    return True
            return size > limit
        except OSError as error:
            if error.errno in SHORT:
                raise SandboxFailed(f"this machine cannot see how much disk a program takes: {error}") from error
            return error.errno not in MOVED


def _entries(folder: Path) -> Iterator[os.stat_result]:
    """The status of every file and folder within, at any depth."""
    waiting = [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(entry.path)
                yield status


def _removed(pid: int, folder: Path) -> float:
    """Bytes in files without a name that the program holds open; infinite if it has mapped one and closed it.

    Its threads share memory and open files (`system_calls` sees to that), so any that lives shows those of all; the
    first one may have ended alone.
    """
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if not (maps := (task / "maps").read_bytes()):
                continue
            statuses = [os.stat(task / "fd" / name) for name in os.listdir(task / "fd")]
            held = {status.st_ino: status.st_blocks * BLOCK for status in statuses if status.st_nlink == 0}
            # The size of a file that is mapped and not open cannot be asked.
            return math.inf if _mapped_without_name(maps, folder) - held.keys() else sum(held.values())
    return 0


def _mapped_without_name(maps: bytes, folder: Path) -> set[int]:
    """Inodes of removed files of the folder, from /proc/PID/maps: address, rights, offset, device, inode, path.

    The kernel writes a line end in a path as \\012, and nothing else in another way.
    """
    within = os.fsencode(folder).replace(b"\n", rb"\012") + b"/"
    lines = (line.split(maxsplit=5) for line in maps.splitlines() if line.endswith(b" (deleted)"))
    return {int(fields[4]) for fields in lines if len(fields) == 6 and fields[5].startswith(within)}


@contextlib.contextmanager
def _stopped(pid: int) -> Iterator[None]:
    """The program stands still meanwhile; it can neither refuse SIGSTOP nor send SIGCONT (`system_calls`)."""
    os.kill(pid, signal.SIGSTOP)
    try:
        until = time.monotonic() + STOPPING_S
        while not os.waitid(os.P_PID, pid, STOPPED_OR_ENDED) and time.monotonic() < until:
            time.sleep(0.0005)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
