"""Watches a running program: reads what it prints, and ends it when it passes a limit; our own memory stays bounded.

It also tells a fault of the machine, which raises SandboxFailed, from what the program did, which is a result. A fault
is only what no program can bring about, or a hostile one would be played again and again:

- The program never began (`first_steps.start`).
- Its working folder is another one or gone. A program may empty it, but has no rights on the folder above.
- A SIGKILL came that we did not send. The filter of system calls leaves a program every other signal. One that the
  kernel kills for want of memory kept within its own limit: the machine is smaller than that limit promises.

No limit of the kernel says how much of the disk a program holds, without a mount. A hostile one moves things about: it
puts a link where a folder was, gives a folder a new name every moment, or holds files that it has removed. So it is
stopped while its folder is measured, and no link is followed.
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

    Its threads share memory and open files (the filter sees to that), so any that lives shows those of all; the
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
    """The program stands still meanwhile; it can neither refuse SIGSTOP nor send SIGCONT, by the filter."""
    os.kill(pid, signal.SIGSTOP)
    try:
        until = time.monotonic() + STOPPING_S
        while not os.waitid(os.P_PID, pid, STOPPED_OR_ENDED) and time.monotonic() < until:
            time.sleep(0.0005)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


TICK_S = 0.02
STARTING_S = 20.0  # normally 0.02; a busy machine may take long, and that is not the program's time


@dataclass
class Stream:
    """One pipe, kept up to the limit."""

    fd: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    full: bool = False

    def read(self) -> None:
        """Read what the pipe holds now."""
        with contextlib.suppress(BlockingIOError):
            while not self.full and (piece := os.read(self.fd, 64 * 1024)):
                self.full = len(self.kept) + len(piece) > self.limit
                self.kept += piece[: self.limit - len(self.kept)]

    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")


def watched(job: Job) -> Result:
    """Start the job's program and wait for its end; when this returns or raises, the program is gone.

    Raises SandboxFailed for a fault of the machine.
    """
    started = time.monotonic()
    try:
        watch = _Watch(job)
    except OSError as error:  # the sandbox held before: the machine is short of something for now
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
        how = f"within {STARTING_S:g} s" if ended == "timeout" else f"and ended with status {returncode}"
        raise SandboxFailed(
            f"the interpreter of a program did not start {how}: {stderr.strip()[-500:] or 'no message'}"
        )
    if ended == "exit" and returncode == -signal.SIGKILL:
        raise SandboxFailed("a program was killed from outside, by a SIGKILL that neither it nor its sandbox sent")
    if ended == "exit" and (watch.stdout.full or watch.stderr.full):
        ended = "output"
    if ended == "exit" and returncode < 0:
        ended = "timeout" if returncode == -signal.SIGXCPU else "killed"
    return Result(stdout, stderr, returncode if ended in ("exit", "killed") else None, ended, seconds)


class _Watch:
    """A program that has been started, and what it has printed so far. begun: whether its first step has begun."""

    def __init__(self, job: Job) -> None:
        self.job, self.begun = job, False
        self.process, self.began = start(job)
        assert self.process.stdout and self.process.stderr
        self.stdout = Stream(self.process.stdout.fileno(), job.limits.output_bytes)
        self.stderr = Stream(self.process.stderr.fileno(), job.limits.output_bytes)
        for fd in (self.stdout.fd, self.stderr.fd, self.began.fileno()):
            os.set_blocking(fd, False)

    def until_the_end(self) -> Ending:
        """How the program ended or is to be ended."""
        with open(os.pidfd_open(self.process.pid), "rb") as alive:
            over = select.poll()
            over.register(alive, select.POLLIN)
            deadline = time.monotonic() + STARTING_S
            while True:
                ended = bool(over.poll(1000 * TICK_S))
                if self.read():  # until then no limit counts: a busy machine's slow start is not the program's
                    deadline = time.monotonic() + self.job.timeout
                if ending := self._ending(ended, deadline):
                    return ending

    def read(self) -> bool:
        """Read what the program has printed; returns whether its first step has begun since the last call."""
        self.stdout.read()
        self.stderr.read()
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            if not self.begun and self.began.recv(1):
                self.begun = True
                return True
        return False

    def _ending(self, ended: bool, deadline: float) -> Ending | None:
        """The limit that the program has passed, or "exit" if it has ended; None while it may go on.

        A program whose folder is gone is to be ended, which reads "killed".
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
    fields = line.rpartition(")")[2].split()  # the name before it may hold anything; the state, field 3, comes first
    ticks = int(fields[14 - 3]) + int(fields[15 - 3])
    return ticks / os.sysconf("SC_CLK_TCK"), int(fields[20 - 3])
