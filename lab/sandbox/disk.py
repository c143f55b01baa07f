"""How much of the disk a program holds, looked at from outside where no limit of the kernel says so.

A hostile program moves things about while we look: it puts a link where a folder was, gives a folder a new name every
moment, from where we look next to where we have been, holds files that it has removed. So its folder is walked from
descriptor to descriptor and never through a link; no look goes on beyond a limit or the deadline; and the program is
stopped for a second look where something could not be looked at, or where it has written more than it may hold and has
folders to move that to.
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
from dataclasses import dataclass
from pathlib import Path

from lab.sandbox.faults import SandboxFailed
from lab.sandbox.program import MB, Job

BLOCK = 512  # bytes in st_blocks
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
STOPPING_S = 0.1
# What the program can do: it moved what we had seen. What only this machine can do: it is short of something.
MOVED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESRCH)
SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def too_much(pid: int, alive: int, job: Job, deadline: float) -> bool:
    """Whether the program holds more than its limits allow, in its folder or in files that it has removed from there.

    A folder that cannot be looked into (no permission) holds too much: anything may be in it.
    alive: a descriptor of the process. deadline: as time.monotonic() tells; a look that it cuts short says no.
    Raises SandboxFailed if this machine cannot look.
    """
    look = _Look(job, deadline)
    look.at(pid)
    if look.puzzled and not look.too_much:
        with _stopped(pid, alive, deadline):
            look = _Look(job, deadline, standing=True)
            look.at(pid)
    return look.too_much


@dataclass
class _Look:
    """What one look has found so far, size in bytes.

    standing: the program is stopped meanwhile. puzzled: something could not be looked at; it may have gone since it was
    listed, and of a process that is just ending not everybody may see all. Or it may have been moved meanwhile.
    """

    job: Job
    deadline: float
    standing: bool = False
    size: float = 0
    entries: int = 0
    puzzled: bool = False

    @property
    def too_much(self) -> bool:
        limits = self.job.limits
        return self.size > limits.disk_mb * MB or self.entries > limits.disk_entries

    @property
    def over(self) -> bool:
        return self.too_much or time.monotonic() > self.deadline or (self.puzzled and not self.standing)

    def at(self, pid: int) -> None:
        # What is removed never gets a name again, so whatever slips between these two is seen by the next look.
        self._removed(pid)
        waiting: list[tuple[str, ...]] = [()]
        while waiting and not self.over:
            place = waiting.pop()
            with self._noting(), _opened(self.job.folder, place) as folder, os.scandir(folder) as found:
                for entry in found:
                    self.entries += 1
                    if self.over:
                        return
                    with self._noting():
                        seen = entry.stat(follow_symlinks=False)
                        self.size += seen.st_blocks * BLOCK
                        if stat.S_ISDIR(seen.st_mode):
                            waiting.append((*place, entry.name))
                            self.puzzled |= _written(pid) > self.job.limits.disk_mb * MB

    def _removed(self, pid: int) -> None:
        """Adds the files without a name that the program holds open or mapped.

        Its threads share memory and open files (`system_calls` sees to that), so any that lives shows those of all; the
        first one may have ended alone.
        """
        for task in tasks(pid):
            with self._noting():
                if not (maps := (task / "maps").read_bytes()):
                    continue
                open_inodes = set()
                for name in os.listdir(task / "fd"):
                    with self._noting():
                        seen = os.stat(task / "fd" / name)
                        if seen.st_nlink == 0 and seen.st_ino not in open_inodes:
                            open_inodes.add(seen.st_ino)
                            self.size += seen.st_blocks * BLOCK
                if _mapped_without_name(maps, self.job.folder) - open_inodes:
                    self.size = math.inf  # how large a file is that is mapped and not open, nobody tells
                return

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in SHORT:
                raise SandboxFailed(f"this machine cannot see how much disk a program takes: {error}") from error
            self.puzzled = True
            if self.standing and error.errno not in MOVED:
                self.size = math.inf


@contextlib.contextmanager
def _opened(top: Path, place: tuple[str, ...]) -> Iterator[int]:
    """A descriptor of a folder below the top, reached step by step; one at a time, as other threads need some too."""
    folder = os.open(top, FOLDER)
    try:
        for name in place:
            inner = os.open(name, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _mapped_without_name(maps: bytes, folder: Path) -> set[int]:
    """Inodes of removed files of the folder, from /proc/PID/maps: address, rights, offset, device, inode, path.

    The kernel writes a line end in a path as \\012, and nothing else in another way.
    """
    within = os.fsencode(folder).replace(b"\n", rb"\012") + b"/"
    lines = (line.split(maxsplit=5) for line in maps.splitlines() if line.endswith(b" (deleted)"))
    return {int(fields[4]) for fields in lines if len(fields) == 6 and fields[5].startswith(within)}


def _written(pid: int) -> float:
    """Bytes that it has ever written, see /proc/PID/io in proc(5): by calls, or by pages on a disk."""
    try:
        fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        return max(int(fields["wchar"]), int(fields["write_bytes"]))
    except (OSError, KeyError):  # a kernel that does not count
        return math.inf


@contextlib.contextmanager
def _stopped(pid: int, alive: int, deadline: float) -> Iterator[None]:
    """The program stands still meanwhile; no program can refuse the signal."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(alive, signal.SIGSTOP)
    until = min(deadline, time.monotonic() + STOPPING_S)
    while time.monotonic() < until and any(_state(task) not in "TtZX" for task in tasks(pid)):
        time.sleep(0.001)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(alive, signal.SIGCONT)


def tasks(pid: int) -> list[Path]:
    """Folders of its threads under /proc; none once it has gone."""
    try:
        return [Path(f"/proc/{pid}/task/{name}") for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _state(task: Path) -> str:
    """As in proc(5), R for running; X once it has gone."""
    try:
        return (task / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return "X"
