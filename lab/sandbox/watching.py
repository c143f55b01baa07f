"""Watches a running program: reads what it prints, and ends it when it passes a limit; our own memory stays bounded.

It also tells a fault of the machine, which raises SandboxFailed, from what the program did, which is a result. A fault
is only what no program can bring about, or a hostile one would be played again and again:

- The program never began (`first_steps.start`).
- Its working folder is another one or gone. A program may empty it, but has no rights on the folder above.
- A SIGKILL came that we did not send. The filter in `system_calls` leaves a program every other signal. One that the
  kernel kills for want of memory kept within its own limit: the machine is smaller than that limit promises.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from lab.sandbox.disk import holds_too_much
from lab.sandbox.first_steps import start
from lab.sandbox.program import Ending, Job, Result, SandboxFailed

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
