"""The command line, `python -m lab COMMAND`: parses the arguments and calls what `lab.overview` lists."""

from __future__ import annotations

import argparse
import errno
import io
import math
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from lab import overview
from lab.machine.faults import DamagedData
from lab.machine.printing import visible

Do = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
WRONG_USE = 2  # argparse's own exit status for arguments that make no sense
HELP_GRID = "play every one of these values; of several grids, all combinations; ends in one table; resumes"
NOTEBOOK = "a file, or a name such as 0_tour"
RUN = "a run's folder, or a part of its name or the beginning of its hash that no other run has"
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
    explore = _command(commands, "explore", _explore)
    explore.add_argument("options", nargs="*", metavar="-- OPTION", help="of JupyterLab, such as -- --no-browser")
    run = _notebook_command(commands, "run", _run)
    run.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=NOTEBOOK)
    _add_parameters(run)
    help_out = "folder for executed copies and figures (default: runs/notebooks, for a grid runs/sweeps/...)"
    run.add_argument("--out", type=Path, metavar="FOLDER", help=help_out)
    run.add_argument("--grid", action="append", default=[], metavar="NAME=V,V", help=HELP_GRID)
    help_retry = "play again what failed, or had no readable answer; what was not measured is played again anyway"
    run.add_argument("--retry-failed", action="store_true", help=help_retry)
    run.add_argument("--yes", action="store_true", help="with --grid: begin without asking")
    help_in_place = "refresh the committed notebooks and figures/; all notebooks if none is named"
    run.add_argument("--in-place", action="store_true", help=help_in_place)
    record = _command(commands, "record", _record)
    record.add_argument("notebook", metavar="NOTEBOOK", help=NOTEBOOK)
    _add_parameters(record)
    record.add_argument("--name", help="of the recording under data/recordings/ (default: from notebook and engine)")
    help_calls = "begin no further episode after so many model calls that the cache did not answer"
    record.add_argument("--calls", type=_count, metavar="N", help=help_calls)
    record.add_argument("--minutes", type=_time, metavar="M", help="begin no further episode after so many minutes")
    help_reuse = "take the answers of a recording where the same is asked of the same model; can be given again"
    record.add_argument("--reuse", action="append", default=[], metavar="RECORDING", help=help_reuse)
    _checking_commands(commands)
    _study_command(commands)
    estimate = _command(commands, "estimate", _estimate)
    estimate.add_argument("run", metavar="RUN", help=RUN)
    estimate.add_argument("--model", required=True, help="a model of data/prices.yaml, or of LAB_PRICES")
    estimate.add_argument("--episodes", type=_count, default=10_000, metavar="N", help="how many (default: 10000)")
    estimate.add_argument("--workers", type=_count, default=1, metavar="N", help="how many at a time (default: 1)")
    _run_commands(commands)
    _viewer_commands(commands)
    _command(commands, "doctor", _doctor)
    data = commands.add_parser("data").add_subparsers(required=True, metavar="COMMAND")
    _command(data, "data list", _data_list)
    fetch = _command(data, "data fetch", _data_fetch)
    fetch.add_argument("name", metavar="NAME", help="one of: python -m lab data list")
    help_as_is = "fetch nothing: take the files that are here for the dataset, whatever they are, from now on"
    fetch.add_argument("--as-is", action="store_true", help=help_as_is)
    model = commands.add_parser("model").add_subparsers(required=True, metavar="COMMAND")
    _command(model, "model list", _model_list)
    get = _command(model, "model get", _model_get)
    get.add_argument("name", metavar="NAME", help="one of: python -m lab model list")
    return parser


def _checking_commands(commands: Commands) -> None:
    """The commands that check notebooks and claims, and play what these are compared with."""
    check = _notebook_command(commands, "check", _check)
    check.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=f"{NOTEBOOK} (default: all)")
    _notebook_command(commands, "reproduce", _reproduce)
    expect = _command(commands, "expect", _expect)
    expect.add_argument("notebooks", nargs="*", metavar="NOTEBOOK", help=f"{NOTEBOOK} (default: all that reported)")
    help_from = "folder of the figures of a run (default: runs/notebooks/figures; the committed ones are in figures)"
    expect.add_argument("--from", type=Path, dest="source", metavar="FOLDER", help=help_from)
    claims = _command(commands, "claims", _claims)
    claims.add_argument("words", nargs="*", metavar="WORD", help="only those in whose line all words are")
    floors = _command(commands, "floors", _floors)
    help_name = "a benchmark, or module:function of your own (docs/floors.md); none lists the benchmarks"
    floors.add_argument("name", nargs="?", default="", metavar="BENCHMARK", help=help_name)
    help_data = "auto: official where LAB_DATA has it, else synthetic (default)"
    floors.add_argument("--data", choices=("auto", "official", "made"), default="auto", help=help_data)
    floors.add_argument("--limit", type=_number, metavar="N", help="tasks, spread evenly; 0 for all")
    floors.add_argument("--seed", type=_number, default=0, metavar="N", help="of random agents and synthetic data")


def _study_command(commands: Commands) -> None:
    evaluate = _command(commands, "eval", _eval)
    help_study = "a study, or module:STUDY of your own; none lists the studies"
    evaluate.add_argument("study", nargs="?", default="", metavar="STUDY", help=help_study)
    evaluate.add_argument("--engine", default="rules", help="who answers (default: rules)")
    evaluate.add_argument("--data", choices=("auto", "official", "made"), default="auto", help="default: auto")
    evaluate.add_argument("--limit", type=_number, default=0, metavar="N", help="tasks of a benchmark; 0 for all")
    evaluate.add_argument("--benchmarks", default="", metavar="A,B", help="only these")
    help_condition = "only this one; can be given again (default: all, or those that are recorded, of a model)"
    evaluate.add_argument("--condition", action="append", default=[], metavar="NAME", help=help_condition)
    help_set = "an option of the study, such as settings.budget=1; can be given again"
    evaluate.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=help_set)
    evaluate.add_argument("--grid", action="append", default=[], metavar="NAME=V,V", help=HELP_GRID)
    evaluate.add_argument("--seeds", default="0", metavar="N,N", help="pooled in the contrasts (default: 0)")
    evaluate.add_argument("--workers", type=_number, default=0, metavar="N", help="episodes at a time")
    evaluate.add_argument("--cluster", default="", help="a Dask scheduler's address")
    evaluate.add_argument("--yes", action="store_true", help="ask a server without stopping at what it will take")


def _run_commands(commands: Commands) -> None:
    """The commands on runs that are on the disk."""
    runs = _command(commands, "runs", _runs)
    runs.add_argument("--notebook", default="", metavar="X", help="only those in whose notebook's name X is")
    runs.add_argument("--engine", default="", metavar="Y", help="only those in whose engine Y is")
    runs.add_argument("--since", metavar="WHEN", help="only those written to since a date, or 7d or 12h ago")
    help_sort = "date (the newest first, the default), notebook, condition, engine, done, score, cost or state"
    runs.add_argument("--sort", default="date", metavar="BY", help=help_sort)
    help_scores = "leave out scores that are not known yet: some take minutes, the first time"
    runs.add_argument("--no-scores", action="store_true", help=help_scores)
    runs.add_argument("--json", action="store_true", help="as JSON, nothing cut")
    show = _command(commands, "show", _show)
    show.add_argument("run", metavar="RUN", help=RUN)
    show.add_argument("task", nargs="?", default="", metavar="TASK", help="an id, or a part of one")
    show.add_argument("--details", action="store_true", help="with TASK: what is behind each step")
    show.add_argument("--prompts", action="store_true", help="with TASK: that, and prompts and answers")
    compare = _command(commands, "compare", _compare)
    help_part = f"{RUN}; RUN:PART for one of its conditions or methods"
    for name in ("first", "second"):
        compare.add_argument(name, metavar="RUN", help=help_part)
    help_beside = "the episodes of a task in both, step by step (default: the first that flipped)"
    compare.add_argument("--side-by-side", nargs="?", const="", metavar="TASK", help=help_beside)
    prune = _command(commands, "prune", _prune)
    prune.add_argument("runs", nargs="*", metavar="RUN", help=RUN)
    prune.add_argument("--older", type=_time, metavar="DAYS", help="not written to for so many days")
    prune.add_argument("--unfinished", action="store_true", help="some of whose episodes are pending")
    prune.add_argument("--stale", action="store_true", help="made by other code than this checkout's")
    help_keep = "all but the newest N that are alike in notebook, condition and engine"
    prune.add_argument("--keep", type=_count, metavar="N", help=help_keep)
    prune.add_argument("--yes", action="store_true", help="remove them; without it, they are only listed")


def _viewer_commands(commands: Commands) -> None:
    """The commands that make of runs what is looked at or read elsewhere."""
    report, export = _command(commands, "report", _report), _command(commands, "export", _export)
    for command in (report, export):
        command.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    report.add_argument("--out", type=Path, metavar="PATH", help="folder, or with --one-file the file, to write")
    report.add_argument("--one-file", action="store_true", help="all in one HTML file; long texts are cut there")
    help_prompts = "also prompts and answers: each episode is played again from its kept answers, and no model asked"
    report.add_argument("--prompts", action="store_true", help=help_prompts)
    export.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl", help="default: jsonl")
    export.add_argument("--out", type=Path, metavar="FILE", help="default: beside the first run's episodes")
    export.add_argument("--calls", action="store_true", help="a row a call, with the prompt as it was sent")


def _command(commands: Commands, name: str, do: Do) -> argparse.ArgumentParser:
    about = overview.ABOUT[name]
    command = commands.add_parser(name.split()[-1], help=about, description=about)
    command.set_defaults(do=do)
    return command


def _notebook_command(commands: Commands, name: str, do: Do) -> argparse.ArgumentParser:
    command = _command(commands, name, do)
    command.add_argument("--jobs", type=_count, default=2, metavar="N", help="notebooks side by side (default: 2)")
    command.add_argument("--timeout", type=_time, metavar="SECONDS", help="for one notebook (default: none)")
    return command


def _add_parameters(command: argparse.ArgumentParser) -> None:
    about = "set a parameter, of every notebook named; may be repeated"
    command.add_argument(
        "-p", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"), dest="given", help=about
    )


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
    if options.retry_failed:
        from lab.runs.run import RETRY_FAILED

        os.environ[RETRY_FAILED] = "1"  # it is the notebooks' kernels that open the runs
    if options.grid:
        if options.in_place:
            raise ValueError("--in-place refreshes the committed notebooks with their defaults; drop --grid")
        from lab.notebooks.sweep import sweep

        return sweep(options.notebooks, given, options.grid, options.out, options.jobs, options.timeout, options.yes)
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


def _time(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0; leave the option out for no limit")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _estimate(options: argparse.Namespace) -> int:
    from lab.runs import estimate

    found = estimate.estimate(options.run, options.model)
    print("\n".join(estimate.lines(found, options.episodes, options.workers)))
    return 0


def _runs(options: argparse.Namespace) -> int:
    from lab.runs import catalogue

    found = catalogue.entries(options.notebook, options.engine, options.since, options.sort, not options.no_scores)
    print(catalogue.as_json(found) if options.json else "\n".join(catalogue.lines(found)))
    return 0


def _show(options: argparse.Namespace) -> int:
    from lab.runs.showing import show

    found = show(options.run, options.task, options.prompts)
    details = {"detail": options.details or options.prompts} if options.task else {}
    print(found.text(**details))
    return 0


def _compare(options: argparse.Namespace) -> int:
    from lab.runs.comparison import compare

    found = compare(options.first, options.second)
    print(found.text())
    if options.side_by_side is not None:
        print(f"\n{found.side_by_side(options.side_by_side).text()}")
    return 0


def _prune(options: argparse.Namespace) -> int:
    from lab.runs import pruning

    chosen = pruning.choose(options.runs, options.older, options.unfinished, options.stale, options.keep)
    print("\n".join(pruning.lines(chosen, pruning.remove(chosen) if options.yes else None)))
    return 0


def _report(options: argparse.Namespace) -> int:
    from lab.runs.catalogue import find
    from lab.viewer.report import report

    folders = [find(run) for run in options.runs]
    beside = folders[0] / ("report.html" if options.one_file else "report")
    print(f"open {report(folders, options.out or beside, options.one_file, options.prompts)}")
    return 0


def _export(options: argparse.Namespace) -> int:
    from lab.runs.catalogue import find
    from lab.viewer.export import export

    folders = [find(run) for run in options.runs]
    path = options.out or folders[0] / f"{'calls' if options.calls else 'trajectories'}.{options.format}"
    print(f"{export(folders, path, options.calls):,} rows are in {path}")
    return 0


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


def _eval(options: argparse.Namespace) -> int:
    from lab.machine.faults import Unavailable
    from lab.runs import evaluate, study

    if not options.study:
        print("Studies: " + ", ".join(study.names()))
        return 0
    sys.path.insert(0, os.getcwd())  # for a study of the reader's own
    plan = evaluate.plan(options)
    if told := evaluate.announce(plan):
        print(visible("\n".join(told)))
    if told and evaluate.asks_a_server(plan) and not options.yes:
        print("nothing was asked yet; to begin, add --yes")
        return 1
    try:
        for block in evaluate.play(plan, options.workers, options.cluster):
            print(visible(block), flush=True)
    except Unavailable as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    return 0


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
