"""The worker process: executes one notebook with papermill; `lab.notebooks.execute` starts it and receives its outcome.

If the parent process ends, the worker stops its kernel and itself.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

from lab.machine.scratch import scratch_folder

# nbclient's messages for a kernel that never served a request.
NO_ANSWER = re.compile(r"Kernel (didn't respond|died before replying)")


class Stop(KeyboardInterrupt):
    """A signal requested the end. Like Ctrl-C it passes through every event loop, so that the kernel is shut down."""


@dataclass
class Progress:
    """Progress of the worker: the current cell, from 1, and the reason for stopping."""

    cell: int = 0
    reason: str = ""


def work(
    source: Path, output: Path, partly: Path, parameters: Mapping[str, Any], timeout: float | None,
    environment: Mapping[str, str], printed: Path, outcome: Connection,
) -> None:  # fmt: skip
    """Execute a notebook, and send (error message or "", CPU-seconds) to `outcome`.

    partly: the file that papermill writes cell by cell. timeout: seconds. printed: the file for printed output.
    """
    os.setsid()  # a Ctrl-C in the terminal goes to the parent, which stops its workers in order
    with printed.open("w") as sink:
        for descriptor in (1, 2):  # redirecting sys.stdout alone would miss the output of compiled code
            os.dup2(sink.fileno(), descriptor)
    # Whole, since the server that this process is forked from may have started with another one.
    os.environ.clear()
    os.environ.update(environment)
    progress = Progress()
    _listen(progress, timeout)
    try:
        with scratch_folder("lab-kernel-") as folder:
            _use_this_python(Path(folder))
            _execute(source, output, partly, parameters, progress)
        failure = ""
    except BaseException as error:  # the parent has to be informed of any error
        failure = _message(error, progress)
    # The kernel has ended, so RUSAGE_CHILDREN includes it and all child processes that it waited for.
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    outcome.send((failure, sum(part.ru_utime + part.ru_stime for part in parts)))


def _listen(progress: Progress, timeout: float | None) -> None:
    """Turn Ctrl-C, SIGTERM, the parent's end and the timeout into a clean stop."""

    def stop(number: int, frame: FrameType | None) -> None:
        progress.reason = f"took longer than {timeout:g} s" if number == signal.SIGALRM else "stopped"
        raise Stop

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, stop)
    # An alarm for the whole notebook; papermill's own timeout is for each cell.
    signal.setitimer(signal.ITIMER_REAL, timeout or 0)
    threading.Thread(target=_stop_with_parent, daemon=True).start()


def _stop_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)  # a signal, since handlers run in the main thread only


def _use_this_python(folder: Path) -> None:
    """Make the kernel `python3` this interpreter; otherwise a kernel in the user's home would take precedence."""
    kernel = folder / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    specification = {"argv": command, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("JUPYTER_PATH")]))


def _execute(source: Path, output: Path, partly: Path, parameters: Mapping[str, Any], progress: Progress) -> None:
    from lab.notebooks.documents import load, write

    load()
    import papermill

    from lab.notebooks.normalise import normalise

    _register_engine(progress)
    execute = partial(
        papermill.execute_notebook,
        _no_template(source),
        _no_template(partly),
        parameters=dict(parameters),
        engine_name="lab",
        kernel_name="python3",
        language="python",
        progress_bar=False,
        start_timeout=120,  # papermill's 60 seconds are too short for two kernels that start on a busy machine
        cwd=str(source.parent),
    )
    write(normalise(answered(execute, progress)), output)


def answered(execute: Callable[[], Any], progress: Progress) -> Any:
    """Call `execute`, and retry once if the kernel never answered.

    A kernel's ports are picked before it binds them. If another process takes one in between, the kernel ends at once.
    """
    try:
        return execute()
    except RuntimeError as error:
        if progress.cell or not NO_ANSWER.search(str(error)):
            raise
        return execute()


def _no_template(path: Path) -> str:
    """Escape braces: papermill would fill them from the parameters, but a folder's name may contain some."""
    return str(path).replace("{", "{{").replace("}", "}}")


def _register_engine(progress: Progress) -> None:
    """Register as "lab" papermill's engine, extended to store the current cell."""
    from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines

    class ReportingEngine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, manager: NotebookExecutionManager, kernel_name: str, **settings: Any) -> None:
            start = manager.cell_start

            def cell_start(cell: Any, cell_index: int, **rest: Any) -> None:
                progress.cell = cell_index + 1
                start(cell, cell_index=cell_index, **rest)

            manager.cell_start = cell_start
            super().execute_managed_notebook(manager, kernel_name, **settings)

    papermill_engines.register("lab", ReportingEngine)


def _message(error: BaseException, progress: Progress) -> str:
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    position = f"cell {progress.cell}" if progress.cell else "before the first cell"
    if progress.reason:
        return f"{position}: {progress.reason}"
    if isinstance(error, DeadKernelError):
        return f"{position}: the kernel died; a crash in compiled code, or the system ran out of memory"
    if isinstance(error, PapermillExecutionError):
        return f"{position}: {error.ename}: {error.evalue}"
    return f"{position}: {type(error).__name__}: {error}"
