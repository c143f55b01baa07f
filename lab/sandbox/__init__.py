"""Runs Python written by a model where it can do no harm.

A program has the standard library, the files it is given, a working folder that goes when it ends, and nothing else:
no network, no environment, no other file of the host, no second process, bounded memory, time, threads, output, disk.
Two layers hold it: a backend (sandlock, or bubblewrap), and limits and a system call filter of our own that are the
same in both (`first_steps`, `system_calls`). A backend is used only after our own programs failed to get out of it.

What is not held: under sandlock a program can ask whether a host path exists, how large and how old it is, never what
is in it. Threads, processor time and the number of files are looked at every 20 ms and may be passed by what fits
between two looks; the size of what is on the disk too under sandlock, while under bubblewrap the kernel holds it.
`docs/sandbox.md` has the promises by backend, and how they were tried.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from lab.machine.doctor import Check
from lab.sandbox import on_bubblewrap, on_sandlock, without_isolation
from lab.sandbox.faults import BackendRefused, SandboxFailed, SandboxUnavailable
from lab.sandbox.interpreter import interpreter
from lab.sandbox.program import (
    WORK,
    Job,
    Limits,
    Result,
    prepared,
)
from lab.sandbox.selftest import Start, examine
from lab.sandbox.watching import watched

__all__ = [
    "BACKENDS",
    "UNSAFE",
    "Limits",
    "Result",
    "SandboxFailed",
    "SandboxUnavailable",
    "checks",
    "run_untrusted",
    "verdict",
]

VARIABLE = "LAB_SANDBOX"
LIBRARY = "/python"  # how the standard library's folder reads in what a program prints
UNSAFE = "UNSAFE_no_isolation"
# In the order they are tried: the stronger first; sandlock comes with the suite's packages.
BACKENDS: dict[str, Start] = {"bubblewrap": on_bubblewrap.start, "sandlock": on_sandlock.start}

_verdicts: dict[str, str] = {}
_examining = threading.Lock()


def run_untrusted(
    code: str, files: Mapping[str, Path | str], timeout: float = 10.0, limits: Limits | None = None, backend: str = ""
) -> Result:
    """Run Python source as `__main__` and wait for its end; whatever it does shows in the result, not as an error.

    files: name in the working folder -> a folder or file of the host (Path), seen read-only and not copied, or a text,
    copied in. The working folder is on the path: {"tools": folder} lets `from tools.Flights import Flights` work.
    Only the standard library can be imported: neither this suite nor any installed package is there.
    timeout: seconds of wall clock, from when the interpreter has started.
    backend: one of BACKENDS; empty takes the environment's LAB_SANDBOX, else the first that holds.
    UNSAFE_no_isolation runs the program with all the rights of this process, and warns each time.
    What is printed is the same on every machine and backend: the working folder reads as /untrusted.
    Raises: SandboxUnavailable if no backend holds here or LAB_SANDBOX names none; SandboxFailed if the machine kept the
    program from running, which is worth another try; ValueError for a name or a number that cannot be.
    """
    with prepared(code, files, timeout, limits or Limits()) as job:
        start = _chosen(backend) if backend else _stated()
        started = time.monotonic()
        try:
            child = start(job)
        except (BackendRefused, OSError) as error:  # it held before: the machine is short of something for now
            raise SandboxFailed(f"the sandbox did not start a program: {error}") from error
        return without_host_paths(watched(child, job, started), job)


def without_host_paths(result: Result, job: Job) -> Result:
    """The result with the same paths in its texts wherever it ran, as in a traceback; else no run could be repeated."""
    seen = {str(job.folder): WORK} | {str(path): f"{WORK}/{name}" for name, path in job.shared.items()}
    seen |= {str(folder): LIBRARY for folder in interpreter().library}
    stdout, stderr = result.stdout, result.stderr
    for path in sorted(seen, key=len, reverse=True):  # one may lie within another
        stdout, stderr = stdout.replace(path, seen[path]), stderr.replace(path, seen[path])
    return replace(result, stdout=stdout, stderr=stderr)


def _stated() -> Start:
    name = os.environ.get(VARIABLE, "")
    try:
        return _chosen(name)
    except ValueError as error:  # of the machine's settings, and so no fault of the program
        raise SandboxUnavailable(f"{VARIABLE}={name!r}: {error}") from None


def _chosen(name: str) -> Start:
    if name == UNSAFE:
        return without_isolation.start
    if name and name not in BACKENDS:
        raise ValueError(f"no sandbox backend {name!r}; there are {', '.join(BACKENDS)} and {UNSAFE}")
    for candidate in [name] if name else BACKENDS:
        if not verdict(candidate):
            return BACKENDS[candidate]
    refused = "; ".join(f"{candidate}: {_verdicts[candidate]}" for candidate in ([name] if name else BACKENDS))
    raise SandboxUnavailable(
        f"No sandbox holds on this machine, so code written by a model does not run. {refused}. "
        f"Install one with: {on_sandlock.INSTALL} (sandlock, Linux 6.7 or newer), or {on_bubblewrap.INSTALL}"
    )


def verdict(name: str) -> str:
    """Why a backend was refused by its self-test, empty if it holds; examined once in each process."""
    with _examining:
        if name not in _verdicts:
            try:
                examine(BACKENDS[name])
                _verdicts[name] = ""
            except BackendRefused as error:
                _verdicts[name] = str(error)
        return _verdicts[name]


def checks() -> list[Check]:
    """For `python -m lab doctor`: whether model-written programs can run here."""
    reasons = {name: verdict(name) for name in BACKENDS}
    holding = [name for name, reason in reasons.items() if not reason]
    refused = "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason)
    detail = "; ".join(filter(None, [f"{holding[0]} holds" if holding else "", refused]))
    fix = f"{on_sandlock.INSTALL}, or {on_bubblewrap.INSTALL}"
    return [Check("a sandbox for model-written programs", bool(holding), detail, fix)]
