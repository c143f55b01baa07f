"""Whether this machine has what so many workers need, before anything runs: descriptors, memory, disk."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lab.machine.faults import Unavailable

# Per worker. A thread has a connection to the server and, for moments, a file; a process has pipes to this one.
DESCRIPTORS = 4
SPARE_DESCRIPTORS = 24  # caches, logs, the run's files
THREAD_MB, PROCESS_MB = 1, 80  # what it holds; Python with the suite loaded
STACK_MB = 8  # of addresses that a thread reserves
DISK_MB = 0.05  # an episode's lines and cached answers
SPARE_DISK_MB = 1.0
ADDRESSES = "ulimit -v"
CGROUP = Path("/sys/fs/cgroup")


class NotEnough(Unavailable):
    """This machine lacks what so many workers need. Names the limit, the need and the fix; nothing was played."""


def check(workers: int, processes: bool, folder: Path) -> None:
    """Raise the soft limit of descriptors as far as needed. Raises NotEnough.

    processes: whether workers are processes, else threads. folder: of the run.
    """
    _check_descriptors(workers)
    _check_memory(workers, processes)
    _check_disk(workers, folder)


def _check_descriptors(workers: int) -> None:
    spare = len(os.listdir("/proc/self/fd")) + SPARE_DESCRIPTORS if os.path.isdir("/proc/self/fd") else 64
    need = spare + workers * DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < need:
        most = need if hard == resource.RLIM_INFINITY else min(need, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    if resource.RLIM_INFINITY != soft < need:
        fit = max(1, (soft - spare) // DESCRIPTORS)
        raise NotEnough(
            f"workers={workers} need about {need} open files, and this process may have {soft} (its hard limit is "
            f"{hard}). Take workers={fit}, or raise the limit before: ulimit -Hn {need}, as root or in "
            "/etc/security/limits.conf"
        )


def _check_memory(workers: int, processes: bool) -> None:
    for free, limit in _free_mb(processes):
        each = PROCESS_MB if processes else STACK_MB if limit == ADDRESSES else THREAD_MB
        if (need := workers * each) > free:
            raise NotEnough(
                f"workers={workers} need about {need:,} MB of memory, and {max(0.0, free):,.0f} MB are free ({limit}). "
                f"Take workers={max(1, int(free / each))}, or end other programs"
            )


def _free_mb(processes: bool) -> Iterator[tuple[float, str]]:
    """Memory that the workers can still have, by each limit that is known."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable"))
        yield int(available.split()[1]) / 1024, "MemAvailable of /proc/meminfo"
    with suppress(OSError, ValueError):  # "max" is no number
        most, used = (int((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        yield (most - used) / 2**20 + _cached_mb(), "memory.max of the control group"
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY and not processes:  # each process has as many again
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield (soft - pages * resource.getpagesize()) / 2**20, ADDRESSES


def _cached_mb() -> float:
    """File cache of the control group, which gives way to programs."""
    lines = (CGROUP / "memory.stat").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0) / 2**20


def _check_disk(workers: int, folder: Path) -> None:
    there = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    free, need = shutil.disk_usage(there).free / 2**20, SPARE_DISK_MB + workers * DISK_MB
    if free < need:
        raise NotEnough(
            f"{there} has {free:.1f} MB of free disk, and workers={workers} need about {need:.1f} MB to begin. Make "
            "room there, or set LAB_RUNS to a folder on another disk"
        )
