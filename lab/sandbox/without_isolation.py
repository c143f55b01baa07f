"""No sandbox at all: for a machine where none can be had and the code is trusted. Never chosen by itself."""

from __future__ import annotations

import os
import subprocess
import warnings

from lab.sandbox import disk
from lab.sandbox.first_steps import command
from lab.sandbox.interpreter import environment
from lab.sandbox.program import Job

warnings.filterwarnings("always", message="UNSAFE")  # each time, not once for each place in the code


class Unconfined:
    """A child process like any other: it may remove its folder or kill itself, so neither is the machine's fault."""

    exact = False

    def __init__(self, process: subprocess.Popen[bytes], job: Job) -> None:
        self.process, self.pid, self.job = process, process.pid, job
        assert process.stdout and process.stderr
        self.stdout, self.stderr = process.stdout.fileno(), process.stderr.fileno()

    def kill(self) -> None:
        self.process.kill()

    def wait(self) -> int:
        return self.process.wait()

    def folder_gone(self) -> bool:
        return False

    def holds_too_much(self, alive: int, deadline: float) -> bool:
        return disk.too_much(self.pid, alive, self.job, deadline)

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


def start(job: Job) -> Unconfined:
    """The job's program with every right of this process; only time, output and disk are watched."""
    warnings.warn("UNSAFE: a program runs without isolation, with every right of this process", stacklevel=3)
    for name, path in job.shared.items():
        os.symlink(path, job.folder / name)
    return Unconfined(
        subprocess.Popen(
            command(job, confined=False),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=job.folder,
            env=environment(str(job.folder)),
        ),
        job,
    )
