"""Gold paths of a few short tasks, made with the simulator: what is played where official data is not at hand.

`python -m scripts.make_gold_paths` writes the files that are read here.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from lab.machine.paths import ROOT

FOLDER = ROOT / "data" / "synthetic"
FILES = {"": "scienceworld_gold.jsonl.gz", "easy": "scienceworld_gold_easy.jsonl.gz"}  # by simplification


def tasks(simplification: str = "") -> list[str]:
    """The ids of the tasks with a synthetic path, sorted."""
    return sorted(synthetic_paths(simplification))


def synthetic_paths(simplification: str = "", folder: Path = FOLDER) -> dict[str, list[str]]:
    """Task id -> actions under a simplification; empty if there is no file for it."""
    file = folder / FILES.get(simplification, "none")
    if not file.exists():
        return {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return {record["id"]: record["actions"] for record in map(json.loads, lines)}
