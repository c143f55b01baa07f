"""Training pairs of reward models (Appendix C.2.1), built in parallel with the benchmark's builder, and resumable.

A pair is as in the benchmark: the expert's trajectory is chosen, random play is rejected, and every step has its true
progress, so that any prefix of one can be compared with any prefix of the other. Each domain has two files,
`<domain>.parquet` for training and `<domain>.validation.parquet` with pairs that no training sees.
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
    """Build a domain's two files unless they are there from the same code and options; returns the folder.

    data: "auto" (official where present), "official" or "synthetic". pairs: for training; validation: further ones, of
    other tasks. folder: by default one in `data/cache`. Killed, the next call goes on. What a task that gave no pair
    died of, and what the files depend on, is in `<domain>.about.json` beside them.
    Raises MissingData and BuildFailed as `statefactory.benchmark.build` does.
    """
    data = named(domain).resolve(data)
    folder = folder or default_folder(data, seed)
    built = [
        build(part, data, of_seed, count, workers, folder / "parts" / f"{domain} {of_seed}")
        for part, of_seed, count in training_parts(domain, data, pairs + validation, seed)
    ]
    identity = {"pairs": pairs, "validation": validation, "seed": seed, "data": data,
                "parts": [part.about["sha256"][f"{domain}.parquet"] for part in built]}  # fmt: skip
    paths, about_path = (file_of(folder, domain), file_of(folder, domain, True)), folder / f"{domain}.about.json"
    if about_path.exists() and all(path.exists() for path in paths):
        about = json.loads(about_path.read_text(encoding="utf-8"))
        if about["identity"] == identity and about["sha256"] == {path.name: sha256_of(path) for path in paths}:
            return folder
    found = [_named_with_seed(pair) for part in built for pair in part.pairs()]
    Random(f"validation {domain} {seed}").shuffle(found)
    held = min(validation, len(found))
    for path, side in zip(paths, (found[held:], found[:held]), strict=True):
        write_parquet(path, (row for pair in side for row in pair.rows))
    about = {
        "identity": identity, "sha256": {path.name: sha256_of(path) for path in paths}, "pairs": len(found) - held,
        "validation": held, "skipped": {task: why for part in built for task, why in part.about["skipped"].items()},
        "seconds": round(sum(part.about["seconds"] for part in built), 1),
    }  # fmt: skip
    write_atomically(about_path, json.dumps(about, indent=1, ensure_ascii=False).encode())
    return folder


def default_folder(data: str, seed: int = 0) -> Path:
    """The default folder, ignored by git. Building another number of pairs replaces its files."""
    return ROOT / "data" / "cache" / "reward_models" / f"{data}-seed{seed}"


def file_of(folder: Path, domain: str, validation: bool = False) -> Path:
    """A domain's file of training pairs, or of those for validation."""
    return folder / f"{domain}{'.validation' if validation else ''}.parquet"


def read_in_order(path: Path, limit: int = 0) -> list[Pair]:
    """The pairs of a file in its order; limit: the first so many, 0 for all. Raises as `read_rows`."""
    rows = read_rows(path, COMMAND)
    pairs = [Pair(positive, (negative,)) for positive, negative in zip(rows[::2], rows[1::2], strict=True)]
    return pairs[: limit or None]


def training_files(folder: Path, training: str) -> list[Path]:
    """The files of one of TRAININGS; the union takes those of all domains that are there.

    Raises MissingData if there is none.
    """
    paths = [file_of(folder, domain) for domain in (DOMAINS if training == ALL else (training,))]
    if not (present := [path for path in paths if path.exists()]):
        raise MissingData(f"{shown(paths[0])} is not there; build it with: {COMMAND}")
    return present


def require(pairs: Sequence[Pair], wanted: int, training: str) -> None:
    """Raise ValueError if there are fewer pairs than a preset wants: a training on fewer would not be the preset's."""
    if len(pairs) < wanted:
        each = wanted // len(DOMAINS) if training == ALL else wanted
        fewer = f"--each {max(1, len(pairs) // len(DOMAINS))}" if training == ALL else f"--pairs {len(pairs)}"
        raise ValueError(
            f"{training}: the preset wants {wanted:,} training pairs, and {len(pairs):,} are here. Build more: "
            f"{COMMAND} --pairs {each} (how many a world has, the command says); or train on fewer: {fewer}"
        )


def training_pairs(folder: Path, training: str, pairs: int = 0, per_domain: int = 0) -> list[Pair]:
    """The training pairs of one of TRAININGS, in the order of their files. Raises as `read_in_order`.

    pairs: the first so many of a domain; per_domain: of each domain for the union, the paper's "All-Combined"; 0: all.
    """
    limit = per_domain if training == ALL else pairs
    return [pair for path in training_files(folder, training) for pair in read_in_order(path, limit)]


def _named_with_seed(pair: Pair) -> Pair:
    """Named by its seed: parts number their tasks from the start, so that two of them may use one name."""
    task = f"{pair.task} of seed {pair.positive.seed}"
    positive, negative = (replace(row, task=task, id=f"{task}_{row.kind}") for row in pair.rows)
    return Pair(positive, (negative,))
