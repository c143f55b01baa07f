"""PlanBench's 501 problems: download, and the compact file that the loader reads."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.machine.datasets import Dataset, UnexpectedData
from lab.machine.download import Report, download
from lab.machine.files import write_atomically
from worlds.blocksworld.problem import BlocksProblem, BlocksTask, from_pddl, problem_of, read_operator
from worlds.blocksworld.state import Action

FILE = "generated_basic_501.jsonl.gz"
COUNT = 501
# PlanBench's own repository.
URL = (
    "https://raw.githubusercontent.com/karthikv792/LLMs-Planning/main/plan-bench/instances/blocksworld/"
    "generated_basic/instance-{number}.pddl"
)
# `digest` of all problems that this suite was tested with.
DIGEST = "d35ee8a52236d9b9ae79bac263f8a309c14d6a0fed04c27d28112208cb79453e"
REPORTED = 100  # downloads between two lines of progress


def present(folder: Path) -> bool:
    """Whether the folder has the file that the loader reads."""
    return (folder / FILE).exists()


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The file's rows, in its order."""
    with gzip.open(folder / FILE, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def task_id(row: Mapping[str, Any]) -> str:
    return f"blocksworld-{row['instance_id']:03}"


@dataclass(frozen=True)
class OfficialProblems:
    """PlanBench's problems, in one split."""

    folder: Path
    data: str = field(default="official", init=False)
    splits: tuple[str, ...] = field(default=("test",), init=False)

    def tasks(self, split: str) -> Sequence[BlocksTask]:
        problems = ((task_id(row), problem_in(row)) for row in rows(self.folder))
        return [BlocksTask(name, problem.goal_text, problem) for name, problem in problems]

    def plans(self) -> dict[str, tuple[Action, ...]]:
        """PlanBench's own plan by task id, where the file has one. Only for the expert."""
        return {
            task_id(row): tuple(map(read_operator, row["reference_plan"]))
            for row in rows(self.folder)
            if row.get("reference_plan")
        }


def problem_in(row: Mapping[str, Any]) -> BlocksProblem:
    start = [tuple(fact.split()) for fact in row["init"]]
    return problem_of({block for fact in start for block in fact[1:]}, start, (tuple(f.split()) for f in row["goal"]))


def fetch(folder: Path, report: Report) -> None:
    """Download the 501 problems and convert them into one file; can be stopped and called again.

    PlanBench's plans are in other files and are not fetched: the expert's planner finds plans that are as short.
    Raises DownloadFailed, or UnexpectedData if the problems are not the expected ones.
    """
    raw = folder / "raw"
    report(f"downloading {COUNT} small files from {URL.format(number='*')}")
    for number in range(1, COUNT + 1):
        target = raw / f"instance-{number}.pddl"
        if not target.exists():
            download(URL.format(number=number), target, report)
        if number % REPORTED == 0:
            report(f"  {number} of {COUNT}")
    # mtime=0: the same bytes for the same problems.
    lines = "".join(f"{json.dumps(row)}\n" for row in converted(raw))
    write_atomically(folder / FILE, gzip.compress(lines.encode(), mtime=0))
    shutil.rmtree(raw)


def converted(raw: Path) -> list[dict[str, Any]]:
    """The problems as the compact file's rows. Raises UnexpectedData."""
    problems = [from_pddl((raw / f"instance-{n}.pddl").read_text(encoding="utf-8")) for n in range(1, COUNT + 1)]
    if digest(problems) != DIGEST:
        raise UnexpectedData(
            f"the {COUNT} problems from {URL.format(number='*')} are not those that this suite was made for; "
            f"remove {raw} and fetch them again, or put PlanBench's commit b008bc4 there"
        )
    return [
        {
            "instance_id": number,
            "n_blocks": len(problem.start.blocks),
            "init": [" ".join(fact) for fact in sorted(problem.start.facts())],
            "goal": [" ".join(fact) for fact in problem.goal],
            "reference_plan": None,
        }
        for number, problem in enumerate(problems, start=1)
    ]


def digest(problems: Iterable[BlocksProblem]) -> str:
    """SHA-256 of the problems in order, independent of their files' layout."""
    text = "\n".join(problem.to_pddl(f"blocksworld-{number:03}") for number, problem in enumerate(problems, start=1))
    return hashlib.sha256(text.encode()).hexdigest()


DATASET = Dataset(
    name="blocksworld", about="PlanBench's 501 BlocksWorld problems of 4 and 5 blocks", present=present, fetch=fetch
)
