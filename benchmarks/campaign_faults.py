"""Play a run against a server that misbehaves at random, and hold both sides' accounts together.

    python benchmarks/campaign_faults.py --episodes 200 --seed 0 --workers 8

Exits with 1 if anything does not add up. tests/lab/runs/test_faults.py is the short form.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from faults import Outcome, campaign, totals  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--patience", type=float, default=8.0, help="seconds of retrying before a question fails")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lab-faults-") as folder:
        outcome = campaign(Path(folder), given.episodes, given.seed, given.workers, given.patience)
    print(table(outcome))
    for fault in outcome.faults:
        print(f"WRONG: {fault}")
    return int(bool(outcome.faults))


def table(outcome: Outcome) -> str:
    """The figures as Markdown."""
    mine, failed = totals(outcome.usage), sum(episode.failed for episode in outcome.results)
    rows = {
        "episodes: scored / failed": f"{len(outcome.results) - failed} / {failed}",
        "episodes not measured": len(outcome.not_measured),
        "stops and resumptions": outcome.stops,
        "seconds": f"{outcome.seconds:.0f}",
        "requests that the server got": len(outcome.books),
        "by kind": listed(Counter(booked.kind for booked in outcome.books)),
        "calls booked": mine["calls"],
        "by path": listed({name[5:]: times for name, times in mine.items() if name.startswith("path ")}),
        "tokens in + out: booked": f"{mine['tokens_in']} + {mine['tokens_out']}",
        "tokens in + out: sent": " + ".join(str(sum(b.tokens[i] for b in outcome.books if b.replied)) for i in (0, 1)),
        "retries booked / requests without a reply": f"{mine['retries']} / {sum(not b.replied for b in outcome.books)}",
        "answers cached": len(outcome.cached),
        "disagreements": len(outcome.faults),
    }
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| figure | value |", "| --- | --- |", *lines])


def listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {times}" for name, times in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
