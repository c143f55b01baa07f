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
from statefactory.reward_models.pairs import TRAININGS
from statefactory.reward_models.recipe import Recipe, changes
from statefactory.reward_models.scoring import Affine, Scorer, Tokeniser

SHIPPED = ROOT / "data" / "reward_models"  # adapters with their predictions; of some trainings only the predictions
OF_A_CRITIC = 4096  # most tokens of a trajectory that a critic scores
LONGEST = 8192  # most tokens of a scored trajectory, if the backbone's context allows it; the paper's length
WEIGHTS, CONFIG, CARD = "adapter_model.safetensors", "adapter_config.json", "card.json"


class UnusableAdapter(ValueError):
    """An adapter's folder is incomplete, or its backbone is not the one it was trained on."""


class Base(BaseModel, strict=True):
    """The backbone that an adapter was trained on."""

    name: str
    sha256: str


class Map(BaseModel, strict=True):
    """The parameters of `Affine` in a card."""

    scale: float
    offset: float


class Card(BaseModel, strict=True):
    """The fields of a card that the code uses; a card has more."""

    name: str
    domains: list[str]
    base: Base
    recipe: dict[str, Any]
    affine: Map
    rows: str
    pairs: int


class Config(BaseModel, strict=True):
    """The fields of peft's configuration that affect scores."""

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
    """Read an adapter from its folder. Raises UnusableAdapter naming a missing file or an invalid field."""
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


def cards(folder: Path = SHIPPED) -> list[dict[str, Any]]:
    """The cards of all stored trainings: first the six of the preset, then those with changed recipes."""
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob(CARD))]
    order = {training: number for number, training in enumerate(TRAININGS)}
    return sorted(stored, key=lambda card: (changed(card) != "", changed(card), order.get(card["name"], len(order))))


def preset_cards(folder: Path = SHIPPED) -> dict[str, dict[str, Any]]:
    """Training -> card, of the stored trainings with the recipe of the preset "two-cores"."""
    return {card["name"]: card for card in cards(folder) if not changed(card)}


def changed(card: Mapping[str, Any]) -> str:
    """The changes of a card's recipe to the preset "two-cores"; "" for none."""
    return ", ".join(changes(Recipe(**card["recipe"])))


def save(folder: Path, model: Any, card: Mapping[str, Any]) -> Adapter:
    """Write a peft model's adapter. The card is written last: it certifies that the other files are complete."""
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save as as_bytes

    state = {name: value.detach().to("cpu", torch.float16).contiguous()
             for name, value in get_peft_model_state_dict(model).items()}  # fmt: skip
    config = model.peft_config["default"].to_dict()
    config["base_model_name_or_path"] = card["base"]["name"]  # peft would write a path of this machine
    plain = {name: sorted(value) if isinstance(value, set) else value for name, value in config.items()}
    write_atomically(folder / WEIGHTS, as_bytes(state, metadata={"format": "pt"}))
    write_atomically(folder / CONFIG, json.dumps(plain, indent=1, sort_keys=True, default=str).encode())
    write_atomically(folder / CARD, json.dumps(card, indent=1, ensure_ascii=False).encode())
    return read(folder)


@cache
def scorer(folder: Path, base: str = "") -> Scorer:
    """An adapter's model with its matrices merged into the backbone's; loaded once per process.

    base: replaces the recipe's name, if the backbone's files are elsewhere.
    Raises UnusableAdapter if the backbone has another hash, MissingBackbone if it is missing.
    """
    adapter = read(folder)
    folder_of_base = backbones.located(base or adapter.recipe.base)
    sha256, trained = backbones.fingerprint(folder_of_base), adapter.card["base"]
    if sha256 != trained["sha256"]:
        raise UnusableAdapter(
            f"{adapter.name} was trained on {trained['name']} with sha256 {trained['sha256']}; the weights in "
            f"{shown(folder_of_base)} have {sha256}. Name the folder with the right weights, or train again"
        )
    model = backbones.load(folder_of_base, adapter.recipe.layers, zero_head=False)
    # A short limit in training does not apply here, since every prefix that is too long costs a forward pass.
    most = max(adapter.recipe.max_tokens, min(LONGEST, model.config.max_position_embeddings))
    return Scorer(on_device(with_adapter(model, folder)), Tokeniser(backbones.tokenizer(folder_of_base), most))


@cache
def classifier(base: str) -> Scorer:
    """A model that comes with a trained score head; loaded once per process. base: as for `backbones.located`."""
    folder = backbones.located(base)
    model = backbones.load(folder, zero_head=False, trained_head=True)
    return Scorer(on_device(model), Tokeniser(backbones.tokenizer(folder), OF_A_CRITIC))


def with_adapter(model: Any, folder: Path) -> Any:
    """Merge an adapter's matrices into the backbone. Raises UnusableAdapter if a matrix is missing or does not fit.

    The check is ours: for a missing matrix peft would silently keep the backbone's layer, and scores would differ.
    """
    from peft import PeftConfig, get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict

    config = PeftConfig.from_pretrained(str(folder))
    config.base_model_name_or_path = None  # `scorer` compares the hash; peft would warn that the name is no path
    with quiet():
        wrapped = get_peft_model(model, config)
    state = _weights(folder)
    shapes = {name: value.shape for name, value in get_peft_model_state_dict(wrapped).items()}
    wrong = sorted(name for name in shapes.keys() | state if name not in state or state[name].shape != shapes.get(name))
    if wrong:
        lacks = (
            "lacks" if wrong[0] not in state else "has another shape of" if wrong[0] in shapes else "has no place for"
        )
        raise UnusableAdapter(
            f"{shown(folder / WEIGHTS)} is not of this backbone with this recipe: {len(wrong)} of {len(shapes)} "
            f"matrices differ; it {lacks} {wrong[0]}. Restore the file from where it came, or train again"
        )
    set_peft_model_state_dict(wrapped, state)
    return wrapped.merge_and_unload().eval()


def _weights(folder: Path) -> dict[str, Any]:
    """An adapter's matrices by name. Raises UnusableAdapter if the file is damaged or has NaN or infinite values."""
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
    """Move a model to the GPU if there is one."""
    import torch

    return model.to("cuda" if torch.cuda.is_available() else "cpu")
