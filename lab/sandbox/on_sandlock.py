"""sandlock: Landlock and seccomp without namespaces; unprivileged, from Linux 6.7 on."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import Any

from lab.sandbox import disk
from lab.sandbox.faults import BackendRefused, SandboxFailed
from lab.sandbox.first_steps import command
from lab.sandbox.interpreter import environment, interpreter
from lab.sandbox.program import Job

INSTALL = "python -m pip install -r requirements.txt"
DEVICES = ("/dev/null", "/dev/urandom")


class Confined:
    """A program that sandlock has started. Its supervisor is a thread of this process, and dies only with it."""

    exact = True

    def __init__(self, process: Any, job: Job) -> None:
        self.process, self.job = process, job
        self.pid = process.pid or 0
        self.stdout, self.stderr = process.stdout.fileno(), process.stderr.fileno()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def wait(self) -> int:
        ended = self.process.wait()
        if ended.error:
            raise SandboxFailed(f"sandlock lost the program: {ended.error}")
        if ended.signal and ended.signal > 0:
            return -ended.signal
        # sandlock has no signal number for a SIGKILL: the reason is KILLED, and the exit code -1.
        return ended.exit_code if ended.exit_code >= 0 else -signal.SIGKILL

    def folder_gone(self) -> bool:
        return self.job.folder_gone

    def holds_too_much(self, alive: int, deadline: float) -> bool:
        """No limit of the kernel can be had without a mount of our own, so the disk is looked at."""
        return disk.too_much(self.pid, alive, self.job, deadline)

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


def start(job: Job) -> Confined:
    """The job's program, running; BackendRefused if sandlock is not there or does not start."""
    try:
        import sandlock
    except (ImportError, OSError, RuntimeError) as error:
        raise BackendRefused(f"sandlock cannot be loaded ({error}); {INSTALL}") from error
    for name, path in job.shared.items():
        os.symlink(path, job.folder / name)
    try:
        box = sandlock.Sandbox(**_policy(job, sandlock.Protection))
        piped = sandlock.StdioMode.PIPED
        return Confined(box.popen(command(job), stdin=piped, stdout=piped, stderr=piped), job)
    except (RuntimeError, OSError, sandlock.SandlockError) as error:
        raise BackendRefused(f"sandlock does not start a program here: {error}") from error


def _policy(job: Job, protections: Any) -> dict[str, Any]:
    python = interpreter()
    readable = [python.executable, *python.library, *python.shared, *job.shared.values(), *DEVICES]
    return {
        "fs_readable": [str(path) for path in readable],
        "fs_denied": [str(path) for path in python.packages],
        "fs_writable": [str(job.folder)],
        "cwd": str(job.folder),
        "clean_env": True,
        "env": environment(str(job.folder)),
        "max_processes": 1,
        "max_open_files": job.limits.open_files,
        # Older kernels lack these; our own filter refuses every signal, socket and device call they are about.
        "allow_degraded": [
            protections.SIGNAL_SCOPE,
            protections.ABSTRACT_UNIX_SOCKET_SCOPE,
            protections.NET_TCP,
            protections.FS_IOCTL_DEV,
        ],
    }
