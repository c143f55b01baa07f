"""Build RewardPrediction: python -m statefactory.benchmark build"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.machine.faults import MissingData
from lab.runs.run import RunBusy
from statefactory.benchmark.build import BuildFailed, build
from statefactory.benchmark.domains import BY_NAME
from statefactory.benchmark.other_tasks import held_out


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 1 if data is missing, pairs failed or another build is running, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    try:
        for name in options.domain:
            domain = held_out(name) if options.held_out else name
            built = build(domain, options.data, options.seed, options.limit, options.workers, options.folder)
            about = built.about
            redraws = f"{about['positive_redraws']} beginnings and {about['negative_redraws']} negatives drawn again"
            state = f"built in {about['seconds']} s" + ("" if built.fresh else " earlier")
            print(f"{built.domain} ({built.data}): {about['pairs']} pairs, {redraws}, {state}; {built.jsonl}")
            for task, reason in about["skipped"].items():
                print(f"  skipped {task}: {reason}")
    except (MissingData, BuildFailed, RunBusy) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        print(stopped, file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m statefactory.benchmark", description=__doc__)
    parser.add_argument("command", choices=("build",), help="build what is not there yet")
    parser.add_argument("--domain", nargs="+", choices=list(BY_NAME), default=list(BY_NAME), metavar="D",
                        help=f"of {', '.join(BY_NAME)}; all by default")  # fmt: skip
    parser.add_argument("--data", choices=("auto", "official", "synthetic", "published"), default="auto")
    parser.add_argument("--seed", type=int, default=0, help="of tasks, padding and negatives")
    parser.add_argument("--limit", type=int, default=0, help="so many pairs of each domain; 0 for all")
    parser.add_argument("--held-out", action="store_true", help="of tasks that no rule was written on")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--folder", type=Path, help="where the files go; data/cache/benchmark by default")
    return parser


if __name__ == "__main__":
    sys.exit(main())
