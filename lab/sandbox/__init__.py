"""The sandbox: runs Python programs written by a model where they can do no harm.

A program has the standard library, the files it is given, a working folder that is removed when it ends, and nothing
else: no network, no environment, no other file of the host, no second process, bounded memory, time, threads, output,
disk. Three features of the kernel confine it, which need no privileges and no packages: Landlock for files, a filter of
system calls (both in `confinement`), and resource limits (`first_steps`). Programs run only after an escape test of our
own has failed on this machine (`selftest`).

Not prevented: a program can find out whether a host path exists, how large and how old it is, but never read it.
Threads, processor time and disk are checked every 20 ms; a program can exceed their limits between two checks.
`docs/sandbox.md` lists the guarantees, and how they were tested.
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
# Names of the folders in a program's output, so that it is the same on every machine.
WORK, LIBRARY = "/untrusted", "/python"


def run_untrusted(
    code: str, files: Mapping[str, Path | str], timeout: float = 10.0, limits: Limits | None = None
) -> Result:
    """Run Python source as `__main__` and wait for its end. The program's failures are in the result, not raised.

    files: name in the working folder -> a folder or file of the host (Path), read-only and not copied, or a text,
    which is written there. The working folder is on the path: with {"tools": folder},
    `from tools.Flights import Flights` works.
    Only the standard library can be imported, not this suite or any installed package.
    timeout: seconds of wall clock, after the interpreter has started.
    Raises SandboxUnavailable if the sandbox does not hold on this machine.
    Raises SandboxFailed if the machine kept the program from running, which is worth a retry.
    Raises ValueError for an invalid name or path.
    """
    with prepared(code, files, timeout, limits or Limits()) as job:
        if reason := refusal():
            raise SandboxUnavailable(reason)
        result = watched(job)
    # Paths in its output, as in a traceback, are the same wherever it runs; else no run could be repeated.
    renamed = {str(job.folder): WORK} | {str(path): f"{WORK}/{name}" for name, path in job.shared.items()}
    renamed |= {str(folder): LIBRARY for folder in interpreter().library}
    stdout, stderr = result.stdout, result.stderr
    for path in sorted(renamed, key=len, reverse=True):  # longest first: one path may contain another
        stdout, stderr = stdout.replace(path, renamed[path]), stderr.replace(path, renamed[path])
    return replace(result, stdout=stdout, stderr=stderr)


@cache
def refusal() -> str:
    """Why no program runs on this machine; "" if the sandbox holds. Tested once per process."""
    try:
        examine()
    except SandboxUnavailable as error:
        return f"No sandbox holds on this machine, so code written by a model does not run: {error}. It needs {NEEDS}"
    return ""


def checks() -> list[Check]:
    """The check of `python -m lab doctor`: whether model-written programs can run here."""
    reason = refusal()
    return [Check("a sandbox for model-written programs", not reason, reason or "it holds", f"use {NEEDS}")]
