"""Hyperparameters of a reward model's training: one flat configuration with two presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from lab.machine.printing import hint
from lab.machine.reading import check_fields

Loss = Literal["all_prefixes", "outcome"]
Goals = Literal["own", "blind"]
Schedule = Literal["cosine", "linear", "constant", "constant_with_warmup", "inverse_sqrt"]  # of transformers


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """All hyperparameters of a training. Raises ValueError naming a value of a wrong type or out of range.

    Source of the paper's values: Shen et al. 2026, Appendix C.2, Tables 6 and 7.
    """

    base: str = "smollm2-135m"  # a backbone's name, its folder, or its address on the hub
    layers: NonNegativeInt = 0  # number of the backbone's first layers; 0 for all
    rank: PositiveInt = 16
    alpha: PositiveInt = 32  # LoRA's scale is alpha / rank
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    loss: Loss = "all_prefixes"  # or "outcome": whole trajectories only, as the paper's Eq. 13
    goals: Goals = "own"  # "blind": the goal is never shown, a control
    swapped_negatives: bool = False  # an ablation: adds the chosen steps under another task's goal, with progress 0
    centring: NonNegativeFloat = 0.01  # weight of the mean (r_w + r_l)^2, which keeps rewards around 0 (§3.1.1)
    pairs: NonNegativeInt = 0  # number of first training pairs; 0 for all
    max_tokens: PositiveInt = 4096  # of a trajectory
    learning_rate: PositiveFloat = 5e-4
    schedule: Schedule = "cosine"
    warmup_steps: NonNegativeInt = 10
    epochs: PositiveFloat = 1.0
    pairs_a_step: PositiveInt = 1
    clip: PositiveFloat = 1.0  # of the gradient's norm
    weight_decay: NonNegativeFloat = 0.0
    zero_head: bool = True  # initialise the score head with zeros instead of randomly
    checkpointing: bool = False  # recompute activations, which saves memory
    precision: Literal["auto", "bf16", "float32"] = "auto"  # auto is bf16 on CUDA, else float32
    save_every: PositiveInt = 25  # steps between two checkpoints
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


PRESETS: Mapping[str, Recipe] = {
    # Trains an adapter of 3 MB in some minutes on one core. The paper's learning rate assumes about 6,500 steps.
    "two-cores": Recipe(layers=10),
    # Table 6, with trl's values for what it omits (warm-up, clipping, decay, centring weight). EFFORTS has Table 7.
    "paper": Recipe(
        base="Qwen/Qwen2.5-1.5B", loss="outcome", max_tokens=8192, learning_rate=1e-5, warmup_steps=0, zero_head=False,
        checkpointing=True, precision="bf16", save_every=100,
    ),
}  # fmt: skip
# Preset -> training -> its own values. The batch size is Table 7's, over all GPUs: 2 or 4 times Table 6's 16, 8, 2.
EFFORTS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "paper": {
        "alfworld": {"pairs": 35_000, "epochs": 3.0, "pairs_a_step": 16},
        "textworld": {"pairs": 35_000, "epochs": 3.0, "pairs_a_step": 4},
        "scienceworld": {"pairs": 35_000, "epochs": 3.0, "pairs_a_step": 16},
        "blocksworld": {"pairs": 35_000, "epochs": 3.0, "pairs_a_step": 32},
        "webshop": {"pairs": 35_000, "epochs": 2.0, "pairs_a_step": 16},
        "all": {"pairs": 175_000, "epochs": 2.0, "pairs_a_step": 32},
    },
}


def recipe(preset: str = "two-cores", training: str = "", **changes: Any) -> Recipe:
    """A preset with some values changed. training: a domain or "all", whose own values in the preset are used.

    Raises ValueError naming an unknown preset or hyperparameter.
    """
    if preset not in PRESETS:
        raise ValueError(f"no preset {preset!r}; there are: {', '.join(PRESETS)}")
    names = [field.name for field in fields(Recipe)]
    if unknown := sorted(set(changes) - set(names)):
        near = hint(unknown[0], names)
        raise ValueError(f"a recipe has no {', '.join(unknown)}{near}; it has {', '.join(names)}")
    training_values = EFFORTS.get(preset, {}).get(training, {})
    return replace(PRESETS[preset], **{**training_values, **changes})


def changes(recipe: Recipe, preset: str = "two-cores") -> list[str]:
    """The differences of a recipe to a preset, as "name=value", except the number of pairs."""
    standard = PRESETS[preset].to_json() | {"pairs": recipe.pairs}
    # Only the name of a backbone's folder, without its path.
    values = recipe.to_json() | ({"base": Path(recipe.base).name} if Path(recipe.base).is_dir() else {})
    return [f"{name}={value}" for name, value in values.items() if value != standard[name]]
