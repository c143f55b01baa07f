"""Build RewardPrediction, or show what was built: python -m statefactory.benchmark build | show | export"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.machine.faults import MissingData
from lab.runs.run import RunBusy
from statefactory.benchmark.build import BuildFailed, Built, build, kept
from statefactory.benchmark.domains import BY_NAME, Domain
from statefactory.benchmark.held_out import held_out
from statefactory.benchmark.published import write_published


def main(arguments: Sequence[str] | None = None) -> int:
    """The command and its exit status: 1 where data is missing, pairs failed or another build runs; 130 if stopped."""
    options = _parser().parse_args(arguments)
    try:
        return {"build": _build, "show": _show, "export": _export}[options.command](options)
    except (MissingData, BuildFailed, RunBusy) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        print(stopped, file=sys.stderr)
        return 130


def _build(options: argparse.Namespace) -> int:
    for domain in _domains(options):
        done = build(domain, options.data, options.seed, options.limit, options.workers, options.folder)
        print(_line(done))
        for task, reason in done.about["skipped"].items():
            print(f"  skipped {task}: {reason}")
    return 0


def _show(options: argparse.Namespace) -> int:
    for domain in _domains(options):
        done = kept(domain, options.data, options.seed, options.limit, options.folder)
        name = domain if isinstance(domain, str) else domain.name
        print(_line(done) if done else f"{name}: not built from this code and these options")
    return 0


def _export(options: argparse.Namespace) -> int:
    for domain in _domains(options):
        done = build(domain, options.data, options.seed, options.limit, options.workers, options.folder)
        write_published(options.to, done.pairs())
        print(f"{done.domain}: {done.about['pairs']} pairs written below {options.to / done.domain}")
    return 0


def _domains(options: argparse.Namespace) -> list[str | Domain]:
    return [held_out(name) if options.held_out else name for name in options.domain]


def _line(done: Built) -> str:
    about = done.about
    drawn = f"{about['positive_redraws']} beginnings and {about['negative_redraws']} negatives drawn again"
    state = f"built in {about['seconds']} s" + ("" if done.fresh else " earlier")
    return f"{done.domain} ({done.data}): {about['pairs']} pairs, {drawn}, {state}; {done.jsonl}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m statefactory.benchmark", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("build", "build what is not there yet"), ("show", "say what is there"),
                       ("export", "build, and write the published layout")):  # fmt: skip
        command = commands.add_parser(name, help=what)
        command.add_argument("--domain", nargs="+", choices=list(BY_NAME), default=list(BY_NAME), metavar="D",
                             help=f"of {', '.join(BY_NAME)}; all by default")  # fmt: skip
        command.add_argument("--data", choices=("auto", "official", "synthetic"), default="auto")
        command.add_argument("--seed", type=int, default=0, help="of tasks, padding and negatives")
        command.add_argument("--limit", type=int, default=0, help="so many pairs of each domain; 0 for all")
        command.add_argument("--held-out", action="store_true", help="of tasks that no rule was written on")
        command.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
        command.add_argument("--folder", type=Path, help="where the files go; data/cache/benchmark by default")
        if name == "export":
            command.add_argument("--to", type=Path, required=True, help="folder of the published layout")
    return parser


if __name__ == "__main__":
    sys.exit(main())
