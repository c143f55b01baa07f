"""Trains a reward model: LoRA on a backbone with trl, checkpointed, and resumable to the same result."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.machine import progress
from lab.machine.files import write_atomically
from lab.machine.paths import shown
from lab.runs.run import RunBusy
from statefactory.benchmark.schema import Pair
from statefactory.embeddings.sentence_transformer import quiet
from statefactory.reward_models import adapters, backbones
from statefactory.reward_models.adapters import Adapter, UnusableAdapter
from statefactory.reward_models.recipe import Recipe
from statefactory.reward_models.scoring import Affine, Scorer, Tokeniser

if TYPE_CHECKING:
    from statefactory.reward_models.trainer import Example

FITTED = 40  # training pairs to whose scores the affine map is fitted
LAST = 20  # last steps over which the card's loss and accuracy are averaged
POINTS = 100  # of the training curve in the card
PACKAGES = ("peft", "trl", "transformers", "torch")


def train(
    name: str, pairs: Sequence[Pair], recipe: Recipe, folder: Path, data: Mapping[str, str] | None = None,
    callbacks: Sequence[Any] = (), show_progress: bool = True,
) -> Adapter:  # fmt: skip
    """Train an adapter on pairs, or return the finished one in `folder`.

    folder: for the adapter, and for checkpoints during training, in `checkpoints/`. data: file name -> sha256 of the
    files that the pairs are from, for the card. callbacks: of transformers. An interrupted training resumes from its
    last checkpoint and leads to the same weights.
    Raises UnusableAdapter if the folder has a training with other data, recipe or backbone; RunBusy if another process
    trains there; MissingBackbone; ValueError if there are no pairs.
    """
    if not pairs:
        raise ValueError(f"{name}: there are no training pairs")
    pairs = pairs[: recipe.pairs or None]
    base, rows = backbones.located(recipe.base), pairs_hash(pairs)
    identity = {"name": name, "recipe": recipe.to_json(), "base": backbones.fingerprint(base), "rows": rows}
    with _alone(folder):
        _agree(folder, identity)
        if (folder / adapters.CARD).exists():
            return adapters.read(folder)
        trained, examples, tokeniser = _trained(pairs, recipe, base, folder, name, callbacks, show_progress)
        card = {
            "name": name, "domains": sorted({pair.positive.domain for pair in pairs}),
            "base": {"name": backbones.described(recipe.base), "sha256": identity["base"]},
            "recipe": recipe.to_json(), "data": dict(data or {}), "rows": rows, "pairs": len(pairs),
            **_measured(trained, examples), "hardware": hardware(), "packages": {p: version(p) for p in PACKAGES},
        }  # fmt: skip
        card["affine"] = _affine(Scorer(trained.model, tokeniser), pairs[:FITTED], recipe.goals == "blind")
        adapter = adapters.save(folder, trained.model, card)
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    return adapter


def examples_of(pairs: Sequence[Pair], recipe: Recipe, tokeniser: Tokeniser) -> list[Example]:
    """Tokenise the pairs, with a goal-swapped third trajectory if the recipe has `swapped_negatives`."""
    from statefactory.reward_models.trainer import Example

    swapped = other_goals([pair.positive.goal_description for pair in pairs]) if recipe.swapped_negatives else {}
    examples = []
    for pair in pairs:
        trajectories = [(row.goal_description, row.steps, row.shaped) for row in pair.rows]
        goal, steps, _ = trajectories[0]
        if goal in swapped:
            trajectories.append((swapped[goal], steps, [0.0] * len(steps)))
        tokens = [tokeniser.tokens("" if recipe.goals == "blind" else goal, steps) for goal, steps, _ in trajectories]
        # Steps omitted by truncation have no scores, so their progress is dropped too.
        progress = [truth[part.left_out :] for (*_, truth), part in zip(trajectories, tokens, strict=True)]
        examples.append(Example(tuple(tokens), tuple(progress)))
    return examples


def other_goals(goals: Sequence[str]) -> dict[str, str]:
    """Map each goal to another goal, each of which is used once; empty if all goals are equal."""
    different = sorted(set(goals))
    Random("other goals 0").shuffle(different)
    return dict(zip(different, [*different[1:], different[0]], strict=True)) if len(different) > 1 else {}


def hardware() -> str:
    """The name of the GPU if there is one, else of the processor with the number of threads."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {torch.get_num_threads()} thread(s)"


def _trained(
    pairs: Sequence[Pair], recipe: Recipe, base: Path, folder: Path, title: str, callbacks: Sequence[Any],
    show_progress: bool,
) -> tuple[Any, list[Example], Tokeniser]:  # fmt: skip
    """Train; returns the trainer after its last step, the examples and the tokeniser."""
    from peft import LoraConfig, TaskType, get_peft_model
    from transformers import set_seed

    from statefactory.reward_models.trainer import PrefixTrainer

    tokenizer = backbones.tokenizer(base)
    tokeniser = Tokeniser(tokenizer, recipe.max_tokens)
    examples = examples_of(pairs, recipe, tokeniser)
    set_seed(recipe.seed)  # LoRA's matrices are initialised randomly
    lora = LoraConfig(
        task_type=TaskType.SEQ_CLS, r=recipe.rank, lora_alpha=recipe.alpha, lora_dropout=recipe.dropout,
        target_modules="all-linear", modules_to_save=["score"],
    )  # fmt: skip
    steps = max(1, math.ceil(math.ceil(len(examples) / recipe.pairs_a_step) * recipe.epochs))
    checkpoint = last_checkpoint(folder / "checkpoints")
    done = int(checkpoint.name.partition("-")[2]) if checkpoint else 0
    with progress.bar(steps, title, done, show_progress) as bar, quiet():
        model = get_peft_model(backbones.load(base, recipe.layers, recipe.zero_head), lora)
        config = _config(recipe, folder / "checkpoints", steps)
        trainer = PrefixTrainer(model, recipe, examples, config, tokenizer, bar, callbacks)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    return trainer, examples, tokeniser


def _config(recipe: Recipe, folder: Path, steps: int) -> Any:
    import torch
    from trl import RewardConfig

    cuda = torch.cuda.is_available()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError("a reward model trains in one process on one GPU; start it without torchrun or accelerate")
    if recipe.precision == "bf16" and not cuda:
        progress.say("bf16 is for a GPU: on this CPU it is slower than float32, which is used")
    return RewardConfig(
        output_dir=str(folder), max_steps=steps, per_device_train_batch_size=1,
        gradient_accumulation_steps=recipe.pairs_a_step, learning_rate=recipe.learning_rate,
        lr_scheduler_type=recipe.schedule, warmup_steps=recipe.warmup_steps, max_grad_norm=recipe.clip,
        weight_decay=recipe.weight_decay, gradient_checkpointing=recipe.checkpointing, seed=recipe.seed,
        disable_dropout=recipe.dropout == 0, bf16=cuda and recipe.precision != "float32", use_cpu=not cuda,
        save_steps=recipe.save_every, save_total_limit=2,
        logging_steps=1,  # a resumed training restores its counts from the last line
        max_length=None,  # trl would drop longer rows; ours are truncated before
        remove_unused_columns=False, dataloader_pin_memory=False, report_to="none", disable_tqdm=True,
    )  # fmt: skip


def last_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint, or None. Incomplete ones that are newer are deleted."""
    checkpoints = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.partition("-")[2]), reverse=True)
    for path in checkpoints:
        try:
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))  # written last
            return path
        except (OSError, ValueError):
            shutil.rmtree(path)
    return None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "training.lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunBusy(f"{shown(folder)} is being trained by another process; wait for it") from None
        yield


def _agree(folder: Path, identity: Mapping[str, Any]) -> None:
    path = folder / "training.json"
    if not path.exists():
        write_atomically(path, json.dumps(identity, indent=1).encode())
        return
    stored = json.loads(path.read_text(encoding="utf-8"))
    flat = [{**record, **record["recipe"], "recipe": None} for record in (stored, identity)]
    differ = [f"{key}: {flat[0].get(key)!r} there, {flat[1].get(key)!r} now"
              for key in flat[1] if flat[0].get(key) != flat[1].get(key)]  # fmt: skip
    if differ:
        raise UnusableAdapter(f"{shown(folder)} holds another training ({'; '.join(differ)}). Choose another folder")


def _measured(trainer: Any, examples: Sequence[Example]) -> dict[str, Any]:
    """Summary of the log for the card. loss, accuracy: means over the last steps. curve: step, loss and accuracy."""
    lines = [line for line in trainer.state.log_history if "loss" in line]
    last, lines_per_point = lines[-LAST:], math.ceil(len(lines) / POINTS)
    chunks = [lines[start : start + lines_per_point] for start in range(0, len(lines), lines_per_point)]
    counts = {name: round(value, 1) if "seconds" in name else int(value) for name, value in trainer.counts.items()}
    return {
        "steps": trainer.state.global_step, "loss": _mean(last, "loss"), "accuracy": _mean(last, "accuracy"), **counts,
        "truncated_rows": sum(tokens.truncated for example in examples for tokens in example.tokens),
        "curve": [[chunk[-1]["step"], _mean(chunk, "loss"), _mean(chunk, "accuracy")] for chunk in chunks],
    }  # fmt: skip


def _mean(lines: Sequence[Mapping[str, float]], name: str) -> float:
    return round(sum(line[name] for line in lines) / len(lines), 4)


def _affine(scorer: Scorer, pairs: Sequence[Pair], blind: bool) -> dict[str, float]:
    scores = [scorer.prefixes("" if blind else row.goal_description, row.steps, range(1, len(row.steps) + 1))
             for pair in pairs for row in pair.rows]  # fmt: skip
    return asdict(Affine.fitted(np.concatenate(scores)))


def pairs_hash(pairs: Sequence[Pair]) -> str:
    """sha256 over the pairs' tasks, texts and progress; the field "rows" of a card."""
    digest = hashlib.sha256()
    for pair in pairs:
        texts = ((row.goal_description, row.steps, row.shaped) for row in pair.rows)
        digest.update(json.dumps([pair.task, *texts]).encode())
    return digest.hexdigest()
