"""The map of the commands for a newcomer, and the arguments that the modules share which add commands."""

from __future__ import annotations

import argparse
import math
import os
import textwrap
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

WIDTH = 100  # columns


class Command(NamedTuple):
    """One command. example: what stands behind `python -m lab`; words in capitals are the reader's to fill in."""

    name: str
    help: str
    example: str


COMMANDS = {
    "Set up": (
        Command("doctor", "what is missing on this machine, and the line that installs it", "doctor"),
        Command("data", "official benchmark data: which datasets there are, and which are here", "data"),
        Command("data fetch", "download and convert a dataset", "data fetch NAME"),
        Command("model", "small models for the engine `local` and for embeddings", "model"),
        Command("model get", "download a model", "model get qwen2.5-coder-0.5b"),
        Command("try", "ask a model one question of each operator: answer, how it was bound, speed, price",
                "try local"),
    ),
    "Notebooks": (
        Command("explore", "open JupyterLab on copies of the notebooks, to be changed at will", "explore"),
        Command("run", "execute notebooks with papermill, and check their numbers; all if none is named",
                "run 0_tour -p engine rules@0.8"),
        Command("record", "run a notebook on a model, and keep its answers for `replay:`",
                "record NOTEBOOK -p engine local --minutes 30"),
    ),
    "Studies and their runs": (
        Command("eval", "play a study, methods on benchmarks, or a sweep over its options; says first what models take",
                "eval sdp-table5 --engine rules@0.8 --limit 10"),
        Command("show", "the runs that are here; one of them, an episode of it, or two runs compared task by task",
                "show RUN --beside RUN"),
    ),
    "Upkeep": (
        Command("check", "find claims without their rows, and notebooks that are out of form or stale", "check 0_tour"),
        Command("expect", "accept the numbers of a run as those to expect from now on", "expect 0_tour"),
    ),
}  # fmt: skip
HELP = {command.name: command.help for group in COMMANDS.values() for command in group}


def lines() -> Iterator[str]:
    """The map, line by line."""
    yield "Research on language agents, in notebooks. All notebooks run offline; -p engine chooses a model."
    for group, commands in COMMANDS.items():
        yield f"\n{group}"
        for command in commands:
            yield from (_entry(command.name, command.help), f"{'':16}python -m lab {command.example}")
    yield "\npython -m lab COMMAND --help has the options of a command; README.md, how to begin."


def _entry(name: str, text: str) -> str:
    return textwrap.fill(f"  {name:<14}{text}", WIDTH, subsequent_indent=" " * 16)


Do = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(commands: Commands, name: str, do: Do) -> argparse.ArgumentParser:
    text = HELP[name]
    parser = commands.add_parser(name.split()[-1], help=text, description=text)
    parser.set_defaults(do=do)
    return parser


def add_retry(parser: argparse.ArgumentParser) -> None:
    text = "play again what failed, or had no readable answer; what was not measured is played again anyway"
    parser.add_argument("--retry-failed", action="store_true", help=text)


def retry(options: argparse.Namespace) -> None:
    """Tell the runs, also those that a notebook's kernel opens, to play failed episodes again, if that is asked for."""
    from lab.runs.run import RETRY_FAILED

    if options.retry_failed:
        os.environ[RETRY_FAILED] = "1"


def time(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0; leave the option out for no limit")
    return value


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)
