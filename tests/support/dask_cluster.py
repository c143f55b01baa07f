"""A small real Dask cluster on the loopback: a scheduler and workers, each a process of its own that can be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

from lab.machine.paths import ROOT

LISTENS = re.compile(r"Scheduler at:\s+(tcp://\S+)")
QUIET = "--no-dashboard"


class DaskCluster:
    """`address` is what `cluster=` wants, `environment` the workers' own. Ends every process when it is left."""

    def __init__(self, folder: Path, workers: int = 2, **environment: str) -> None:
        """folder: for the workers' files. environment: added to the workers' own, which holds no key and no address."""
        self._folder = folder
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PATH", "HOME", "LAB_"))}
        self.environment = kept | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"} | environment
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", QUIET)
        self.address = self._listening()
        self.workers = [self.add_worker() for _ in range(workers)]

    def add_worker(self) -> subprocess.Popen[str]:
        """A worker of one thread, without a nanny that would start it again."""
        alone = ("--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--local-directory", str(self._folder))
        return self._start("worker", self.address, *alone, QUIET)

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in (*self.workers, self.scheduler):
            kill(process)

    def _start(self, part: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dask", part, *arguments]
        to_read = subprocess.PIPE if part == "scheduler" else subprocess.DEVNULL
        return subprocess.Popen(command, env=self.environment, stderr=to_read, stdout=subprocess.DEVNULL, text=True)

    def _listening(self) -> str:
        said = []
        for line in self.scheduler.stderr:
            said.append(line)
            found = LISTENS.search(line)
            if found:
                threading.Thread(target=self.scheduler.stderr.read, daemon=True).start()  # or the pipe would fill
                return found[1]
        raise RuntimeError(f"the scheduler did not start: {''.join(said)}")


def kill(process: subprocess.Popen[str]) -> None:
    """End a process as a node does that loses its power."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
