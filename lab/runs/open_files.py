"""The limit of open files: raised before a run starts, as far as so many workers need it and the machine allows."""

from __future__ import annotations

import os
import resource
from contextlib import suppress

from lab.machine.faults import Unavailable

PER_WORKER = 4  # a thread has a connection to the server and, for moments, a file; a process has pipes to this one
SPARE = 24  # caches, logs, the run's files


def allow(workers: int) -> None:
    """Raises the soft limit of open files as far as needed. Raises Unavailable where the hard limit is too low."""
    spare = len(os.listdir("/dev/fd")) + SPARE
    need = spare + workers * PER_WORKER
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != soft < need:
        most = need if hard == resource.RLIM_INFINITY else min(need, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    if resource.RLIM_INFINITY != soft < need:
        raise Unavailable(
            f"workers={workers} need about {need} open files, and this process may have {soft} (its hard limit is "
            f"{hard}). Take workers={max(1, (soft - spare) // PER_WORKER)}, or raise the limit before: "
            f"ulimit -Hn {need}, as root or in /etc/security/limits.conf"
        )
