"""The commands of `python -m lab` and their arguments: the overview for newcomers, and the parser."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

WIDTH = 100  # columns
Argument = tuple[tuple[str, ...], dict[str, Any]]


def time(text: str) -> float:
    """Parse a time above 0. Raises ArgumentTypeError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0; leave the option out for no limit")
    return value


def whole(least: int) -> Callable[[str], int]:
    """A parser of whole numbers of at least `least`, for argparse's `type`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return read


def argument(*names: str, **settings: Any) -> Argument:
    """The arguments of one call of `ArgumentParser.add_argument`."""
    return names, settings


def again(*names: str, help: str, **settings: Any) -> Argument:
    """An argument that can be given several times."""
    return argument(*names, action="append", default=[], help=help, **settings)


def notebooks(default: str = "") -> Argument:
    return argument("notebooks", nargs="*", metavar="NOTEBOOK", help=f"a file, or a name such as 0_tour{default}")


JOBS = argument("--jobs", type=whole(1), default=2, metavar="N", help="notebooks side by side (default: 2)")
TIMEOUT = argument("--timeout", type=time, metavar="SECONDS", help="for one notebook (default: none)")
PARAMETERS = again("-p", help="set a parameter, of every notebook named; may be repeated", nargs=2,
                   metavar=("NAME", "VALUE"), dest="given")  # fmt: skip
RETRY = argument("--retry-failed", action="store_true",
                 help="play again what failed, or had no readable answer; what was not measured is played again "
                 "anyway")  # fmt: skip


class Command(NamedTuple):
    """One command. example: what to type after `python -m lab`; the user replaces the words in capitals."""

    name: str
    help: str
    example: str
    arguments: tuple[Argument, ...] = ()


COMMANDS = {
    "Set up": (
        Command("doctor", "what is missing on this machine, and the line that installs it; or whether an adapter keeps "
                "the contracts of its method", "doctor", (
            argument("--adapter", metavar="NAME", default="",
                     help="check this experiment instead, such as SDP.HotpotQA, or your own: module:NAME"),
            argument("--engine", default="", help="who answers it, by default the experiment's own engine"),
        )),
        Command("data", "official benchmark data: which datasets there are, and which are here", "data"),
        Command("data fetch", "download and convert a dataset", "data fetch NAME", (
            argument("name", metavar="NAME", help="one of: python -m lab data"),
            argument("--as-is", action="store_true",
                     help="fetch nothing: take the files that are here for the dataset, whatever they are, from now "
                     "on"),
        )),
        Command("model", "small models for the engine `local` and for embeddings", "model"),
        Command("model get", "download a model", "model get qwen2.5-coder-0.5b", (
            argument("name", metavar="NAME", help="one of: python -m lab model"),
        )),
        Command("try", "ask a model one question of each operator: answer, how it was bound, speed, price",
                "try local", (
            argument("engine", metavar="ENGINE", help="as the parameter of a notebook, such as gpt-4o or local"),
        )),
    ),
    "Notebooks": (
        Command("explore", "open the tour in JupyterLab, on copies of the notebooks to be changed at will", "explore", (
            argument("options", nargs="*", metavar="-- OPTION", help="of JupyterLab, such as -- --no-browser"),
        )),
        Command("run", "execute notebooks with papermill, and check their numbers; all if none is named",
                "run 0_tour -p engine rules@0.8", (
            JOBS, TIMEOUT, notebooks(), PARAMETERS,
            argument("--out", type=Path, metavar="FOLDER",
                     help="folder for executed copies and figures (default: runs/notebooks; with changed parameters, "
                     "runs/notebooks/limit=2 and the like)"),
            RETRY,
            argument("--in-place", action="store_true",
                     help="refresh the committed notebooks and figures/; all notebooks if none is named"),
        )),
        Command("record", "make a planned recording, or resume it; or run a notebook on a model and keep its answers",
                "record NAME --minutes 30", (
            argument("target", nargs="?", default="", metavar="NAME", help="a row of data/recordings/plan.yaml, none "
                     "lists them; or a notebook: a file, or a name such as 0_tour"),
            PARAMETERS,
            argument("--name", help="of a notebook's recording (default: from notebook and engine)"),
            argument("--calls", type=whole(0), metavar="N",
                     help="begin no further model call after so many; 0 saves what is in the cache"),
            argument("--minutes", type=time, metavar="M", help="begin no further model call after so many minutes"),
            again("--reuse", metavar="RECORDING", help="take the answers of a recording where the same is asked of the "
                  "same model; can be given again"),
        )),
    ),
    "Studies and their runs": (
        Command("eval", "play a study, methods on benchmarks, or a sweep over its options; says first what models take",
                "eval sdp-table5 --engine rules@0.8 --limit 10", (
            argument("study", nargs="?", default="", metavar="STUDY",
                     help="a study, or module:STUDY of your own; none lists the studies"),
            again("--engine", help="who answers (default: the study's own, mostly rules); can be given again"),
            argument("--data", choices=("auto", "official", "synthetic"), default="auto", help="default: auto"),
            argument("--limit", type=whole(0), default=-1, metavar="N",
                     help="tasks of a benchmark; 0 for all; -1 for the study's own"),
            argument("--benchmarks", default="", metavar="A,B", help="only these"),
            again("--conditions", metavar="NAME",
                  help="only this one; can be given again (default: all, or those that are recorded, of a model)"),
            again("--set", metavar="NAME=VALUE",
                  help="an option of the study, such as settings.budget=1; can be given again"),
            again("--grid", metavar="NAME=V,V", help="play an option's every value; can be given again: all "
                  "combinations; a finished one is not played again"),
            argument("--seeds", default="0", metavar="N,N",
                     help="whole numbers; contrasts take each task's mean over them (default: 0)"),
            argument("--workers", type=whole(0), default=0, metavar="N", help="episodes at a time"),
            argument("--cluster", default="", help="a Dask scheduler's address"),
            RETRY,
            argument("--out", type=Path, metavar="FILE.csv", help="write all rows as data, too"),
            argument("--yes", action="store_true", help="ask a server without stopping at what it will take"),
        )),
        Command("show", "the runs that are here; one of them, an episode of it, or two runs compared task by task",
                "show RUN --beside RUN", (
            argument("run", nargs="?", default="", metavar="RUN", help="a run's folder, or a part of its name that no "
                     "other run has; none lists the runs, the newest first"),
            argument("task", nargs="?", default="", metavar="TASK", help="an id, or a part of one"),
            argument("--details", action="store_true", help="with TASK: what is behind each step"),
            argument("--prompts", action="store_true", help="with TASK or --save: prompts and answers, too"),
            argument("--save", type=Path, metavar="PATH", help="a run as pages (FOLDER or *.html), or its trajectories "
                     "as chat messages (*.jsonl, *.parquet)"),
            argument("--beside", default="", metavar="RUN", help="compare it with another run; RUN:PART is one of its "
                     "conditions; with TASK, the episodes of both"),
        )),
    ),
    "Upkeep": (
        Command("check", "find claims without their rows, and notebooks that are out of form or stale", "check 0_tour",
                (JOBS, TIMEOUT, notebooks(" (default: all)"))),
        Command("expect", "accept the numbers of a run as those to expect from now on", "expect 0_tour", (
            notebooks(" (default: all that reported)"),
            argument("--from", type=Path, dest="source", metavar="FOLDER", help="folder of the figures of a run "
                     "(default: runs/notebooks/figures; the committed ones are in figures)"),
        )),
    ),
}  # fmt: skip


def lines() -> Iterator[str]:
    """The overview of all commands, line by line."""
    yield "Research on language agents, in notebooks. All notebooks run offline; -p engine chooses a model."
    for group, commands in COMMANDS.items():
        yield f"\n{group}"
        for command in commands:
            yield textwrap.fill(f"  {command.name:<14}{command.help}", WIDTH, subsequent_indent=" " * 16)
            yield f"{'':16}python -m lab {command.example}"
    yield "\npython -m lab COMMAND --help has the options of a command; README.md, how to begin."


def parser(do: Mapping[str, Callable[[argparse.Namespace], int]]) -> argparse.ArgumentParser:
    """The argument parser. do: command name -> function to call; "" for no command."""
    root = argparse.ArgumentParser(
        prog="python -m lab",
        usage="python -m lab COMMAND ...",
        description="\n".join(lines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.set_defaults(do=do[""])
    # argparse's own list of commands is left out: the description has them in groups.
    subparsers = {"": root.add_subparsers(prog=root.prog, metavar="COMMAND", help=argparse.SUPPRESS)}
    parsers: dict[str, argparse.ArgumentParser] = {}
    for command in (command for commands in COMMANDS.values() for command in commands):
        group, _, name = command.name.rpartition(" ")
        if group not in subparsers:
            subparsers[group] = parsers[group].add_subparsers(metavar="COMMAND")
        parsers[command.name] = subparsers[group].add_parser(name, help=command.help, description=command.help)
        parsers[command.name].set_defaults(do=do[command.name])
        for names, settings in command.arguments:
            parsers[command.name].add_argument(*names, **settings)
    return root
