"""Reads what a program prints and ends it when it passes a limit; the parent's own memory stays bounded."""

from __future__ import annotations

import contextlib
import math
import os
import selectors
import signal
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lab.sandbox.program import MB, Child, Ending, Job, Result

TICK_S = 0.02
BLOCK = 512  # bytes in st_blocks


@dataclass
class Stream:
    """One pipe, read to its end and kept up to the limit."""

    fd: int
    limit: int
    kept: bytearray = field(default_factory=bytearray)
    full: bool = False

    def read(self) -> bool:
        """Whether there may be more to read."""
        try:
            piece = os.read(self.fd, 64 * 1024)
        except BlockingIOError:
            return False
        self.full |= len(self.kept) + len(piece) > self.limit
        self.kept += piece[: self.limit - len(self.kept)]
        return bool(piece) and not self.full

    def text(self) -> str:
        return self.kept.decode("utf-8", "replace")


def watched(child: Child, job: Job, started: float) -> Result:
    """The result of a program that has just been started; when this returns, the program is gone.

    started: time.monotonic() when the call began; the timeout counts from there.
    """
    out, err = (Stream(fd, job.limits.output_bytes) for fd in (child.stdout, child.stderr))
    ended: Ending = "killed"
    try:
        ended = _until_the_end(child, job, (out, err), started + job.timeout)
    finally:
        if ended != "exit":
            child.kill()
        returncode = child.wait()
        seconds = time.monotonic() - started
        for stream in (out, err):
            while not stream.full and stream.read():
                pass
        child.close()
    truncated = out.full or err.full
    if ended == "exit" and truncated:
        ended = "output"
    if ended == "exit" and returncode < 0:
        ended = "timeout" if -returncode == signal.SIGXCPU else "killed"
    kept = returncode if ended in ("exit", "killed") else None
    return Result(out.text(), err.text(), kept, ended, truncated, seconds)


def _until_the_end(child: Child, job: Job, streams: tuple[Stream, Stream], deadline: float) -> Ending:
    with selectors.DefaultSelector() as events, contextlib.ExitStack() as opened:
        try:
            alive = os.pidfd_open(child.pid)
        except ProcessLookupError:
            return "exit"
        opened.callback(os.close, alive)
        events.register(alive, selectors.EVENT_READ)
        for stream in streams:
            os.set_blocking(stream.fd, False)
            events.register(stream.fd, selectors.EVENT_READ, stream)
        while True:
            ready = events.select(max(0.0, min(TICK_S, deadline - time.monotonic())))
            for key, _ in ready:
                if key.data and not key.data.read():
                    events.unregister(key.fd)
            if any(stream.full for stream in streams):
                return "output"
            if any(key.fd == alive for key, _ in ready):
                return "exit"
            if time.monotonic() >= deadline:
                return "timeout"
            if passed := _passed(child.pid, job):
                return passed


def _passed(pid: int, job: Job) -> Ending | None:
    """The limit that no kernel limit holds (so closely) and that the program has passed."""
    limits, seen = job.limits, process_statistics(pid)
    if seen.threads > limits.threads:
        return "threads"
    if seen.cpu_s > job.cpu_s:
        return "timeout"
    size, entries = usage(job.folder)
    if size + _unlinked(pid) > limits.disk_mb * MB or entries > limits.disk_entries:
        return "disk"
    return None


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


def usage(folder: Path) -> tuple[int, float]:
    """Bytes on disk and number of entries below a folder; links are counted, not followed.

    A folder that cannot be looked into (no permission, a path too long) counts as endless: anything may be in it.
    """
    size, entries = 0, 0.0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):  # it went while we looked
            continue
        except OSError:
            return size, math.inf
    return size, entries


def _unlinked(pid: int) -> int:
    """Bytes of files that the program has removed and holds open."""
    size = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found = os.stat(f"/proc/{pid}/fd/{name}")
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                    size += found.st_blocks * BLOCK
    return size
