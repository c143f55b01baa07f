"""The file that AssistantBench's leaderboard takes for the test split: JSON lines of `id` and `answer`.

So does browsergym-assistantbench 0.14.3 write it, whose README says to upload it: one line for each task, an empty
answer where there is none. Source: huggingface.co/spaces/AssistantBench/leaderboard.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.machine.files import write_atomically
from lab.machine.printing import hint
from worlds.assistantbench.questions import WebTask


def write_submission(path: Path, predictions: Mapping[str, str], tasks: Iterable[WebTask]) -> int:
    """Write the predictions of a split in the order of its tasks; returns how many are answers.

    predictions: by task id, as the scorer takes them (`as_prediction`). Raises ValueError for an unknown id.
    """
    ids = [task.id for task in tasks]
    unknown = sorted(predictions.keys() - set(ids))
    if unknown:
        raise ValueError(f"the split has {len(ids)} tasks, none with the id {unknown[0]!r}{hint(unknown[0], ids)}")
    rows = [{"id": id, "answer": predictions.get(id, "")} for id in ids]
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows).encode())
    return sum(bool(row["answer"]) for row in rows)
