"""The watcher of a running program: reads its output with bounded memory, and ends it when it exceeds a limit.

It also distinguishes faults of the machine, which raise SandboxFailed, from the program's own doing, which is a result.
Only what no program can cause counts as a fault; otherwise a hostile program would be retried again and again:

- The program never began (`first_steps.start`).
- Its working folder was replaced or is gone. A program may empty it, but has no rights on the parent folder.
- A SIGKILL came that we did not send. The filter of system calls lets a program send itself only other signals. If the
  kernel kills it for lack of memory, it was within its own limit: the machine has less memory than the limit promises.

Without a mount, the kernel has no limit for a program's disk space. A hostile program moves things: it replaces a
folder by a link, renames a folder all the time, or keeps removed files open. So it is stopped while its folder is
measured, and no link is followed.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import select
import signal
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lab.sandbox.first_steps import start
from lab.sandbox.program import MB, Ending, Job, Result, SandboxFailed

BLOCK = 512  # bytes in st_blocks
STOPPING_S = 0.1  # seconds to wait for the stop; a thread that waits for a disk stops only after that wait
# A thread that did not stop in time has just moved something, or the process is ending: the next check sees it.
MOVED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESRCH)
SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
STOPPED_OR_ENDED = os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG


def holds_too_much(pid: int, job: Job) -> bool:
    """Whether the program exceeds its disk limits, in its folder or in removed files that it still has open.

    A folder that cannot be listed (no permission, path too long) counts as too much, since anything may be in it.
    Raises SandboxFailed if this machine is too short of memory or descriptors to check.
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
    """Yield the status of every file and folder in `folder`, at any depth."""
    pending = [str(folder)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(entry.path)
                yield status


def _removed(pid: int, folder: Path) -> float:
    """Bytes of removed files that the program has open; infinite if it has mapped one and closed it.

    The filter ensures that its threads share memory and open files, so any living thread shows those of all; the first
    thread may have ended before the others.
    """
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if not (maps := (task / "maps").read_bytes()):
                continue
            statuses = [os.stat(task / "fd" / name) for name in os.listdir(task / "fd")]
            sizes = {status.st_ino: status.st_blocks * BLOCK for status in statuses if status.st_nlink == 0}
            # The size of a file that is mapped but not open cannot be determined.
            return math.inf if _mapped_without_name(maps, folder) - sizes.keys() else sum(sizes.values())
    return 0


def _mapped_without_name(maps: bytes, folder: Path) -> set[int]:
    """Inodes of removed files of the folder, from /proc/PID/maps: address, rights, offset, device, inode, path.

    The kernel escapes only the line end in a path, as \\012.
    """
    within = os.fsencode(folder).replace(b"\n", rb"\012") + b"/"
    lines = (line.split(maxsplit=5) for line in maps.splitlines() if line.endswith(b" (deleted)"))
    return {int(fields[4]) for fields in lines if len(fields) == 6 and fields[5].startswith(within)}


@contextlib.contextmanager
def _stopped(pid: int) -> Iterator[None]:
    """Stop the program for the duration of the context. It cannot ignore SIGSTOP, and the filter refuses SIGCONT."""
    os.kill(pid, signal.SIGSTOP)
    try:
        deadline = time.monotonic() + STOPPING_S
        while not os.waitid(os.P_PID, pid, STOPPED_OR_ENDED) and time.monotonic() < deadline:
            time.sleep(0.0005)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


TICK_S = 0.02
STARTING_S = 20.0  # normally 0.02; a busy machine may take longer, which does not count as the program's time


@dataclass
class Stream:
    """The output of one pipe. kept: at most `limit` bytes of it. full: the limit was exceeded."""

    fd: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    full: bool = False

    def read(self) -> None:
        """Read what is in the pipe now."""
        with contextlib.suppress(BlockingIOError):
            while not self.full and (piece := os.read(self.fd, 64 * 1024)):
                self.full = len(self.kept) + len(piece) > self.limit
                self.kept += piece[: self.limit - len(self.kept)]

    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")


def watched(job: Job) -> Result:
    """Start the job's program and wait for its end; when this returns or raises, the program has ended.

    Raises SandboxFailed for a fault of the machine.
    """
    started = time.monotonic()
    try:
        watch = _Watch(job)
    except OSError as error:  # the sandbox worked before: the machine temporarily lacks a resource
        raise SandboxFailed(f"the sandbox did not start a program: {error}") from error
    with watch.process, watch.began:
        try:
            ended = watch.until_the_end()
        finally:
            watch.process.kill()
            returncode = watch.process.wait()
        seconds = time.monotonic() - started
        watch.read()
    stdout, stderr = watch.stdout.text(), watch.stderr.text()
    if job.folder_gone:
        raise SandboxFailed(f"the working folder {job.folder} of a program was removed while it ran")
    if not watch.begun:
        detail = f"within {STARTING_S:g} s" if ended == "timeout" else f"and ended with status {returncode}"
        raise SandboxFailed(
            f"the interpreter of a program did not start {detail}: {stderr.strip()[-500:] or 'no message'}"
        )
    if ended == "exit" and returncode == -signal.SIGKILL:
        raise SandboxFailed("a program was killed from outside, by a SIGKILL that neither it nor its sandbox sent")
    if ended == "exit" and (watch.stdout.full or watch.stderr.full):
        ended = "output"
    if ended == "exit" and returncode < 0:
        ended = "timeout" if returncode == -signal.SIGXCPU else "killed"
    return Result(stdout, stderr, returncode if ended in ("exit", "killed") else None, ended, seconds)


class _Watch:
    """A started program and its output so far. begun: whether its own code has begun."""

    def __init__(self, job: Job) -> None:
        self.job, self.begun = job, False
        self.process, self.began = start(job)
        assert self.process.stdout and self.process.stderr
        self.stdout = Stream(self.process.stdout.fileno(), job.limits.output_bytes)
        self.stderr = Stream(self.process.stderr.fileno(), job.limits.output_bytes)
        for fd in (self.stdout.fd, self.stderr.fd, self.began.fileno()):
            os.set_blocking(fd, False)

    def until_the_end(self) -> Ending:
        """Wait until the program ends or exceeds a limit; returns which."""
        with open(os.pidfd_open(self.process.pid), "rb") as alive:
            poll = select.poll()
            poll.register(alive, select.POLLIN)
            deadline = time.monotonic() + STARTING_S
            while True:
                ended = bool(poll.poll(1000 * TICK_S))
                if self.read():  # limits count from here: a slow start on a busy machine is not the program's
                    deadline = time.monotonic() + self.job.timeout
                if ending := self._ending(ended, deadline):
                    return ending

    def read(self) -> bool:
        """Read the program's output; returns whether its own code has begun since the last call."""
        self.stdout.read()
        self.stderr.read()
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            if not self.begun and self.began.recv(1):
                self.begun = True
                return True
        return False

    def _ending(self, ended: bool, deadline: float) -> Ending | None:
        """The limit that the program has exceeded, or "exit" if it has ended; None while it may go on.

        A program whose folder is gone has to be ended, which is "killed".
        """
        if self.stdout.full or self.stderr.full:
            return "output"
        if self.begun and holds_too_much(self.process.pid, self.job):
            return "disk"
        if ended:
            return "exit"
        cpu_s, threads = process_statistics(self.process.pid)
        if time.monotonic() >= deadline or (self.begun and cpu_s > self.job.cpu_s):
            return "timeout"
        if self.job.folder_gone:
            return "killed"
        return "threads" if threads > self.job.limits.threads else None


def process_statistics(pid: int) -> tuple[float, int]:
    """Seconds of processor time of all threads so far, and the number of threads, from /proc/pid/stat: see proc(5)."""
    line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    fields = line.rpartition(")")[2].split()  # from field 3, the state, on: the name before may hold anything
    ticks = int(fields[14 - 3]) + int(fields[15 - 3])
    return ticks / os.sysconf("SC_CLK_TCK"), int(fields[20 - 3])
