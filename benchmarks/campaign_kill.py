"""Kill runs with SIGKILL at random moments, resume them each time, and compare the end with an undisturbed run.

    python benchmarks/campaign_kill.py --kills 200 --seed 0

Half of the kills hit a run of noisy rules, half one against a server on the loopback, with a cache and on two threads.
About half come after a random time, half in the middle of a write or an fsync. Exits with 1 if anything differs.
tests/lab/runs/test_run.py has the short form.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from kills import FILES, Outcome, campaign  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=80, help="episodes of a run")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    # Who is killed cannot give back its semaphores; the end of the campaign would complain of each.
    os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker"
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-kills-") as folder:
        outcomes = campaign(Path(folder), given.kills, given.tasks, given.seed)
    print(table(outcomes))
    print(f"\n{time.monotonic() - began:.0f} s; {given.tasks} episodes a run")
    differences = [words for outcome in outcomes.values() for words in outcome.differences]
    for words in differences:
        print(f"WRONG: {words}")
    return int(bool(differences))


def table(outcomes: dict[str, Outcome]) -> str:
    """The figures as Markdown, a column a kind of run."""
    rows = {
        "kills": lambda o: o.kills.total(),
        "after a random time": lambda o: o.kills["timer"],
        "in a write": lambda o: o.kills["write"],
        "in an fsync": lambda o: o.kills["fsync"],
        **{f"half a line left in {name}": lambda o, name=name: o.torn[name] for name in FILES},
        "runs brought to their end": lambda o: o.rounds,
        "episodes played once more": lambda o: o.repeated,
        "requests that the server got": lambda o: o.requests,
        "differences from the undisturbed run": lambda o: len(o.differences),
    }
    lines = [f"| {what} | {' | '.join(str(value(o)) for o in outcomes.values())} |" for what, value in rows.items()]
    return "\n".join([f"| figure | {' | '.join(outcomes)} |", "| --- |" + " --- |" * len(outcomes), *lines])


if __name__ == "__main__":
    sys.exit(main())
