"""The command line, `python -m lab COMMAND`: parses the arguments and calls the command's function."""

from __future__ import annotations

import argparse
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from lab.arguments import lines, parser
from lab.machine.faults import DamagedData
from lab.machine.paths import runs_folder, shown
from lab.machine.printing import aligned, visible

if TYPE_CHECKING:
    import pandas as pd

WRONG_USE = 2  # argparse's own exit status for invalid arguments
INTERRUPTED = 130  # a shell's exit status after Ctrl-C
NOT_READ = 141  # a shell's exit status after a closed pipe, as in: python -m lab doctor | head -1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    0: success. 1: something failed, or a check found a problem. 2: invalid arguments. 130: interrupted. 141: the reader
    of the output is gone (closed pipe). Without arguments it prints an overview of all commands.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for encodings such as ASCII
    try:
        try:
            return _carry_out(arguments)
        finally:
            sys.stdout.flush()  # here, where a closed pipe can still be handled
    except BrokenPipeError:
        # Not SIGPIPE's default action: it would also kill a run when one of its workers has died.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush when Python exits
        return NOT_READ
    except OSError as error:
        sys.stdout = io.StringIO()  # Python would otherwise try to flush stdout again on exit, and fail
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        fix = "free some space, or write elsewhere (--out)" if full else "mend that, and run the command again"
        print(f"error: {visible(str(error))}; {fix}", file=sys.stderr)
        return 1


def _carry_out(given: Sequence[str] | None) -> int:
    options = parser(DO).parse_args(given)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return options.do(options)
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt as stop:
        print(f"stopped; {visible(str(stop)) or 'what had finished is kept'}", file=sys.stderr)
        return INTERRUPTED


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM, with which schedulers end a job, as cleanly as Ctrl-C."""
    raise KeyboardInterrupt


def _retry(options: argparse.Namespace) -> None:
    """With --retry-failed, make all runs retry failed episodes, including runs in a notebook's kernel."""
    from lab.runs.run import RETRY_FAILED

    if options.retry_failed:
        os.environ[RETRY_FAILED] = "1"


def _overview(options: argparse.Namespace) -> int:
    print("\n".join(lines()))
    return 0


def _explore(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    commands.explore(options.options)


def _run(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    _retry(options)
    return commands.run(options.notebooks, options.given, options.out, options.in_place, options.jobs, options.timeout)


def _record(options: argparse.Namespace) -> int:
    from lab.machine.faults import Unavailable
    from lab.notebooks import commands
    from lab.runs import planned

    if not options.target:
        print(planned.overview())
        return 0
    if (row := planned.plan().get(options.target)) is None:
        settings = (options.given, options.name, options.calls, options.minutes, options.reuse)
        return commands.record(options.target, *settings)
    if options.given or options.name or options.reuse:
        raise ValueError(f"{row.name} is played as data/recordings/{planned.PLAN} has it; drop -p, --name, --reuse")
    try:
        print(planned.record(row, options.calls, options.minutes))
    except Unavailable as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    return 0


def _check(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    return commands.check(options.notebooks, options.jobs, options.timeout)


def _expect(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    return commands.expect(options.notebooks, options.source)


def _eval(options: argparse.Namespace) -> int:
    import pandas as pd

    from lab.machine.faults import Unavailable
    from lab.machine.files import write_atomically
    from lab.results import exports
    from lab.runs import evaluate
    from lab.runs.registry import STUDIES

    if not options.study:
        print("Studies: " + ", ".join(STUDIES.names()))
        return 0
    if options.out and not options.out.resolve().parent.is_dir():
        raise ValueError(
            f"--out {options.out}: there is no folder {options.out.parent}; make it first, or name another"
        )
    _retry(options)
    sys.path.insert(0, os.getcwd())  # so that a user's own module:STUDY is found
    plan = evaluate.plan(options)
    if costs := evaluate.announce(plan):
        print(visible("\n".join(costs)))
    if costs and evaluate.asks_a_server(plan) and not options.yes:
        print("nothing was asked yet; to begin, add --yes")
        return 1
    rows = []
    try:
        for block in evaluate.play(plan, options.workers, options.cluster):
            print(visible(block.text), flush=True)
            rows.append(block.rows)
            if options.out:  # after each cell: an interrupted sweep keeps its rows
                write_atomically(options.out, exports.csv(pd.concat(rows, ignore_index=True)).encode())
    except Unavailable as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    return 0


def _show(options: argparse.Namespace) -> int:
    from lab.runs import catalogue, compare, show

    details = {"detail": options.details or options.prompts} if options.task else {}
    if not options.run:
        print(_table_of(catalogue.runs()))
    elif options.save:
        from lab.viewer.episodes import StoredRun
        from lab.viewer.saving import save

        print(save(StoredRun(catalogue.find(options.run)), options.save, options.prompts))
    elif not options.beside:
        run = show(options.run, options.task, options.prompts)
        print(run.text(**details) if options.task else run)
    else:
        compared = compare(options.run, options.beside)
        print(compared.side_by_side(options.task, options.prompts) if options.task else compared)
    return 0


def _table_of(runs: pd.DataFrame) -> str:
    """The runs as text, one line per run."""
    if runs.empty:
        return f"no runs in {shown(runs_folder())}"
    lines = [("date", "done", "state", "folder")]
    for row in runs.itertuples():
        lines.append((f"{row.date:%Y-%m-%d %H:%M}", f"{row.done}/{row.planned}", row.state, row.folder))
    return aligned([[visible(" ".join(cell.split())) for cell in line] for line in lines])


def _try(options: argparse.Namespace) -> int:
    from lab.try_engine import show

    return show(options.engine)


def _doctor(options: argparse.Namespace) -> int:
    from lab.machine import doctor

    if options.adapter:
        parts = doctor.contracts(options.adapter, options.engine)
        report = doctor.lines(parts, "BROKEN")
    else:
        parts = doctor.diagnose()
        report = doctor.lines(parts)
    print(visible("\n".join(report)))
    return 0 if doctor.healthy(parts) else 1


def _data(options: argparse.Namespace) -> int:
    from lab.machine import datasets

    for name, dataset in datasets.registered().items():
        try:
            state = f"in {dataset.folder}" if dataset.here else "not here"
        except DamagedData as error:
            state = f"DAMAGED: {error}"
        print(f"{name}: {dataset.about} ({state})")
    return 0


def _data_fetch(options: argparse.Namespace) -> int:
    from lab.machine import datasets

    get = (lambda name, report: datasets.accept(name)) if options.as_is else datasets.fetch
    return _bring(get, options.name)


def _model(options: argparse.Namespace) -> int:
    from lab.machine import weights

    for name, model in weights.known().items():
        state = f"in {weights.folder()}" if model.present else "not here"
        print(f"{name}: {model.about}; licence {model.licence} ({state})")
    return 0


def _model_get(options: argparse.Namespace) -> int:
    from lab.models import local

    return _bring(local.get, options.name)


def _bring(get: Callable[[str, Callable[[str], None]], Path], name: str) -> int:
    """Download a dataset or model by name, printing the progress; returns 1 if the network or the source fails."""
    from lab.machine.datasets import UnexpectedData

    try:
        path = get(name, lambda message: print(visible(message), flush=True))
    except BrokenPipeError:  # from printing, not from the download; `main` handles it
        raise
    except (OSError, RuntimeError, UnexpectedData) as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    print(f"{name} is in {path}")
    return 0


DO = {
    "": _overview,
    "doctor": _doctor,
    "data": _data,
    "data fetch": _data_fetch,
    "model": _model,
    "model get": _model_get,
    "try": _try,
    "explore": _explore,
    "run": _run,
    "record": _record,
    "eval": _eval,
    "show": _show,
    "check": _check,
    "expect": _expect,
}


if __name__ == "__main__":
    sys.exit(main())
