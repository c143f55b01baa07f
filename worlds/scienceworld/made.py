"""Gold paths of a few short tasks, made with the simulator: what a benchmark without official data is built from.

`python -m worlds.scienceworld.made` writes data/made/scienceworld_gold.jsonl.gz again.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT
from worlds.scienceworld.tasks import name_and_variation

FILE = ROOT / "data" / "made" / "scienceworld_gold.jsonl.gz"
EACH = 2  # variations of a type
LONGEST = 40  # steps


def tasks() -> list[str]:
    """The ids of the tasks with a made path, sorted."""
    return sorted(made_paths())


def made_paths(file: Path = FILE) -> dict[str, list[str]]:
    """Task id -> actions, without simplification; empty if the file is not there."""
    if not file.exists():
        return {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return {record["id"]: record["actions"] for record in map(json.loads, lines)}


def write(file: Path = FILE) -> int:
    """Solve the first test variations of each of RewardPrediction's types, and keep the paths that are short.

    Returns the number of steps written.
    """
    from worlds.scienceworld.expert import Expert
    from worlds.scienceworld.world import ScienceWorld

    taken: dict[str, int] = {}
    lines = []
    with ScienceWorld("made", simplification="", list_actions=False) as world:
        expert = Expert(world, stored={})
        for task in world.tasks("rewardprediction"):
            name, _ = name_and_variation(task.id)
            taken[name] = taken.get(name, 0) + 1
            if taken[name] > EACH:
                continue
            actions = expert.actions(task)
            if len(actions) <= LONGEST:
                lines.append({"id": task.id, "actions": list(actions)})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    write_atomically(file, gzip.compress(text.encode("utf-8"), mtime=0))
    return sum(len(line["actions"]) for line in lines)


if __name__ == "__main__":
    print(f"{FILE}: {write()} steps")
