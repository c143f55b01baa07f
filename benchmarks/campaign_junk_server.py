"""Play runs against a server that answers one question with junk, a run for each kind, and count the harm.

    python benchmarks/campaign_junk_server.py --workers 1 --only gzip

Each run is played with the junk, then again with the server mended. Exits with 1 if there is any harm: a crash, a hang,
a run that stopped, junk that was accepted or cached, an episode that was lost for a fault of the server, totals that
are none. tests/lab/models/test_junk_server.py is the short form.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from junk_server import HARM, TASKS, Verdict, kinds, tried  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="", help="kinds whose name has this in it")
    given = parser.parse_args()
    verdicts = []
    for junk in (junk for junk in kinds() if given.only in junk.name):
        with tempfile.TemporaryDirectory(prefix="lab-junk-") as folder:
            verdicts.append(tried(junk, Path(folder), given.workers))
        for kind, found in verdicts[-1].harm.items():
            print(f"{junk.group}, {junk.name}: {kind}: {'; '.join(found)}", flush=True)
    print(table(verdicts))
    return int(any(verdict.harm for verdict in verdicts))


def table(verdicts: list[Verdict]) -> str:
    """The counts as Markdown."""
    groups = Counter(verdict.junk.group for verdict in verdicts)
    rows = {
        "kinds of junk": f"{len(verdicts)} ({', '.join(f'{name} {count}' for name, count in groups.items())})",
        "episodes, each played twice where it was not measured": TASKS * len(verdicts),
        "longest run, seconds": f"{max(verdict.seconds for verdict in verdicts):.1f}",
    }
    for kind in HARM:
        hit = [verdict.harm[kind] for verdict in verdicts if kind in verdict.harm]
        rows[kind] = f"{sum(map(len, hit))} in {len(hit)} kinds"
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| figure | value |", "| --- | --- |", *lines])


if __name__ == "__main__":
    sys.exit(main())
