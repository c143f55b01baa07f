"""Runs Python written by a model where it can do no harm.

A program has the standard library, the files it is given, a working folder that is removed when it ends, and nothing
else: no network, no environment, no other file of the host, no second process, bounded memory, time, threads, output,
disk. Three things of the kernel hold it, and need no rights and no packages: Landlock for files, a filter of system
calls (both in `confinement`), and resource limits (`first_steps`). Programs run only after our own have failed to get
out on this machine (`selftest`).

What is not held: a program can ask whether a host path exists, how large and how old it is, never what is in it.
Threads, processor time and disk are checked every 20 ms; a program can exceed their limits between two checks.
`docs/sandbox.md` has the promises, and how they were tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from lab.machine.doctor import Check
from lab.sandbox.program import Limits, Result, SandboxFailed, SandboxUnavailable, interpreter, prepared
from lab.sandbox.selftest import examine
from lab.sandbox.watching import watched

__all__ = ["Limits", "Result", "SandboxFailed", "SandboxUnavailable", "checks", "refusal", "run_untrusted"]

NEEDS = "Linux 5.13 or newer with Landlock, on x86_64 or aarch64"
# How the folders read in what a program prints: it is the same on every machine.
WORK, LIBRARY = "/untrusted", "/python"


def run_untrusted(
    code: str, files: Mapping[str, Path | str], timeout: float = 10.0, limits: Limits | None = None
) -> Result:
    """Run Python source as `__main__` and wait for its end; whatever it does shows in the result, not as an error.

    files: name in the working folder -> a folder or file of the host (Path), seen read-only and not copied, or a text,
    copied in. The working folder is on the path: {"tools": folder} lets `from tools.Flights import Flights` work.
    Only the standard library can be imported: neither this suite nor any installed package is there.
    timeout: seconds of wall clock, from when the interpreter has started.
    Raises SandboxUnavailable if the sandbox does not hold on this machine; SandboxFailed if the machine kept the
    program from running, which is worth another try; ValueError for a name or path that is not valid.
    """
    with prepared(code, files, timeout, limits or Limits()) as job:
        if reason := refusal():
            raise SandboxUnavailable(reason)
        result = watched(job)
    # The same paths in its texts wherever it ran, as in a traceback; else no run could be repeated.
    shown = {str(job.folder): WORK} | {str(path): f"{WORK}/{name}" for name, path in job.shared.items()}
    shown |= {str(folder): LIBRARY for folder in interpreter().library}
    stdout, stderr = result.stdout, result.stderr
    for path in sorted(shown, key=len, reverse=True):  # one may lie within another
        stdout, stderr = stdout.replace(path, shown[path]), stderr.replace(path, shown[path])
    return replace(result, stdout=stdout, stderr=stderr)


@cache
def refusal() -> str:
    """Why no program runs on this machine, empty if the sandbox holds; examined once in each process."""
    try:
        examine()
    except SandboxUnavailable as error:
        return f"No sandbox holds on this machine, so code written by a model does not run: {error}. It needs {NEEDS}"
    return ""


def checks() -> list[Check]:
    """For `python -m lab doctor`: whether model-written programs can run here."""
    reason = refusal()
    return [Check("a sandbox for model-written programs", not reason, reason or "it holds", f"use {NEEDS}")]
