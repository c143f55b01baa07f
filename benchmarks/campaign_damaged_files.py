"""Damage files in all the ways that a disk, a power cut or a hand finds, and count what becomes of them.

    python benchmarks/campaign_damaged_files.py [--only recordings] [--all]

kept: what is whole is used and the rest is made anew, which is said. named: refused, with the file and what to do.
Exits with 1 if there was anything else. tests/lab/test_damaged_files.py is the short form.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from damage import FAULTS, KEPT, NAMED, cases, played  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose group or name holds this")
    parser.add_argument("--all", action="store_true", help="print every case, not the faults alone")
    given = parser.parse_args()
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "LAB_DATA"):
        os.environ.pop(name, None)
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="lab-damage-") as folder:
        Path(folder).chmod(0o755)
        for number, case in enumerate(case for case in cases() if given.only in f"{case.group} {case.name}"):
            word, said = played(case, Path(folder) / str(number))
            counts.setdefault(case.group, Counter())[word] += 1
            if given.all or word in FAULTS:
                print(f"{word:9} {case.group}, {case.name}: {' '.join(said.split())[:300]}")
    words = (KEPT, NAMED, *FAULTS)
    print(f"\n| files | cases | {' | '.join(words)} |\n| --- {'| ---: ' * (len(words) + 1)}|")
    for group, count in {**counts, "all": sum(counts.values(), Counter())}.items():
        print(f"| {group} | {count.total()} | {' | '.join(str(count[word]) for word in words)} |")
    return int(any(count[word] for count in counts.values() for word in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
