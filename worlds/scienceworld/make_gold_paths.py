"""Writes the gold paths of `worlds.scienceworld.made`: solves short tasks with the simulator and keeps their actions.

`python -m worlds.scienceworld.make_gold_paths` writes data/made/scienceworld_gold.jsonl.gz again.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

from lab.machine.files import write_atomically
from worlds.scienceworld.expert import Expert
from worlds.scienceworld.made import FILE
from worlds.scienceworld.world import ScienceWorld

EACH = 2  # variations of a type
LONGEST = 40  # steps


def write(file: Path = FILE) -> int:
    """Solve the first test variations of each of RewardPrediction's types, and keep the paths that are short.

    Returns the number of steps written.
    """
    taken: Counter[str] = Counter()
    paths: dict[str, tuple[str, ...]] = {}
    with ScienceWorld("made", simplification="", list_actions=False) as world:
        # Without stored paths, else the file that is to be made would be read for them.
        expert = Expert(world, stored={})
        for task in world.tasks("rewardprediction"):
            taken[task.name] += 1
            if taken[task.name] <= EACH and len(actions := expert.actions(task)) <= LONGEST:
                paths[task.id] = actions
    text = "".join(json.dumps({"id": id, "actions": list(actions)}) + "\n" for id, actions in paths.items())
    write_atomically(file, gzip.compress(text.encode("utf-8"), mtime=0))
    return sum(map(len, paths.values()))


if __name__ == "__main__":
    print(f"{FILE}: {write()} steps")
