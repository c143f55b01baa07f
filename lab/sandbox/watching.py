"""Watches a running program: reads what it prints, and ends it when it passes a limit; our own memory stays bounded.

It also tells a fault of the machine, which raises SandboxFailed, from what the program did, which is a result. A fault
is only what no program can bring about, or a hostile one would be played again and again:

- The program never began: `first_steps` says when it does, in a byte that the program cannot take back.
- Its working folder is another one or gone. Inside a sandbox a program may empty its folder; to remove or rename it, it
  would need rights on the folder above, which no backend gives. So a folder that is only empty is a result.
- A SIGKILL came that we did not send. The filter in `system_calls` leaves a program every other signal, which therefore
  stay results, whoever sent them. A program that the kernel kills for want of memory kept within its own limit, so the
  machine is smaller than that limit promises.
- What holds the program died (`Child.wait`).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lab.sandbox.faults import SandboxFailed
from lab.sandbox.first_steps import BEGUN
from lab.sandbox.program import Child, Ending, Job, Result

TICK_S = 0.02
STARTING_S = 20.0  # normally 0.04; a busy machine may take long, and that is not the program's time


@dataclass
class Stream:
    """One pipe, read to its end and kept up to the limit. awaited: its beginning, which is not kept; "" once read."""

    fd: int
    limit: int
    awaited: bytes = b""
    kept: bytearray = field(default_factory=bytearray)
    full: bool = False

    def read(self) -> bool:
        """Whether there may be more to read."""
        try:
            piece = os.read(self.fd, 64 * 1024)
        except BlockingIOError:
            return False
        if self.awaited and piece.startswith(self.awaited):
            piece, self.awaited = piece[len(self.awaited) :], b""
            if not piece:
                return True
        self.full |= len(self.kept) + len(piece) > self.limit
        self.kept += piece[: self.limit - len(self.kept)]
        return bool(piece) and not self.full

    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")


def watched(child: Child, job: Job, started: float) -> Result:
    """The result of a program that has just been started; when this returns or raises, the program is gone.

    started: time.monotonic() when the call began; the timeout counts from the program's first step.
    Raises SandboxFailed for a fault of the machine.
    """
    watch = _Watch(child, job)
    ended: Ending = "killed"
    try:
        ended = watch.until_the_end()
    finally:
        try:
            if ended != "exit":
                child.kill()
            returncode = child.wait()
        finally:
            seconds = time.monotonic() - started
            for stream in (watch.out, watch.err):
                while not stream.full and stream.read():
                    pass
            child.close()
    if fault := watch.fault(ended, returncode):
        raise SandboxFailed(fault)
    truncated = watch.out.full or watch.err.full
    if ended == "exit" and truncated:
        ended = "output"
    if ended == "exit" and returncode < 0:
        ended = "timeout" if -returncode == signal.SIGXCPU or watch.cpu_limit_may_have_killed(returncode) else "killed"
    kept = returncode if ended in ("exit", "killed") else None
    return Result(watch.out.text(), watch.err.text(), kept, ended, truncated, seconds)


class _Watch:
    """One running program and what was seen of it so far. looked: when its processor time was last read."""

    def __init__(self, child: Child, job: Job) -> None:
        self.child, self.job = child, job
        self.out = Stream(child.stdout, job.limits.output_bytes, BEGUN)
        self.err = Stream(child.stderr, job.limits.output_bytes)
        self.cpu_s, self.looked = 0.0, time.monotonic()

    def until_the_end(self) -> Ending:
        """How it ended; a program whose folder is gone is to be ended, which reads "killed"."""
        with selectors.DefaultSelector() as events, contextlib.ExitStack() as opened:
            try:
                alive = os.pidfd_open(self.child.pid)
            except ProcessLookupError:
                return "exit"
            opened.callback(os.close, alive)
            events.register(alive, selectors.EVENT_READ)
            for stream in (self.out, self.err):
                os.set_blocking(stream.fd, False)
                events.register(stream.fd, selectors.EVENT_READ, stream)
            begun, deadline = False, time.monotonic() + STARTING_S
            while True:
                ready = events.select(max(0.0, min(TICK_S, deadline - time.monotonic())))
                for key, _ in ready:
                    if key.data and not key.data.read():
                        events.unregister(key.fd)
                # Until then no limit counts: a busy machine's slow start is not the program's.
                if not begun and not self.out.awaited:
                    begun, deadline = True, time.monotonic() + self.job.timeout
                if self.out.full or self.err.full:
                    return "output"
                if any(key.fd == alive for key, _ in ready):
                    left = begun and self.child.holds_too_much(alive, time.monotonic() + TICK_S)
                    return "disk" if left else "exit"
                if time.monotonic() >= deadline:
                    return "timeout"
                if self.child.folder_gone():
                    return "killed"
                if begun and (passed := self._passed(alive, deadline)):
                    return passed

    def _passed(self, alive: int, deadline: float) -> Ending | None:
        """The limit that no kernel limit holds (so closely) and that the program has passed."""
        limits, seen = self.job.limits, process_statistics(self.child.pid)
        self.cpu_s, self.looked = max(self.cpu_s, seen.cpu_s), time.monotonic()
        if seen.threads > limits.threads:
            return "threads"
        if seen.cpu_s > self.job.cpu_s:
            return "timeout"
        return "disk" if self.child.holds_too_much(alive, deadline) else None

    def fault(self, ended: Ending, returncode: int) -> str:
        """What the machine did to the program; "" where the program's end is its own."""
        if self.child.folder_gone():
            return f"the working folder {self.job.folder} of a program was removed while it ran"
        if self.out.awaited:
            how = f"within {STARTING_S:g} s" if ended == "timeout" else f"and ended with status {returncode}"
            return f"the interpreter of a program did not start {how}: {self.err.text().strip()[-500:] or 'no message'}"
        if not self.child.exact or ended != "exit" or returncode != -signal.SIGKILL:
            return ""
        if self.cpu_limit_may_have_killed(returncode):
            return ""
        return "a program was killed from outside, by a SIGKILL that neither it nor its sandbox sent"

    def cpu_limit_may_have_killed(self, returncode: int) -> bool:
        """Whether a SIGKILL may be the kernel's for processor time, which comes if we look too late.

        At the hard limit the kernel sends SIGKILL (setrlimit(2)), and ours is as low as the soft one.
        """
        cores = min(self.job.limits.threads, os.cpu_count() or 1)
        most = self.cpu_s + (time.monotonic() - self.looked) * cores
        return self.child.exact and returncode == -signal.SIGKILL and most >= self.job.kernel_cpu_s


class Statistics(NamedTuple):
    """cpu_s: processor time of all threads so far."""

    cpu_s: float = 0.0
    threads: int = 0


def process_statistics(pid: int) -> Statistics:
    """From /proc/pid/stat, see proc(5); zeros once the process is gone."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Statistics()
    fields = line.rpartition(")")[2].split()  # the name before it may hold anything; the state, field 3, comes first
    ticks = int(fields[14 - 3]) + int(fields[15 - 3])
    return Statistics(ticks / os.sysconf("SC_CLK_TCK"), int(fields[20 - 3]))
