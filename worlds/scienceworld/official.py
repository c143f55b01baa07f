"""Readers of the gold paths that lie with the official data: SwiftSage's, and those of RewardPrediction's tasks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.machine.paths import official_data
from worlds.scienceworld.tasks import task_id

EASY_PATHS = Path("scienceworld") / "swiftsage_oracle_actions.jsonl.gz"
PLAIN_PATHS = Path("rewardprediction") / "scienceworld_191_gold.jsonl.gz"


def present(folder: Path | None = None) -> bool:
    """Whether the official data folder has the gold paths of RewardPrediction's tasks."""
    return ((folder or official_data()) / PLAIN_PATHS).exists()


def stored_paths(simplification: str, folder: Path | None = None) -> dict[str, list[str]]:
    """Task id -> actions, for "easy" (SwiftSage's oracle) and "" (RewardPrediction's tasks); empty where not there."""
    folder = folder or official_data()
    if simplification == "easy" and (folder / EASY_PATHS).exists():
        return {
            task_id(record["task_name"], record["variation_id"]): [action for action, _ in record["steps"]]
            for record in _records(folder / EASY_PATHS)
        }
    if simplification == "" and (folder / PLAIN_PATHS).exists():
        return {
            task_id(record["task"], record["variation"]): record["gold"] for record in _records(folder / PLAIN_PATHS)
        }
    return {}


def _records(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
