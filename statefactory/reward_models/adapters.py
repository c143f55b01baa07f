"""Trained adapters as files: float16 safetensors, peft's configuration, and a card with their provenance.

    adapter_model.safetensors   LoRA's matrices and the score head
    adapter_config.json         peft's configuration, without paths
    card.json                   backbone and its hash, recipe, data hashes, counts, loss, seconds, hardware

Weights are loaded only from safetensors, since a pickle could run code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from lab.machine.faults import DamagedFile
from lab.machine.files import write_atomically
from lab.machine.paths import ROOT, shown
from lab.machine.reading import read_json
from statefactory.embeddings.sentence_transformer import quiet
from statefactory.reward_models import backbones
from statefactory.reward_models.recipe import Recipe
from statefactory.reward_models.scoring import Affine, Scorer, Tokeniser

SHIPPED = ROOT / "data" / "reward_models"  # adapters with their predictions; of some trainings only the predictions
LONGEST = 8192  # most tokens of a scored trajectory, if the backbone's context allows it; the paper's length
WEIGHTS, CONFIG, CARD = "adapter_model.safetensors", "adapter_config.json", "card.json"


class UnusableAdapter(ValueError):
    """An adapter's folder is incomplete, or its backbone is not the one it was trained on."""


class Base(BaseModel, strict=True):
    """The backbone that an adapter was trained on."""

    name: str
    sha256: str


class Map(BaseModel, strict=True):
    """`Affine` as a card has it."""

    scale: float
    offset: float


class Card(BaseModel, strict=True):
    """What of a card is relied on; a card says more."""

    name: str
    domains: list[str]
    base: Base
    recipe: dict[str, Any]
    affine: Map
    rows: str
    pairs: int


class Config(BaseModel, strict=True):
    """What of peft's configuration a score depends on."""

    peft_type: Literal["LORA"]
    task_type: Literal["SEQ_CLS"]
    r: int
    lora_alpha: int
    target_modules: list[str]
    modules_to_save: list[str]


@dataclass(frozen=True)
class Adapter:
    """A trained adapter's folder and its card."""

    folder: Path
    card: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.card["name"]

    @property
    def recipe(self) -> Recipe:
        return Recipe(**self.card["recipe"])

    @property
    def affine(self) -> Affine:
        return Affine(**self.card["affine"])


def read(folder: Path) -> Adapter:
    """An adapter by its folder. Raises UnusableAdapter naming a file that is not there, or a field that is wrong."""
    missing = [name for name in (WEIGHTS, CONFIG, CARD) if not (folder / name).exists()]
    if missing:
        beside = ", ".join(path.parent.name for path in sorted(folder.parent.glob(f"*/{WEIGHTS}"))) or "none"
        raise UnusableAdapter(
            f"{shown(folder)} is no adapter: it has no {', '.join(missing)}. There are: {beside}. "
            "Train one with: python -m statefactory.reward_models train"
        )
    again = "Restore the folder from where it came, or train again"
    try:
        config = read_json(folder / CONFIG, Config, again)
        card = read_json(folder / CARD, Card, again)
        recipe = Recipe(**card.recipe)
    except (DamagedFile, TypeError, ValueError) as error:
        raise UnusableAdapter(f"{shown(folder)} cannot be used: {error}") from None
    if (config.r, config.lora_alpha) != (recipe.rank, recipe.alpha):
        raise UnusableAdapter(
            f"{shown(folder / CONFIG)} has r={config.r}, lora_alpha={config.lora_alpha}, and {CARD} has "
            f"rank={recipe.rank}, alpha={recipe.alpha}. {again}"
        )
    return Adapter(folder, json.loads((folder / CARD).read_text(encoding="utf-8")))


def save(folder: Path, model: Any, card: Mapping[str, Any]) -> Adapter:
    """Write a peft model's adapter; the card last, since it is what says that the others are whole."""
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save as as_bytes

    state = {name: value.detach().to("cpu", torch.float16).contiguous()
             for name, value in get_peft_model_state_dict(model).items()}  # fmt: skip
    config = model.peft_config["default"].to_dict()
    config["base_model_name_or_path"] = card["base"]["name"]  # peft would write where it lay on this machine
    plain = {name: sorted(value) if isinstance(value, set) else value for name, value in config.items()}
    write_atomically(folder / WEIGHTS, as_bytes(state, metadata={"format": "pt"}))
    write_atomically(folder / CONFIG, json.dumps(plain, indent=1, sort_keys=True, default=str).encode())
    write_atomically(folder / CARD, json.dumps(card, indent=1, ensure_ascii=False).encode())
    return read(folder)


@cache
def scorer(folder: Path, base: str = "") -> Scorer:
    """An adapter's model, loaded once a process, its matrices merged into the backbone's.

    base: in place of the recipe's, where its files lie elsewhere. Raises UnusableAdapter for a backbone with another
    hash, MissingBackbone where there is none.
    """
    adapter = read(folder)
    folder_of_base = backbones.located(base or adapter.recipe.base)
    sha256, trained = backbones.fingerprint(folder_of_base), adapter.card["base"]
    if sha256 != trained["sha256"]:
        raise UnusableAdapter(
            f"{adapter.name} was trained on {trained['name']} with sha256 {trained['sha256']}; the weights in "
            f"{shown(folder_of_base)} have {sha256}. Name the folder of the right ones, or train anew"
        )
    model = backbones.load(folder_of_base, adapter.recipe.layers, zero_head=False)
    # A prefix that does not fit costs a forward pass of its own, so a short limit in training is no limit here.
    most = max(adapter.recipe.max_tokens, min(LONGEST, model.config.max_position_embeddings))
    return Scorer(on_device(with_adapter(model, folder)), Tokeniser(backbones.tokenizer(folder_of_base), most))


@cache
def classifier(base: str, max_tokens: int) -> Scorer:
    """A model with a score head of its own, loaded once a process; base: as for `backbones.located`."""
    folder = backbones.located(base)
    model = backbones.load(folder, zero_head=False, trained_head=True)
    return Scorer(on_device(model), Tokeniser(backbones.tokenizer(folder), max_tokens))


def with_adapter(model: Any, folder: Path) -> Any:
    """The backbone with an adapter's matrices merged in. Raises UnusableAdapter unless all of them are there.

    peft itself leaves a layer that the file lacks as the backbone has it, and the scores are others.
    """
    from peft import PeftConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict

    config = PeftConfig.from_pretrained(str(folder))
    config.base_model_name_or_path = None  # the hash was compared; peft would warn that the name is no path
    with quiet():
        wrapped = get_peft_model(model, config)
    state = _weights(folder)
    wanted = {name: value.shape for name, value in get_peft_model_state_dict(wrapped).items()}
    wrong = sorted(name for name in wanted.keys() | state if name not in state or state[name].shape != wanted.get(name))
    if wrong:
        lacks = (
            "lacks" if wrong[0] not in state else "has another shape of" if wrong[0] in wanted else "has no place for"
        )
        raise UnusableAdapter(
            f"{shown(folder / WEIGHTS)} is not of this backbone with this recipe: {len(wrong)} of {len(wanted)} "
            f"matrices differ; it {lacks} {wrong[0]}. Restore the file from where it came, or train again"
        )
    set_peft_model_state_dict(wrapped, state)
    return wrapped.merge_and_unload().eval()


def _weights(folder: Path) -> dict[str, Any]:
    """An adapter's matrices by name. Raises UnusableAdapter for a file that is cut, and for NaN or infinity in one."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = load_file(folder / WEIGHTS)
    except SafetensorError as error:
        raise UnusableAdapter(f"{shown(folder / WEIGHTS)} is damaged: {error}. Restore it, or train again") from None
    if unusable := [name for name, value in state.items() if not value.isfinite().all()]:
        raise UnusableAdapter(f"{shown(folder / WEIGHTS)} has NaN or infinity in {unusable[0]}. Train again")
    return state


def on_device(model: Any) -> Any:
    """On the GPU where there is one."""
    import torch

    return model.to("cuda" if torch.cuda.is_available() else "cpu")
