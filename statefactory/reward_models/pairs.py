"""Training pairs of reward models (Appendix C.2.1), built by the benchmark's parallel and resumable builder.

As in the benchmark, a pair has a trajectory of the expert (chosen) and one of a random policy (rejected). Every step
has its true progress, so any prefix of one can be compared with any prefix of the other. Each domain has two files:
`<domain>.parquet` for training, and `<domain>.validation.parquet` with pairs that are never trained on.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from lab.machine.faults import MissingData
from lab.machine.files import sha256_of, write_atomically
from lab.machine.paths import ROOT, shown
from statefactory.benchmark.build import build
from statefactory.benchmark.domains import named
from statefactory.benchmark.other_tasks import training_parts
from statefactory.benchmark.schema import DOMAINS, Pair, read_rows, write_parquet

ALL = "all"  # the training on the union of all domains
TRAININGS = (*DOMAINS, ALL)
COMMAND = "python -m statefactory.reward_models data"


def build_pairs(
    domain: str, data: str = "auto", pairs: int = 300, validation: int = 30, seed: int = 0, workers: int = 1,
    folder: Path | None = None,
) -> Path:  # fmt: skip
    """Build a domain's two files, unless they exist from the same code and options; returns their folder.

    data: "auto" (official if present), "official" or "synthetic". pairs: number for training. validation: number of
    further pairs, of other tasks. folder: by default one in `data/cache`. An interrupted build resumes at the next
    call. `<domain>.about.json`, next to the files, states what they depend on and why tasks were skipped.
    Raises MissingData and BuildFailed as `statefactory.benchmark.build`.
    """
    data = named(domain).resolve(data)
    folder = folder or default_folder(data, seed)
    built = [
        build(part, data, part_seed, count, workers, folder / "parts" / f"{domain} {part_seed}")
        for part, part_seed, count in training_parts(domain, data, pairs + validation, seed)
    ]
    identity = {"pairs": pairs, "validation": validation, "seed": seed, "data": data,
                "parts": [part.about["sha256"][f"{domain}.parquet"] for part in built]}  # fmt: skip
    paths, metadata_path = (file_of(folder, domain), file_of(folder, domain, True)), folder / f"{domain}.about.json"
    if metadata_path.exists() and all(path.exists() for path in paths):
        metadata = json.loads(metadata_path.read_text(encoding="utf-8"))
        if metadata["identity"] == identity and metadata["sha256"] == {path.name: sha256_of(path) for path in paths}:
            return folder
    all_pairs = [_named_with_seed(pair) for part in built for pair in part.pairs()]
    Random(f"validation {domain} {seed}").shuffle(all_pairs)
    size = min(validation, len(all_pairs))
    for path, side in zip(paths, (all_pairs[size:], all_pairs[:size]), strict=True):
        write_parquet(path, (row for pair in side for row in pair.rows))
    metadata = {
        "identity": identity, "sha256": {path.name: sha256_of(path) for path in paths}, "pairs": len(all_pairs) - size,
        "validation": size,
        "skipped": {task: reason for part in built for task, reason in part.about["skipped"].items()},
        "seconds": round(sum(part.about["seconds"] for part in built), 1),
    }  # fmt: skip
    write_atomically(metadata_path, json.dumps(metadata, indent=1, ensure_ascii=False).encode())
    return folder


def default_folder(data: str, seed: int = 0) -> Path:
    """The default folder of training pairs, ignored by git. Building another number of pairs replaces its files."""
    return ROOT / "data" / "cache" / "reward_models" / f"{data}-seed{seed}"


def file_of(folder: Path, domain: str, validation: bool = False) -> Path:
    """The path of a domain's training pairs, or of its validation pairs."""
    return folder / f"{domain}{'.validation' if validation else ''}.parquet"


def read_in_order(path: Path, limit: int = 0) -> list[Pair]:
    """The pairs of a file, in its order. limit: number of first pairs, 0 for all. Raises as `read_rows`."""
    rows = read_rows(path, COMMAND)
    pairs = [Pair(positive, (negative,)) for positive, negative in zip(rows[::2], rows[1::2], strict=True)]
    return pairs[: limit or None]


def training_files(folder: Path, training: str) -> list[Path]:
    """The files of one of TRAININGS. The union uses the files of all domains that have one.

    Raises MissingData if there are none.
    """
    paths = [file_of(folder, domain) for domain in (DOMAINS if training == ALL else (training,))]
    if not (present := [path for path in paths if path.exists()]):
        raise MissingData(f"{shown(paths[0])} is not there; build it with: {COMMAND}")
    return present


def require(pairs: Sequence[Pair], wanted: int, training: str) -> None:
    """Raise ValueError if there are fewer pairs than a preset requires; with fewer, it would be another training."""
    if len(pairs) < wanted:
        per_domain = wanted // len(DOMAINS) if training == ALL else wanted
        fewer = f"--each {max(1, len(pairs) // len(DOMAINS))}" if training == ALL else f"--pairs {len(pairs)}"
        raise ValueError(
            f"{training}: the preset wants {wanted:,} training pairs, and {len(pairs):,} are here. Build more: "
            f"{COMMAND} --pairs {per_domain} (how many a world has, the command says); or train on fewer: {fewer}"
        )


def training_pairs(folder: Path, training: str, pairs: int = 0, per_domain: int = 0) -> list[Pair]:
    """The training pairs of one of TRAININGS, in the order of their files. Raises as `read_in_order`.

    pairs: number of first pairs if it is a domain. per_domain: number per domain if it is the union, the paper's
    "All-Combined". 0 for all.
    """
    limit = per_domain if training == ALL else pairs
    return [pair for path in training_files(folder, training) for pair in read_in_order(path, limit)]


def _named_with_seed(pair: Pair) -> Pair:
    """The pair with its seed in the task's name, since tasks of different parts may have the same name."""
    task = f"{pair.task} of seed {pair.positive.seed}"
    positive, negative = (replace(row, task=task, id=f"{task}_{row.kind}") for row in pair.rows)
    return Pair(positive, (negative,))
