"""Stored gold paths: SwiftSage's and RewardPrediction's in the official data, and a few short ones of the suite.

`python -m scripts.make_gold_paths` writes the latter, which are used where there is no official data.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.machine.paths import ROOT, official_data
from worlds.scienceworld.tasks import task_id

EASY_PATHS = Path("scienceworld") / "swiftsage_oracle_actions.jsonl.gz"
PLAIN_PATHS = Path("rewardprediction") / "scienceworld_191_gold.jsonl.gz"
FOLDER = ROOT / "data" / "synthetic"
FILES = {"": "scienceworld_gold.jsonl.gz", "easy": "scienceworld_gold_easy.jsonl.gz"}  # by simplification
PLAYED_BY = "1.2.3"  # version of the package scienceworld with which the paths in FILES were played to full score


def present() -> bool:
    """Whether the official data folder has the gold paths of RewardPrediction's tasks."""
    return (official_data() / PLAIN_PATHS).exists()


def stored_paths(simplification: str) -> dict[str, list[str]]:
    """Task id -> actions, for "easy" (SwiftSage's oracle) and "" (RewardPrediction's tasks); empty if not present."""
    if simplification == "easy":
        return {
            task_id(record["task_name"], record["variation_id"]): [action for action, _ in record["steps"]]
            for record in _records(official_data() / EASY_PATHS)
        }
    plain = _records(official_data() / PLAIN_PATHS) if simplification == "" else ()
    return {task_id(record["task"], record["variation"]): record["gold"] for record in plain}


def synthetic_paths(simplification: str = "") -> dict[str, list[str]]:
    """Task id -> actions of the suite's own paths under a simplification; empty if there is no file for it."""
    return {record["id"]: record["actions"] for record in _records(FOLDER / FILES.get(simplification, "none"))}


def tasks(simplification: str = "") -> list[str]:
    """The ids of the tasks with a synthetic path, sorted."""
    return sorted(synthetic_paths(simplification))


def _records(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)
