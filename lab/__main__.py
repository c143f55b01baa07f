"""The command line, `python -m lab COMMAND`: parses the arguments and calls what `lab.overview` lists."""

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

from lab import overview, run_commands, study_command
from lab.arguments import Commands, Do, add_retry, command, count, number, retry, time
from lab.machine.faults import DamagedData
from lab.machine.printing import visible

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
        description="\n".join(overview.lines()),
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
    _checking_commands(commands)
    study_command.add(commands)
    run_commands.add(commands)
    trying = command(commands, "try", _try)
    trying.add_argument("engine", metavar="ENGINE", help="as the parameter of a notebook, such as gpt-4o or local")
    command(commands, "doctor", _doctor)
    data = commands.add_parser("data").add_subparsers(required=True, metavar="COMMAND")
    command(data, "data list", _data_list)
    fetch = command(data, "data fetch", _data_fetch)
    fetch.add_argument("name", metavar="NAME", help="one of: python -m lab data list")
    help_as_is = "fetch nothing: take the files that are here for the dataset, whatever they are, from now on"
    fetch.add_argument("--as-is", action="store_true", help=help_as_is)
    model = commands.add_parser("model").add_subparsers(required=True, metavar="COMMAND")
    command(model, "model list", _model_list)
    get = command(model, "model get", _model_get)
    get.add_argument("name", metavar="NAME", help="one of: python -m lab model list")
    return parser


def _checking_commands(commands: Commands) -> None:
    """The commands that check notebooks and claims, and play what these are compared with."""
    check = _notebook_command(commands, "check", _check)
    check.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=f"{NOTEBOOK} (default: all)")
    _notebook_command(commands, "reproduce", _reproduce)
    expect = command(commands, "expect", _expect)
    expect.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=f"{NOTEBOOK} (default: all that reported)")
    help_from = "folder of the figures of a run (default: runs/notebooks/figures; the committed ones are in figures)"
    expect.add_argument("--from", type=Path, dest="source", metavar="FOLDER", help=help_from)
    claims = command(commands, "claims", _claims)
    claims.add_argument("words", nargs="*", metavar="WORD", help="only those in whose line all words are")
    floors = command(commands, "floors", _floors)
    help_name = "a benchmark, or module:function of your own (docs/floors.md); none lists the benchmarks"
    floors.add_argument("name", nargs="?", default="", metavar="BENCHMARK", help=help_name)
    help_data = "auto: official where LAB_DATA has it, else synthetic (default)"
    floors.add_argument("--data", choices=("auto", "official", "synthetic"), default="auto", help=help_data)
    floors.add_argument("--limit", type=number, metavar="N", help="tasks, spread evenly; 0 for all")
    floors.add_argument("--seed", type=number, default=0, metavar="N", help="of random agents and synthetic data")


def _notebook_command(commands: Commands, name: str, do: Do) -> argparse.ArgumentParser:
    parser = command(commands, name, do)
    parser.add_argument("--jobs", type=count, default=2, metavar="N", help="notebooks side by side (default: 2)")
    parser.add_argument("--timeout", type=time, metavar="SECONDS", help="for one notebook (default: none)")
    return parser


def _add_parameters(parser: argparse.ArgumentParser) -> None:
    about = "set a parameter, of every notebook named; may be repeated"
    parser.add_argument("-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), dest="given", help=about)


def _overview(options: argparse.Namespace) -> int:
    print("\n".join(overview.lines()))
    return 0


def _explore(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    commands.explore(options.options)


def _run(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    if not options.notebooks and not options.in_place:
        raise ValueError("name at least one notebook; to run them all: python -m lab reproduce")
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


def _reproduce(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    return commands.reproduce(options.jobs, options.timeout)


def _expect(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    return commands.expect(options.notebooks, options.source)


def _claims(options: argparse.Namespace) -> int:
    from lab.notebooks import commands

    return commands.claims(options.words)


def _floors(options: argparse.Namespace) -> int:
    from lab.machine.faults import Unavailable
    from lab.runs import floors

    if not options.name:
        print("Benchmarks with floors: " + ", ".join(floors.names()))
        return 0
    sys.path.insert(0, os.getcwd())  # for a function of the reader's own
    try:
        played = floors.play(options.name, options.data, options.limit, options.seed)
    except Unavailable as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    print(visible("\n".join(floors.lines(options.name, floors.frame(options.name, played)))))
    return 0


def _try(options: argparse.Namespace) -> int:
    from lab.try_engine import show

    return show(options.engine)


def _doctor(options: argparse.Namespace) -> int:
    from lab.machine import doctor

    parts = doctor.diagnose()
    print(visible("\n".join(doctor.lines(parts))))
    return 0 if doctor.healthy(parts) else 1


def _data_list(options: argparse.Namespace) -> int:
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


def _model_list(options: argparse.Namespace) -> int:
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
