"""Writes the gold paths of `worlds.scienceworld.paths`: solves short tasks with the simulator, keeps the actions.

`python -m scripts.make_gold_paths` writes those files in data/synthetic/ again.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from lab.machine.files import write_atomically
from worlds.scienceworld.expert import Expert
from worlds.scienceworld.paths import FILES, FOLDER
from worlds.scienceworld.world import ScienceWorld


class Kept(NamedTuple):
    """Which paths: the first variations of each type of a split, so many, that take at most `longest` actions."""

    split: str
    each: int
    longest: int


# By simplification: for RewardPrediction, and for SwiftSage's protocol without what takes minutes to play.
KEPT = {"": Kept("rewardprediction", 2, 40), "easy": Kept("protocol", 1, 90)}


def write(simplification: str, folder: Path = FOLDER) -> int:
    """Solve the tasks of KEPT, and keep the paths that are short. Returns the number of actions written."""
    kept, taken, paths = KEPT[simplification], Counter[str](), dict[str, tuple[str, ...]]()
    with ScienceWorld("synthetic", simplification=simplification, list_actions=False) as world:
        # Without stored paths, else the file that is to be made would be read for them.
        expert = Expert(world, stored={})
        for task in world.tasks(kept.split):
            taken[task.name] += 1
            if taken[task.name] <= kept.each and len(actions := expert.actions(task)) <= kept.longest:
                paths[task.id] = actions
    text = "".join(json.dumps({"id": id, "actions": list(actions)}) + "\n" for id, actions in paths.items())
    write_atomically(folder / FILES[simplification], gzip.compress(text.encode("utf-8"), mtime=0))
    return sum(map(len, paths.values()))


if __name__ == "__main__":
    for simplification, file in FILES.items():
        print(f"{file}: {write(simplification)} actions")
