"""AssistantBench's questions: 33 with answers ("dev") and 181 whose answers are held out by its authors ("test").

The data lacks each question's difficulty and the addresses of its evidence. In "dev" 14 questions are medium and 19
hard; in "test" 9 are easy, 56 medium and 116 hard.
Source: Yoran et al. 2024, arXiv 2407.15711; Apache-2.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lab.machine.faults import DamagedData, MissingData
from lab.machine.files import write_atomically
from lab.machine.printing import hint
from worlds.assistantbench.questions import Question, WebTask

NAME = "assistantbench"  # the folder in `official_data()`
FILES = {"dev": "dev33.jsonl", "test": "test181_questions.jsonl"}


def present(folder: Path) -> bool:
    """Whether the folder has both splits."""
    return all((folder / name).exists() for name in FILES.values())


def missing(folder: Path) -> MissingData:
    """The error for missing data."""
    return MissingData(
        f"AssistantBench's questions are not in {folder}. They were gathered from public repositories, and nothing "
        f"downloads them: set LAB_DATA to a folder that has {NAME}/{FILES['dev']}, or use data='synthetic'"
    )


def questions(folder: Path, split: str) -> list[Question]:
    """The questions of a split, "dev" or "test", in the official order. Raises MissingData, DamagedData."""
    path = folder / FILES[split]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise missing(folder) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DamagedData(f"{path} cannot be read: {error}. Restore it, or use data='synthetic'") from error
    return [question(path, number, line) for number, line in enumerate(lines, start=1)]


def question(path: Path, number: int, line: str) -> Question:
    try:
        row: dict[str, Any] = json.loads(line)
        answer = row["answer"] if path.name == FILES["dev"] else None
        return Question(WebTask(str(row["id"]), str(row["task"])), answer)
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedData(
            f"{path} is damaged in line {number}: {error!r}. Restore it, or use data='synthetic'"
        ) from error


def write_submission(path: Path, predictions: Mapping[str, str], tasks: Iterable[WebTask]) -> int:
    """Write a split's predictions in the order of its tasks; returns how many are not empty.

    predictions: by task id, in the scorer's format (`as_prediction`). Raises ValueError for an unknown id.
    """
    ids = [task.id for task in tasks]
    unknown = sorted(predictions.keys() - set(ids))
    if unknown:
        raise ValueError(f"the split has {len(ids)} tasks, none with the id {unknown[0]!r}{hint(unknown[0], ids)}")
    rows = [{"id": id, "answer": predictions.get(id, "")} for id in ids]
    write_atomically(path, "".join(json.dumps(row) + "\n" for row in rows).encode())
    return sum(bool(row["answer"]) for row in rows)
