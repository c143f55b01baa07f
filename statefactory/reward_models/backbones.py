"""Backbones of reward models: a causal language model with one score a position, from a name, a folder or the hub."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.machine import weights
from lab.machine.files import write_atomically
from lab.machine.weights import folder
from statefactory.embeddings.sentence_transformer import quiet

# Models of lab/machine/weights.yaml that have a name here.
DEQUANTISED = ("smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
ORIGIN = "origin.json"


class MissingBackbone(FileNotFoundError):
    """A backbone's files are not here, or are not a model that can score; the message says what to do."""


def dequantise(name: str = "smollm2-135m", report: Callable[[str], None] = print) -> Path:
    """Write the float32 weights of a quantised model once, and return their folder beside the models.

    What comes out is the 4-bit model's weights in 32 bits, not the model that was quantised. Raises MissingData naming
    the line that fetches the quantised file, ValueError for a model without one.
    """
    if name not in DEQUANTISED:
        raise ValueError(f"no quantised backbone {name!r}; there are: {', '.join(DEQUANTISED)}")
    source, target = weights.located(name), _dequantised(name)
    if (target / ORIGIN).exists():
        report(f"{name} is dequantised already")
        return target
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    report(f"dequantising {source.name} to float32, about 30 seconds and four to five times its size")
    with quiet():
        model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    # Else the model stays marked as quantised, and trl does not train it.
    del model.config.quantization_config
    vars(model).update(hf_quantizer=None, is_quantized=False)
    model.config._name_or_path = name
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        whole = Path(scratch) / target.name
        model.save_pretrained(whole)
        tokenizer.save_pretrained(whole)
        origin = {"model": name, "from": dict(weights.named(name).files), "weights": "float32, dequantised",
                  "sha256": fingerprint(whole)}  # fmt: skip
        write_atomically(whole / ORIGIN, json.dumps(origin, indent=1).encode())
        shutil.rmtree(target, ignore_errors=True)
        os.replace(whole, target)
    report(f"written to {target}, sha256 {origin['sha256']}")
    return target


def located(base: str) -> Path:
    """The folder of a backbone: one that has a name here, a folder of the user's, or an address on the hub.

    What is on the hub is downloaded if it is not in its cache. Raises MissingBackbone.
    """
    if base in DEQUANTISED:
        if not (_dequantised(base) / ORIGIN).exists():
            raise MissingBackbone(
                f"{base} is not dequantised in {folder()}. Do it once: "
                f"python -m lab model get {base} && python -m statefactory.reward_models dequantise {base}"
            )
        return _dequantised(base)
    if Path(base).is_dir():
        return Path(base)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(base, allow_patterns=["*.safetensors", "*.json", "*.txt", "*.model"]))
    except Exception as error:  # the hub's own errors have many classes, and mean the same here
        raise MissingBackbone(
            f"{base!r} is no folder, and the Hugging Face hub does not give it ({type(error).__name__}: {error}). Name "
            f"a folder with its files, or one of {', '.join(DEQUANTISED)}"
        ) from error


def described(base: str) -> str:
    """The backbone as a card names it: never the path of a folder, and dequantised weights say so."""
    if base in DEQUANTISED:
        return f"{base}, dequantised from {next(iter(weights.named(base).files))}"
    return Path(base).name if Path(base).is_dir() else base


def fingerprint(folder: Path) -> str:
    """sha256 over the weights' files, by name. Raises MissingBackbone where there are none."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise MissingBackbone(f"{folder} has no *.safetensors; only such weights are loaded")
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def load(
    folder: Path, layers: int = 0, zero_head: bool = True, dtype: str = "float32", trained_head: bool = False
) -> Any:
    """The backbone with a score head, its first `layers` layers only; 0 for all. Not in training mode.

    trained_head: the head has to come with the weights. Raises MissingBackbone if it does not, and for a model that is
    no causal language model with a score head.
    """
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification

    changed = {"num_hidden_layers": layers} if layers else {}
    with quiet():
        has = AutoConfig.from_pretrained(folder).num_hidden_layers
        if layers > has:
            raise ValueError(f"{folder.name} has {has} layers, and layers={layers} are asked for; 0 takes all")
        model, loading_info = AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=1, dtype=getattr(torch, dtype), use_safetensors=True, output_loading_info=True, **changed
        )
    if not hasattr(model, "score"):
        raise MissingBackbone(f"{folder.name} has no score head on a causal language model: {type(model).__name__}")
    if trained_head and "score.weight" in loading_info["missing_keys"]:
        raise MissingBackbone(
            f"{folder.name} comes without a score head, and a new one would say nothing: it is no critic"
        )
    if zero_head:
        torch.nn.init.zeros_(model.score.weight)
    model.config.use_cache = False
    return model.eval()


def tokenizer(folder: Path) -> Any:
    """The backbone's tokenizer, with a token to pad with."""
    from transformers import AutoTokenizer

    loaded = AutoTokenizer.from_pretrained(folder)
    loaded.pad_token = loaded.pad_token or loaded.eos_token
    return loaded


def _dequantised(name: str) -> Path:
    return folder() / f"{name}-dequantised"
