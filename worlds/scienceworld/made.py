"""Gold paths of a few short tasks, made with the simulator: what a benchmark without official data is built from.

`worlds.scienceworld.make_gold_paths` writes the file that is read here.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from lab.machine.paths import ROOT

FILE = ROOT / "data" / "made" / "scienceworld_gold.jsonl.gz"


def tasks() -> list[str]:
    """The ids of the tasks with a made path, sorted."""
    return sorted(made_paths())


def made_paths(file: Path = FILE) -> dict[str, list[str]]:
    """Task id -> actions, without simplification; empty if the file is not there."""
    if not file.exists():
        return {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return {record["id"]: record["actions"] for record in map(json.loads, lines)}
