"""Arguments of commands: what all modules share that add commands to `python -m lab`."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable
from typing import TypeAlias

from lab import overview

Do = Callable[[argparse.Namespace], int]
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def command(commands: Commands, name: str, do: Do) -> argparse.ArgumentParser:
    text = overview.HELP[name]
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
