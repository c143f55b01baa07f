"""Backbones of reward models: causal language models with a score head, by name, folder or hub address."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from lab.machine import weights
from lab.machine.files import write_atomically
from lab.machine.weights import folder
from statefactory.embeddings.sentence_transformer import quiet

# The models of lab/machine/weights.yaml that can be backbones.
DEQUANTISED = ("smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")
ORIGIN = "origin.json"


class MissingBackbone(FileNotFoundError):
    """A backbone's files are missing, or are not a model that can score. The message says what to do."""


def dequantise(name: str = "smollm2-135m") -> Path:
    """Write a quantised model's weights as float32, unless they exist; returns their folder, next to the models.

    The result has the 4-bit weights in 32 bits; it does not restore the model before quantisation.
    Raises MissingData naming the command that fetches the quantised file, ValueError for a model without one.
    """
    if name not in DEQUANTISED:
        raise ValueError(f"no quantised backbone {name!r}; there are: {', '.join(DEQUANTISED)}")
    source, target = weights.located(name), _dequantised(name)
    if (target / ORIGIN).exists():
        print(f"{name} is dequantised already")
        return target
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    print(f"dequantising {source.name} to float32, about 30 seconds and four to five times its size")
    with quiet():
        model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    # Otherwise the model stays marked as quantised, and trl refuses to train it.
    del model.config.quantization_config
    vars(model).update(hf_quantizer=None, is_quantized=False)
    model.config._name_or_path = name
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        unfinished = Path(scratch) / target.name
        model.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        origin = {"model": name, "from": dict(weights.named(name).files), "weights": "float32, dequantised",
                  "sha256": fingerprint(unfinished)}  # fmt: skip
        write_atomically(unfinished / ORIGIN, json.dumps(origin, indent=1).encode())
        shutil.rmtree(target, ignore_errors=True)
        os.replace(unfinished, target)
    print(f"written to {target}, sha256 {origin['sha256']}")
    return target


def located(base: str) -> Path:
    """The folder of a backbone. base: one of DEQUANTISED, a folder, or an address on the hub.

    Files of the hub are downloaded unless they are cached. Raises MissingBackbone.
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
    except Exception as error:  # the hub's errors have many classes with the same meaning here
        raise MissingBackbone(
            f"{base!r} is no folder, and the Hugging Face hub does not give it ({type(error).__name__}: {error}). Name "
            f"a folder with its files, or one of {', '.join(DEQUANTISED)}"
        ) from error


def described(base: str) -> str:
    """The backbone's name for a card: without a folder's path, and with the source of dequantised weights."""
    if base in DEQUANTISED:
        return f"{base}, dequantised from {next(iter(weights.named(base).files))}"
    return Path(base).name if Path(base).is_dir() else base


def fingerprint(folder: Path) -> str:
    """sha256 over the weight files, in order of their names. Raises MissingBackbone if there are none."""
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
    """Load a backbone with a score head, in evaluation mode. layers: number of first layers to use; 0 for all.

    zero_head: initialise the score head with zeros. trained_head: require a score head among the weights.
    Raises MissingBackbone if a required head is missing, or if the model is no causal language model with a score head;
    ValueError if the model has fewer layers.
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
    """The backbone's tokenizer, with a padding token."""
    from transformers import AutoTokenizer

    loaded = AutoTokenizer.from_pretrained(folder)
    loaded.pad_token = loaded.pad_token or loaded.eos_token
    return loaded


def _dequantised(name: str) -> Path:
    return folder() / f"{name}-dequantised"
