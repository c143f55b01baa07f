"""Preference pairs of a domain, as one Parquet file: built in parallel with the benchmark's builder, and resumable.

A row is a pair of one task: the expert's trajectory is chosen, random play is rejected, and every step has its true
progress, so that any prefix of one can be compared with any prefix of the other. `chosen` and `rejected` are the whole
trajectories in the flattened format: trl and `datasets` read the file as it is.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from pydantic import BaseModel

from lab.machine.faults import MissingData
from lab.machine.files import sha256_of, write_atomically
from lab.machine.paths import ROOT, shown
from lab.machine.reading import damaged, typed
from statefactory.benchmark.build import build
from statefactory.benchmark.domains import named
from statefactory.benchmark.schema import DOMAINS, Pair, Row
from statefactory.reward_models.preferences.tasks import parts
from statefactory.reward_models.texts import Step, flattened

SIDES = ("train", "validation")
ALL = "all"  # the training on the union of all domains
TRAININGS = (*DOMAINS, ALL)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A goal, the steps towards it, and the true progress in [0, 1] after each."""

    goal: str
    steps: tuple[Step, ...]
    progress: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Preference:
    """Two trajectories of one task. side: "train" or "validation"."""

    domain: str
    task: str
    side: str
    chosen: Trajectory
    rejected: Trajectory

    @property
    def both(self) -> tuple[Trajectory, Trajectory]:
        return self.chosen, self.rejected

    @property
    def truth(self) -> list[float]:
        """The true progress of the pair: the chosen trajectory's, then the rejected one's."""
        return [*self.chosen.progress, *self.rejected.progress]


def preferences(
    domain: str, data: str = "auto", pairs: int = 300, validation: int = 30, seed: int = 0, workers: int = 1,
    folder: Path | None = None,
) -> Path:  # fmt: skip
    """Build a domain's `<domain>.parquet` unless it is there from the same code and options, and return its path.

    data: "auto" (official where present), "official" or "synthetic". pairs: for training; validation: further ones, of
    other tasks. folder: by default one in `data/cache`. Killed, the next call goes on. What a task that gave no pair
    died of, and what the file depends on, is in `<domain>.about.json` beside it.
    Raises MissingData and BuildFailed as `statefactory.benchmark.build` does.
    """
    data = named(domain).resolve(data)
    folder = folder or default_folder(data, seed)
    built = [
        build(part, data, of_seed, count, workers, folder / "parts" / f"{domain} {of_seed}")
        for part, of_seed, count in parts(domain, data, pairs + validation, seed)
    ]
    identity = {"pairs": pairs, "validation": validation, "seed": seed, "data": data,
                "parts": [done.about["sha256"][f"{domain}.parquet"] for done in built]}  # fmt: skip
    path, about_path = folder / f"{domain}.parquet", folder / f"{domain}.about.json"
    if path.exists() and about_path.exists():
        about = json.loads(about_path.read_text(encoding="utf-8"))
        if about["identity"] == identity and about["sha256"] == sha256_of(path):
            return path
    # A part numbers its tasks anew, so that two parts may use one name.
    named_pairs = [(f"{pair.task} of seed {pair.positive.seed}", pair) for done in built for pair in done.pairs()]
    Random(f"validation {domain} {seed}").shuffle(named_pairs)
    held = min(validation, len(named_pairs))
    rows = [
        Preference(domain, name, SIDES[number < held], _trajectory(pair.positive), _trajectory(pair.negative))
        for number, (name, pair) in enumerate(named_pairs)
    ]
    write_preferences(path, rows)
    about = {
        "identity": identity, "sha256": sha256_of(path), "pairs": len(rows) - held, "validation": held,
        "skipped": {task: why for done in built for task, why in done.about["skipped"].items()},
        "seconds": round(sum(done.about["seconds"] for done in built), 1),
    }  # fmt: skip
    write_atomically(about_path, json.dumps(about, indent=1, ensure_ascii=False).encode())
    return path


def default_folder(data: str, seed: int = 0) -> Path:
    """The default folder, ignored by git. Building another number of pairs replaces its files."""
    return ROOT / "data" / "cache" / "reward_models" / f"{data}-seed{seed}"


def write_preferences(path: Path, rows: Iterable[Preference]) -> None:
    """Write pairs as Parquet; the same pairs give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    step = pa.struct([("action", pa.string()), ("observation", pa.string()), ("progress", pa.float64())])
    texts = ("domain", "task", "side", "goal", "chosen", "rejected")
    schema = pa.schema([(name, pa.string()) for name in texts]
                       + [(name, pa.list_(step)) for name in ("chosen_steps", "rejected_steps")])  # fmt: skip
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([_record(row) for row in rows], schema=schema), buffer, compression="zstd")
    write_atomically(path, buffer.getvalue())


def read_preferences(path: Path, side: str = "", limit: int = 0) -> list[Preference]:
    """The pairs of a file. side: "train", "validation", or "" for both; limit: the first so many, 0 for all.

    Raises MissingData, naming the line that builds the file, and DamagedFile naming the row and field that is wrong.
    """
    if not path.exists():
        raise _missing(path)
    import pyarrow.parquet as pq

    try:
        records = typed(pq.read_table(path).to_pylist(), list[_Record])
    except (OSError, ValueError) as error:  # pyarrow's are both
        raise damaged(path, error, "Delete it, and build it: python -m statefactory.reward_models data") from None
    rows = [record.preference() for record in records]
    chosen = [row for row in rows if side in ("", row.side)]
    return chosen[: limit or None]


def of_benchmark(pairs: Iterable[Pair]) -> list[Preference]:
    """Benchmark pairs as they are scored: each with its first negative."""
    return [
        Preference(pair.positive.domain, pair.task, "benchmark", _trajectory(pair.positive), _trajectory(pair.negative))
        for pair in pairs
    ]


def preference_files(folder: Path, training: str) -> list[Path]:
    """The preference files of one of TRAININGS; the union takes those of all domains that are there.

    Raises MissingData if there is none.
    """
    paths = [folder / f"{domain}.parquet" for domain in (DOMAINS if training == ALL else (training,))]
    present = [path for path in paths if path.exists()]
    if not present:
        raise _missing(paths[0])
    return present


def training_pairs(folder: Path, training: str, pairs: int = 0, per_domain: int = 0) -> list[Preference]:
    """The training pairs of one of TRAININGS, in the order of their files. Raises as `read_preferences`.

    pairs: the first so many of a domain; per_domain: of each domain for the union, the paper's "All-Combined"; 0: all.
    """
    limit = per_domain if training == ALL else pairs
    return [row for path in preference_files(folder, training) for row in read_preferences(path, "train", limit)]


def _missing(path: Path) -> MissingData:
    return MissingData(f"{shown(path)} is not there; build it with: python -m statefactory.reward_models data")


def _trajectory(row: Row) -> Trajectory:
    steps = tuple(zip(row.actions, row.observations, strict=True))
    return Trajectory(row.goal_description, steps, tuple(row.shaped))


def _record(row: Preference) -> dict[str, Any]:
    def steps(trajectory: Trajectory) -> list[dict[str, Any]]:
        steps = zip(trajectory.steps, trajectory.progress, strict=True)
        return [{"action": action, "observation": observation, "progress": progress}
                for (action, observation), progress in steps]  # fmt: skip

    return {
        "domain": row.domain, "task": row.task, "side": row.side, "goal": row.chosen.goal,
        "chosen": flattened(row.chosen.goal, row.chosen.steps),
        "rejected": flattened(row.rejected.goal, row.rejected.steps),
        "chosen_steps": steps(row.chosen), "rejected_steps": steps(row.rejected),
    }  # fmt: skip


class _Step(BaseModel, strict=True, allow_inf_nan=False):
    action: str
    observation: str
    progress: float


class _Record(BaseModel, strict=True):
    """A row of a preference file, but for the flattened texts."""

    domain: str
    task: str
    side: Literal["train", "validation"]
    goal: str
    chosen_steps: list[_Step]
    rejected_steps: list[_Step]

    def preference(self) -> Preference:
        def trajectory(steps: Sequence[_Step]) -> Trajectory:
            texts = tuple((step.action, step.observation) for step in steps)
            return Trajectory(self.goal, texts, tuple(step.progress for step in steps))

        return Preference(
            self.domain, self.task, self.side, trajectory(self.chosen_steps), trajectory(self.rejected_steps)
        )
