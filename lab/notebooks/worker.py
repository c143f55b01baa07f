"""The worker process: executes one notebook with papermill; `lab.notebooks.execute` starts it and reads its events.

It reads a job as one JSON line from standard input and keeps reading: when the parent goes away, that input ends, and
the worker stops its kernel and itself. At the end one JSON line goes out: {"failed": "" or message, "cpu": seconds}.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from lab.machine.scratch import scratch_folder

Emit = Callable[[dict[str, Any]], None]


class Stop(KeyboardInterrupt):
    """A signal asked for the end; like Ctrl-C it passes through every event loop and lets the kernel be shut down."""


class Progress(NamedTuple):
    """Progress of the worker, in lists that signal handlers can change: the current cell (from 1), why it stops."""

    cell: list[int]
    reason: list[str]


def main() -> None:
    """Execute the job given on standard input; the exit status is 0 even if it failed, as the last event says so."""
    emit = _private_output()
    job = json.loads(sys.stdin.readline())
    progress = Progress([0], [])
    _listen(progress, job["timeout"])
    try:
        with scratch_folder("lab-kernel-") as folder:
            _use_this_python(Path(folder))
            _execute(job, progress)
        failure = ""
    except BaseException as error:  # whatever happened, the parent has to hear of it
        failure = _message(error, progress)
    # The kernel has ended, so that it counts, with all processes that it had waited for.
    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    emit({"failed": failure, "cpu": sum(part.ru_utime + part.ru_stime for part in parts)})


def _private_output() -> Emit:
    """Keep standard output for the last line alone: what papermill or a library prints goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # of the descriptor: sys.stdout alone would not hold what compiled code prints
    return lambda event: print(json.dumps(event), file=channel, flush=True)


def _listen(progress: Progress, timeout: float | None) -> None:
    """Turn Ctrl-C, a termination, the parent's end and the time limit into a clean stop."""

    def stop(number: int, frame: FrameType | None) -> None:
        progress.reason.append(f"took longer than {timeout:g} s" if number == signal.SIGALRM else "stopped")
        raise Stop

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, stop)
    # An alarm for the whole notebook; papermill's own timeout is for each cell.
    signal.setitimer(signal.ITIMER_REAL, timeout or 0)
    threading.Thread(target=_stop_at_end_of_input, daemon=True).start()


def _stop_at_end_of_input() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)  # handlers run in the main thread only, and this is another


def _use_this_python(folder: Path) -> None:
    """Make `python3` mean this interpreter: a kernel installed in the user's home would otherwise come first."""
    kernel = folder / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    specification = {"argv": command, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(specification), encoding="utf-8")
    os.environ["JUPYTER_PATH"] = os.pathsep.join(filter(None, [str(folder), os.environ.get("JUPYTER_PATH")]))


def _execute(job: dict[str, Any], progress: Progress) -> None:
    from lab.notebooks.documents import load, write

    load()
    import papermill

    from lab.notebooks.normalise import normalise

    _register_engine(progress)
    execute = partial(
        papermill.execute_notebook,
        _no_template(job["source"]),
        _no_template(job["partial"]),
        parameters=job["parameters"],
        engine_name="lab",
        kernel_name="python3",
        language="python",
        progress_bar=False,
        start_timeout=120,  # papermill's 60 seconds are short for two kernels that start on a busy machine
        cwd=str(Path(job["source"]).parent),
    )
    write(normalise(answered(execute, progress)), Path(job["output"]))


def answered(execute: Callable[[], Any], progress: Progress) -> Any:
    """Execute; once more where the kernel never answered.

    Ports are picked before a kernel binds them, so of two kernels that start at once one may find its own taken.
    """
    try:
        return execute()
    except RuntimeError as error:
        if progress.cell[0] or "Kernel didn't respond" not in str(error):
            raise
        return execute()


def _no_template(path: str) -> str:
    """papermill fills braces in paths from the parameters; a folder may simply be called so."""
    return path.replace("{", "{{").replace("}", "}}")


def _register_engine(progress: Progress) -> None:
    """papermill's own engine, which notes the cell that it is at."""
    from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines

    class ReportingEngine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, manager: NotebookExecutionManager, kernel_name: str, **settings: Any) -> None:
            start = manager.cell_start

            def cell_start(cell: Any, cell_index: int, **rest: Any) -> None:
                progress.cell[0] = cell_index + 1
                start(cell, cell_index=cell_index, **rest)

            manager.cell_start = cell_start
            super().execute_managed_notebook(manager, kernel_name, **settings)

    papermill_engines.register("lab", ReportingEngine)


def _message(error: BaseException, progress: Progress) -> str:
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    at = f"cell {progress.cell[0]}" if progress.cell[0] else "before the first cell"
    if progress.reason:
        return f"{at}: {progress.reason[0]}"
    if isinstance(error, DeadKernelError):
        return f"{at}: the kernel died; a crash in compiled code, or the system ran out of memory"
    if isinstance(error, PapermillExecutionError):
        return f"{at}: {error.ename}: {error.evalue}"
    return f"{at}: {type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
