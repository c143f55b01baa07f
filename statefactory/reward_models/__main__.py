"""Learned reward models: build training pairs, train LoRA adapters, score pairs with them.

A first try offline, some minutes on one core:

    python -m lab model get smollm2-135m
    python -m statefactory.reward_models dequantise
    python -m statefactory.reward_models data --domain blocksworld --pairs 40
    python -m statefactory.reward_models train --domain blocksworld
    python -m statefactory.reward_models score --adapter blocksworld --domain blocksworld --limit 20

All six adapters; killed, the same line goes on:

    python -m statefactory.reward_models data
    python -m statefactory.reward_models train --all

The settings of the paper's Tables 6 and 7, on a GPU: 35,000 pairs a domain, or say how many of those that are here:

    python -m statefactory.reward_models train --domain alfworld --preset paper --pairs 2000
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, get_type_hints

from lab.machine.faults import MissingData
from lab.machine.files import sha256_of
from lab.machine.paths import runs_folder, shown
from lab.machine.yaml12 import load
from lab.runs.run import RunBusy
from statefactory.benchmark import DOMAINS
from statefactory.benchmark.build import BuildFailed
from statefactory.benchmark.domains import named
from statefactory.reward_models import evaluation
from statefactory.reward_models.adapters import SHIPPED, Adapter
from statefactory.reward_models.backbones import DEQUANTISED, MissingBackbone, dequantise
from statefactory.reward_models.pairs import (
    ALL,
    TRAININGS,
    build_pairs,
    default_folder,
    require,
    training_files,
    training_pairs,
)
from statefactory.reward_models.recipe import PRESETS, Recipe, recipe
from statefactory.reward_models.training import train

if TYPE_CHECKING:
    import pandas as pd

EACH = 40  # pairs per domain in the union, if the preset does not set a number
EXPECTED = (MissingData, MissingBackbone, BuildFailed, RunBusy, ValueError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Returns 1 if something is missing or failed, 130 if interrupted."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except EXPECTED as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt as stopped:
        print(stopped or "stopped; the same command goes on", file=sys.stderr)
        return 130
    return 0


def _data(options: argparse.Namespace) -> None:
    for domain in options.domain:
        folder = build_pairs(domain, options.data, options.pairs, options.validation, options.seed, options.workers)
        metadata = json.loads((folder / f"{domain}.about.json").read_text(encoding="utf-8"))
        print(f"{domain}: {metadata['pairs']} training and {metadata['validation']} validation pairs; {shown(folder)}")


def _train(options: argparse.Namespace) -> None:
    from joblib import Parallel, delayed

    names = TRAININGS if options.all else (options.domain,)
    if names == (None,):
        raise ValueError("say which adapter: --domain alfworld, --domain all, or --all for all six")
    # A finished adapter is reused, and an interrupted training resumes from its checkpoint.
    jobs = (delayed(_train_adapter)(options, name) for name in names)
    for adapter in Parallel(n_jobs=min(options.workers, len(names)), return_as="generator")(jobs):
        print(f"trained: {shown(adapter.folder)}")


def _train_adapter(options: argparse.Namespace, name: str) -> Adapter:
    import torch

    torch.set_num_threads(options.threads)
    # "name=value" with numbers as in YAML 1.2; `recipe` checks both.
    numbers = {field for field, kind in get_type_hints(Recipe).items() if kind in (int, float, bool)}
    assignments = {field: value for field, _, value in (text.partition("=") for text in options.set)}
    changed = {field: load(value) if field in numbers else value for field, value in assignments.items()}
    # The union is limited by --each.
    limit = options.each if name == ALL else options.pairs
    if limit is not None:
        changed = {"pairs": 0 if name == ALL else limit, **changed}
    settings = recipe(options.preset, name, **changed)
    source = _source(options)
    data = {path.name: sha256_of(path) for path in training_files(source, name)}
    per_domain = options.each if options.each is not None else settings.pairs // len(DOMAINS) or EACH
    pairs = training_pairs(source, name, settings.pairs, per_domain)
    if limit is None:
        require(pairs, settings.pairs, name)
    return train(name, pairs, settings, options.adapters / name, data)


def _score(options: argparse.Namespace) -> None:
    candidates = [[folder / name for folder in (options.adapters, SHIPPED, Path())] for name in options.adapter]
    adapters = [next((path for path in paths if path.is_dir()), paths[0]) for paths in candidates]
    source, limit = _source(options), options.limit
    validation = source if options.on == "validation" else None
    pairs = {domain: evaluation.pairs_of(domain, options.data, limit, validation) for domain in options.domain}
    # Not next to the adapters: those of the suite have predictions there that its tables use.
    target = options.to or runs_folder() / "reward_models" / "predictions" / options.on
    for adapter in adapters:
        controls = options.controls.replace("-", " ")
        _save(target / adapter.name, evaluation.score(adapter, pairs, controls, options.workers))
    if options.ridge:
        _save(target / "ridge", evaluation.ridge_predictions(adapters, source, pairs, target / "ridge"))


def _save(folder: Path, frame: pd.DataFrame) -> None:
    evaluation.save(folder / evaluation.FILE, frame)
    print(evaluation.summary(evaluation.distances(frame)).round(3).to_string(index=False))
    print(f"predictions: {shown(folder / evaluation.FILE)}")


def _source(options: argparse.Namespace) -> Path:
    return options.preferences or default_folder(named(DOMAINS[0]).resolve(options.data), options.seed)


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m statefactory.reward_models", None, __doc__, formatter_class=raw)
    commands = parser.add_subparsers(required=True)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--data", choices=("auto", "official", "synthetic"), default="auto", help="of the worlds")
    common.add_argument("--seed", type=int, default=0, help="of training tasks, padding and negatives")
    common.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    folders = argparse.ArgumentParser(add_help=False)
    folders.add_argument("--preferences", type=Path, help="folder of training pairs, in place of the cache's")
    folders.add_argument("--adapters", type=Path, default=runs_folder() / "reward_models" / "adapters")

    command = commands.add_parser("dequantise", help="write a quantised backbone's weights as float32, once")
    command.add_argument("model", nargs="?", choices=DEQUANTISED, default=DEQUANTISED[0])
    command.set_defaults(run=lambda options: dequantise(options.model))

    command = commands.add_parser("data", parents=[common], help="build pairs of training tasks")
    command.add_argument("--domain", nargs="+", choices=DOMAINS, default=list(DOMAINS), metavar="D",
                         help=f"of {', '.join(DOMAINS)}; all by default")  # fmt: skip
    command.add_argument("--pairs", type=int, default=300, help="training pairs of a domain")
    command.add_argument("--validation", type=int, default=30, help="further pairs, which no training sees")
    command.set_defaults(run=_data)

    command = commands.add_parser("train", parents=[common, folders], help="train an adapter, or all six")
    command.add_argument("--domain", choices=TRAININGS, metavar="D",
                         help=f"of {', '.join(TRAININGS)}; {ALL} is their union")  # fmt: skip
    command.add_argument("--all", action="store_true", help="all six adapters")
    command.add_argument("--preset", choices=list(PRESETS), default="two-cores")
    names = ", ".join(field.name for field in fields(Recipe))
    command.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help=f"instead of the preset's: {names}")
    command.add_argument("--pairs", type=int, help="the first so many of a domain's pairs, 0 for all; the preset's own "
                         "by default")  # fmt: skip
    command.add_argument("--each", type=int, help=f"pairs of each domain that `{ALL}` takes, 0 for all; {EACH} by "
                         "default, or the preset's own")  # fmt: skip
    command.add_argument("--threads", type=int, default=1, help="of each process")
    command.set_defaults(run=_train)

    command = commands.add_parser("score", parents=[common, folders], help="EPIC distances of adapters and controls")
    command.add_argument("--adapter", nargs="+", default=list(TRAININGS), metavar="A", help="names or folders; all six")
    command.add_argument("--domain", nargs="+", choices=DOMAINS, default=list(DOMAINS), metavar="D", help="all five")
    command.add_argument("--on", choices=("benchmark", "validation"), default="validation", help="which pairs")
    command.add_argument("--limit", type=int, default=0, help="so many pairs of each domain; 0 for all")
    command.add_argument("--controls", choices=("none", "own-domain", "everywhere"), default="own-domain",
                         help="where no goal, and another task's, are shown too")  # fmt: skip
    command.add_argument("--to", type=Path, help="folder of predictions; in runs/reward_models by default")
    command.add_argument("--ridge", action="store_true", help="also ridge regression on frozen embeddings")
    command.set_defaults(run=_score)
    return parser


if __name__ == "__main__":
    sys.exit(main())
