"""The command that plays a study: `python -m lab eval`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from lab.arguments import Commands, add_retry, command, number, retry
from lab.machine.printing import visible


def add(commands: Commands) -> None:
    """Add it to the command line."""
    evaluate = command(commands, "eval", _eval)
    help_study = "a study, or module:STUDY of your own; none lists the studies"
    evaluate.add_argument("study", nargs="?", default="", metavar="STUDY", help=help_study)
    help_engine = "who answers (default: the study's own, mostly rules); can be given again"
    evaluate.add_argument("--engine", action="append", default=[], help=help_engine)
    evaluate.add_argument("--data", choices=("auto", "official", "synthetic"), default="auto", help="default: auto")
    evaluate.add_argument(
        "--limit", type=number, default=-1, metavar="N", help="tasks of a benchmark; 0 for all; -1 for the study's own"
    )
    evaluate.add_argument("--benchmarks", default="", metavar="A,B", help="only these")
    help_condition = "only this one; can be given again (default: all, or those that are recorded, of a model)"
    evaluate.add_argument("--conditions", action="append", default=[], metavar="NAME", help=help_condition)
    help_set = "an option of the study, such as settings.budget=1; can be given again"
    evaluate.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=help_set)
    help_grid = "play an option's every value; can be given again: all combinations; a finished one is not played again"
    evaluate.add_argument("--grid", action="append", default=[], metavar="NAME=V,V", help=help_grid)
    help_seeds = "whole numbers; contrasts take each task's mean over them (default: 0)"
    evaluate.add_argument("--seeds", default="0", metavar="N,N", help=help_seeds)
    evaluate.add_argument("--workers", type=number, default=0, metavar="N", help="episodes at a time")
    evaluate.add_argument("--cluster", default="", help="a Dask scheduler's address")
    add_retry(evaluate)
    evaluate.add_argument("--out", type=Path, metavar="FILE.csv", help="write all rows as data, too")
    evaluate.add_argument("--yes", action="store_true", help="ask a server without stopping at what it will take")


def _eval(options: argparse.Namespace) -> int:
    import pandas as pd

    from lab.machine.faults import Unavailable
    from lab.machine.files import write_atomically
    from lab.results import exports
    from lab.runs import declaration, evaluate

    if not options.study:
        print("Studies: " + ", ".join(declaration.names()))
        return 0
    if options.out and not options.out.resolve().parent.is_dir():
        raise ValueError(
            f"--out {options.out}: there is no folder {options.out.parent}; make it first, or name another"
        )
    retry(options)
    sys.path.insert(0, os.getcwd())  # for a study of the reader's own
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
            if options.out:  # after each cell, so that a sweep that was stopped leaves its rows
                write_atomically(options.out, exports.csv(pd.concat(rows, ignore_index=True)).encode())
    except Unavailable as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return 1
    return 0
