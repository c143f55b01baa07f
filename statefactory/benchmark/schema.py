"""Schema of the benchmark's records and files.

A row has the published fields and our fields on a trajectory's origin. A domain has one JSONL and one Parquet file with
the same rows in the same order; both load with `datasets.load_dataset("json" or "parquet", data_files=...)`. Equal rows
give byte-identical files.
"""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from lab.machine.faults import MissingData
from lab.machine.files import write_atomically
from lab.machine.paths import shown
from lab.machine.reading import damaged

Kind = Literal["positive", "negative"]
DOMAINS = ("alfworld", "scienceworld", "webshop", "blocksworld", "textworld")  # the order of the paper's Table 3
FORMATS = ("jsonl", "parquet")


@dataclass(frozen=True, slots=True)
class Reward:
    """The rewards of a step. raw: the world's own score, in [0, 1]. shaped: the ground truth, in [0, 1].

    is_expert: whether the expert, not the random policy, took the step. Source: Shen et al. 2026, Appendix A.1.
    """

    raw: float
    shaped: float
    is_expert: bool


@dataclass(frozen=True, slots=True)
class StepRecord:
    """An action, the resulting observation and its reward. The initial observation belongs to no step."""

    action: str
    observation: str
    reward: Reward


@dataclass(frozen=True, slots=True)
class Row:
    """One trajectory. `goal_description` and `trajectory` are the published fields; the others are ours.

    id: "<task>_positive" or "<task>_negative_<i>", as the official evaluator names them. source: the trajectory's
    origin, such as "walkthrough" or "random policy". data: "official", "synthetic", or "published" for the paper's own.
    initial_observation: the observation before the first step; "" if unknown.
    """

    id: str
    domain: str
    task: str
    kind: Kind
    source: str
    data: str
    seed: int
    initial_observation: str
    goal_description: str
    trajectory: tuple[StepRecord, ...]

    @property
    def actions(self) -> list[str]:
        return [step.action for step in self.trajectory]

    @property
    def observations(self) -> list[str]:
        return [step.observation for step in self.trajectory]

    @property
    def steps(self) -> tuple[tuple[str, str], ...]:
        """Each action with the resulting observation."""
        return tuple((step.action, step.observation) for step in self.trajectory)

    @property
    def shaped(self) -> list[float]:
        """The ground-truth rewards, one per step."""
        return [step.reward.shaped for step in self.trajectory]

    def to_json(self) -> dict[str, Any]:
        """JSON values, which `read_row` parses."""
        return asdict(self)


ROW = TypeAdapter(Row)


@dataclass(frozen=True, slots=True)
class Pair:
    """The trajectories of one task. Our pairs have one negative; the published layout allows several."""

    positive: Row
    negatives: tuple[Row, ...]

    @property
    def task(self) -> str:
        return self.positive.task

    @property
    def negative(self) -> Row:
        """The first negative."""
        return self.negatives[0]

    @property
    def rows(self) -> tuple[Row, ...]:
        return (self.positive, *self.negatives)

    @property
    def shaped(self) -> list[float]:
        """The ground-truth rewards of a pair: the positive's steps, then the negatives'."""
        return [value for row in self.rows for value in row.shaped]


def read_row(record: Mapping[str, Any], where: str = "a row") -> Row:
    """Parse a row from JSON values. Raises ValueError naming `where` and the invalid fields."""
    try:
        return ROW.validate_python(dict(record))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        raise ValueError(f"{where} is no RewardPrediction trajectory: {wrong}") from None


def pairs_of(rows: Iterable[Row]) -> list[Pair]:
    """Group rows into pairs, sorted by task. Tasks without a positive or without a negative are dropped.

    Raises ValueError for a task with several positives.
    """
    tasks: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        tasks[row.task].append(row)
    pairs = []
    for _, members in sorted(tasks.items()):
        positives = [row for row in members if row.kind == "positive"]
        # By length first: negative_10 comes after negative_2.
        negatives = sorted((row for row in members if row.kind == "negative"), key=lambda row: (len(row.id), row.id))
        if len(positives) > 1:
            raise ValueError(f"task {positives[0].task} has {len(positives)} positive trajectories, not one")
        if positives and negatives:
            pairs.append(Pair(positives[0], tuple(negatives)))
    return pairs


def write_rows(folder: Path, domain: str, rows: Iterable[Row]) -> tuple[Path, Path]:
    """Write `<domain>.jsonl` and `<domain>.parquet`, sorted by id, each atomically; returns their paths."""
    ordered = sorted(rows, key=lambda row: row.id)
    jsonl, parquet = (folder / f"{domain}.{name}" for name in FORMATS)
    lines = (json.dumps(row.to_json(), ensure_ascii=False) + "\n" for row in ordered)
    write_atomically(jsonl, "".join(lines).encode())
    write_parquet(parquet, ordered)
    return jsonl, parquet


def read_rows(path: Path, command: str = "python -m statefactory.benchmark build") -> list[Row]:
    """The rows of a JSONL or Parquet file. command: builds the file; named in errors.

    Raises MissingData if the file does not exist, DamagedFile if it cannot be parsed, ValueError naming an invalid row.
    """
    if not path.exists():
        raise MissingData(f"{shown(path)} is not there; build it with: {command}")
    try:
        if path.suffix == ".parquet":
            records = pq.read_table(path).to_pylist()
        else:
            # Not splitlines, which also splits at characters such as U+2028 that occur unescaped in texts.
            records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    except (OSError, ValueError) as error:  # pyarrow's are both
        raise damaged(path, error, f"Delete it, and build it: {command}") from None
    return [read_row(record, f"{path.name}, row {number}") for number, record in enumerate(records, 1)]


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file, sorted by task. Raises as `read_rows` and `pairs_of`."""
    return pairs_of(read_rows(path))


def write_parquet(path: Path, rows: Iterable[Row]) -> None:
    """Write rows as Parquet, in the given order."""
    reward = pa.struct([("raw", pa.float64()), ("shaped", pa.float64()), ("is_expert", pa.bool_())])
    step = pa.struct([("action", pa.string()), ("observation", pa.string()), ("reward", reward)])
    texts = ("id", "domain", "task", "kind", "source", "data")
    schema = pa.schema(
        [(name, pa.string()) for name in texts]
        + [("seed", pa.int64()), ("initial_observation", pa.string()), ("goal_description", pa.string())]
        + [("trajectory", pa.list_(step))]
    )
    buffer = io.BytesIO()
    # Plain Arrow with an explicit schema: pandas would store version numbers in the file and infer types from values.
    table = pa.Table.from_pylist([row.to_json() for row in rows], schema=schema)
    pq.write_table(table, buffer, compression="zstd")
    write_atomically(path, buffer.getvalue())
