"""The commands on runs that are on the disk: list, show, compare, prune and export them."""

from __future__ import annotations

import argparse
from pathlib import Path

from lab.arguments import RUN, Commands, command, time


def add(commands: Commands) -> None:
    """Add them to the command line."""
    _listing(commands)
    _viewing(commands)


def _listing(commands: Commands) -> None:
    """The commands on runs that are on the disk."""
    runs = command(commands, "runs", _runs)
    runs.add_argument("words", nargs="*", metavar="WORD", help="only those in whose line all words are")
    show = command(commands, "show", _show)
    show.add_argument("run", metavar="RUN", help=RUN)
    show.add_argument("task", nargs="?", default="", metavar="TASK", help="an id, or a part of one")
    show.add_argument("--details", action="store_true", help="with TASK: what is behind each step")
    show.add_argument("--prompts", action="store_true", help="with TASK: that, and prompts and answers")
    compare = command(commands, "compare", _compare)
    help_part = f"{RUN}; RUN:PART for one of its conditions or methods"
    for name in ("first", "second"):
        compare.add_argument(name, metavar="RUN", help=help_part)
    help_beside = "the episodes of a task in both, step by step (default: the first that flipped)"
    compare.add_argument("--side-by-side", nargs="?", const="", metavar="TASK", help=help_beside)
    prune = command(commands, "prune", _prune)
    prune.add_argument("runs", nargs="*", metavar="RUN", help=RUN)
    prune.add_argument("--older", type=time, metavar="DAYS", help="not written to for so many days")
    prune.add_argument("--yes", action="store_true", help="delete them; without it, they are only listed")


def _viewing(commands: Commands) -> None:
    """The commands that export runs: pages to read, and trajectories for other programs."""
    report, export = command(commands, "report", _report), command(commands, "export", _export)
    for each in (report, export):
        each.add_argument("runs", nargs="+", metavar="RUN", help=RUN)
    report.add_argument("--out", type=Path, metavar="PATH", help="folder, or with --one-file the file, to write")
    report.add_argument("--one-file", action="store_true", help="all in one HTML file; long texts are cut there")
    help_prompts = "also prompts and answers: each episode is played again from its kept answers, and no model asked"
    report.add_argument("--prompts", action="store_true", help=help_prompts)
    export.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl", help="default: jsonl")
    export.add_argument("--out", type=Path, metavar="FILE", help="default: beside the first run's episodes")
    export.add_argument("--calls", action="store_true", help="a row a call, with the prompt as it was sent")


def _runs(options: argparse.Namespace) -> int:
    from lab.runs import catalogue

    print("\n".join(catalogue.lines(catalogue.runs(*options.words))))
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
    from lab.runs import catalogue, pruning

    chosen = pruning.choose(options.runs, options.older)
    for folder in chosen:
        print(f"{catalogue.called(folder)}  {pruning.size(folder) / 1e6:,.2f} MB")
    if not options.yes:
        print(f"{len(chosen)} to delete; nothing was deleted: add --yes")
        return 0
    gone = pruning.remove(chosen)
    stayed = f"; {len(chosen) - len(gone)} stayed, since somebody writes to them" * (len(gone) < len(chosen))
    print(f"{len(gone)} deleted{stayed}")
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
