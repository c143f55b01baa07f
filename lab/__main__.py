"""The command line, `python -m lab COMMAND`: parses the arguments and calls what `lab.arguments` lists."""

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

from lab import arguments, study_command
from lab.arguments import Commands, Do, add_retry, command, count, retry, time
from lab.machine.faults import DamagedData
from lab.machine.paths import runs_folder, shown
from lab.machine.printing import aligned, visible

if TYPE_CHECKING:
    import pandas as pd

WRONG_USE = 2  # argparse's own exit status for arguments that make no sense
NOTEBOOK = "a file, or a name such as 0_tour"
INTERRUPTED = 130  # a shell's exit status after Ctrl-C
NOT_READ = 141  # a shell's exit status of a program whose reader is gone, as in: python -m lab doctor | head -1


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; 0 if all went well, 1 if something failed or is off, 2 for a wrong request.

    Without arguments it prints the map of the commands. 141 if nobody reads what it prints.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # of an encoding such as ASCII, which lacks most characters
    try:
        try:
            return _carry_out(arguments)
        finally:
            sys.stdout.flush()  # here, where a reader that is gone can still be handled
    except BrokenPipeError:
        # Not SIGPIPE's default action: it would also end a run one of whose workers died.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at the interpreter's end
        return NOT_READ
    except OSError as error:
        sys.stdout = io.StringIO()  # where it could not be written, the interpreter would try again at its end
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        fix = "free some space, or write elsewhere (--out)" if full else "mend that, and run the command again"
        print(f"error: {visible(str(error))}; {fix}", file=sys.stderr)
        return 1


def _carry_out(arguments: Sequence[str] | None) -> int:
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return options.do(options)
    except (ValueError, FileNotFoundError, ImportError) as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        print("stopped; what had finished is kept", file=sys.stderr)
        return INTERRUPTED


def _interrupt(number: int, frame: FrameType | None) -> None:
    """A scheduler ends a job with SIGTERM; end as cleanly as on Ctrl-C."""
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m lab",
        usage="python -m lab COMMAND ...",
        description="\n".join(arguments.lines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(do=_overview)
    # argparse's own list of commands is left out: the description has them in groups.
    commands = parser.add_subparsers(prog=parser.prog, metavar="COMMAND", help=argparse.SUPPRESS)
    explore = command(commands, "explore", _explore)
    explore.add_argument("options", nargs="*", metavar="-- OPTION", help="of JupyterLab, such as -- --no-browser")
    run = _notebook_command(commands, "run", _run)
    run.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=NOTEBOOK)
    _add_parameters(run)
    help_out = "folder for executed copies and figures (default: runs/notebooks)"
    run.add_argument("--out", type=Path, metavar="FOLDER", help=help_out)
    add_retry(run)
    help_in_place = "refresh the committed notebooks and figures/; all notebooks if none is named"
    run.add_argument("--in-place", action="store_true", help=help_in_place)
    record = command(commands, "record", _record)
    record.add_argument("notebook", metavar="NOTEBOOK", help=NOTEBOOK)
    _add_parameters(record)
    record.add_argument("--name", help="of the recording under data/recordings/ (default: from notebook and engine)")
    help_calls = "begin no further episode after so many model calls that the cache did not answer"
    record.add_argument("--calls", type=count, metavar="N", help=help_calls)
    record.add_argument("--minutes", type=time, metavar="M", help="begin no further episode after so many minutes")
    help_reuse = "take the answers of a recording where the same is asked of the same model; can be given again"
    record.add_argument("--reuse", action="append", default=[], metavar="RECORDING", help=help_reuse)
    check = _notebook_command(commands, "check", _check)
    check.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=f"{NOTEBOOK} (default: all)")
    expect = command(commands, "expect", _expect)
    expect.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=f"{NOTEBOOK} (default: all that reported)")
    help_from = "folder of the figures of a run (default: runs/notebooks/figures; the committed ones are in figures)"
    expect.add_argument("--from", type=Path, dest="source", metavar="FOLDER", help=help_from)
    study_command.add(commands)
    show = command(commands, "show", _show)
    help_run = "a run's folder, or a part of its name that no other run has; none lists the runs, the newest first"
    show.add_argument("run", nargs="?", default="", metavar="RUN", help=help_run)
    show.add_argument("task", nargs="?", default="", metavar="TASK", help="an id, or a part of one")
    show.add_argument("--details", action="store_true", help="with TASK: what is behind each step")
    show.add_argument("--prompts", action="store_true", help="with TASK or --save: prompts and answers, too")
    help_save = "a run as pages (FOLDER or *.html), or its trajectories as chat messages (*.jsonl, *.parquet)"
    show.add_argument("--save", type=Path, metavar="PATH", help=help_save)
    help_beside = "compare it with another run; RUN:PART is one of its conditions; with TASK, the episodes of both"
    show.add_argument("--beside", default="", metavar="RUN", help=help_beside)
    trying = command(commands, "try", _try)
    trying.add_argument("engine", metavar="ENGINE", help="as the parameter of a notebook, such as gpt-4o or local")
    command(commands, "doctor", _doctor)
    data = command(commands, "data", _data).add_subparsers(metavar="COMMAND")
    fetch = command(data, "data fetch", _data_fetch)
    fetch.add_argument("name", metavar="NAME", help="one of: python -m lab data")
    help_as_is = "fetch nothing: take the files that are here for the dataset, whatever they are, from now on"
    fetch.add_argument("--as-is", action="store_true", help=help_as_is)
    model = command(commands, "model", _model).add_subparsers(metavar="COMMAND")
    get = command(model, "model get", _model_get)
    get.add_argument("name", metavar="NAME", help="one of: python -m lab model")
    return parser


def _notebook_command(commands: Commands, name: str, do: Do) -> argparse.ArgumentParser:
    parser = command(commands, name, do)
    parser.add_argument("--jobs", type=count, default=2, metavar="N", help="notebooks side by side (default: 2)")
    parser.add_argument("--timeout", type=time, metavar="SECONDS", help="for one notebook (default: none)")
    return parser


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    text = "set a parameter, of every notebook named; may be repeated"
    parser.add_argument("-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), dest="given", help=text)


def _overview(options: argparse.Namespace) -> int:
    print("\n".join(arguments.lines()))
    return 0


def _explore(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    commands.explore(options.options)


def _run(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    given = [(name, text) for name, text in options.given]
    retry(options)
    return commands.run(options.notebooks, given, options.out, options.in_place, options.jobs, options.timeout)


def _record(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    given = [(name, text) for name, text in options.given]
    return commands.record(options.notebook, given, options.name, options.calls, options.minutes, options.reuse)


def _check(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    return commands.check(options.notebooks, options.jobs, options.timeout)


def _expect(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    return commands.expect(options.notebooks, options.source)


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
    """The runs, a line each."""
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

    parts = doctor.diagnose()
    print(visible("\n".join(doctor.lines(parts))))
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
    """Download something by name, saying how it goes; a network or a source that fails is no crash."""
    from lab.machine.datasets import UnexpectedData

    try:
        path = get(name, lambda message: print(visible(message), flush=True))
    except BrokenPipeError:  # of what is printed: nobody reads how it goes
        raise
    except (OSError, RuntimeError, UnexpectedData) as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    print(f"{name} is in {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
