"""How a reward model is trained: one flat configuration, and two named presets of it."""

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
    """Every value of a training. Raises ValueError naming a value of another type, or out of its range.

    Source of the paper's: Shen et al. 2026, Appendix C.2, Tables 6 and 7.
    """

    base: str = "smollm2-135m"  # a backbone's name, its folder, or its address on the hub
    layers: NonNegativeInt = 0  # the first so many of the backbone's; 0 for all
    rank: PositiveInt = 16
    alpha: PositiveInt = 32  # LoRA's scale is alpha / rank
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    loss: Loss = "all_prefixes"  # or "outcome": whole trajectories only, as the paper's Eq. 13
    goals: Goals = "own"  # "blind": the goal is never shown, a control
    swapped_negatives: bool = False  # an ablation: the chosen steps under another task's goal are progress of 0
    centring: NonNegativeFloat = 0.01  # weight of the mean (r_w + r_l)^2, which keeps rewards around 0 (§3.1.1)
    pairs: NonNegativeInt = 0  # the first so many training pairs; 0 for all
    max_tokens: PositiveInt = 4096  # of a trajectory
    learning_rate: PositiveFloat = 5e-4
    schedule: Schedule = "cosine"
    warmup_steps: NonNegativeInt = 10
    epochs: PositiveFloat = 1.0
    pairs_a_step: PositiveInt = 1
    clip: PositiveFloat = 1.0  # of the gradient's norm
    weight_decay: NonNegativeFloat = 0.0
    zero_head: bool = True  # the score head starts at 0, else at random
    checkpointing: bool = False  # recompute activations, which saves memory
    precision: Literal["auto", "bf16", "float32"] = "auto"  # auto is bf16 on CUDA, else float32
    save_every: PositiveInt = 25  # steps between two checkpoints
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


PRESETS: Mapping[str, Recipe] = {
    # One adapter of 3 MB in some minutes on one core. The paper's learning rate assumes about 6,500 steps.
    "two-cores": Recipe(layers=10),
    # Table 6; what it leaves open (warm-up, clipping, decay, centring's weight) is as trl has it. EFFORTS has Table 7.
    "paper": Recipe(
        base="Qwen/Qwen2.5-1.5B", loss="outcome", max_tokens=8192, learning_rate=1e-5, warmup_steps=0, zero_head=False,
        checkpointing=True, precision="bf16", save_every=100,
    ),
}  # fmt: skip
# Preset -> training -> what it has of its own. The batch is Table 7's, over all GPUs: 2 or 4 times Table 6's 16, 8, 2.
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
    """A preset with some values changed. training: a domain or "all", for what is the training's own in that preset.

    Raises ValueError naming an unknown preset or value.
    """
    if preset not in PRESETS:
        raise ValueError(f"no preset {preset!r}; there are: {', '.join(PRESETS)}")
    known = [field.name for field in fields(Recipe)]
    if unknown := sorted(set(changes) - set(known)):
        near = hint(unknown[0], known)
        raise ValueError(f"a recipe has no {', '.join(unknown)}{near}; it has {', '.join(known)}")
    own = EFFORTS.get(preset, {}).get(training, {})
    return replace(PRESETS[preset], **{**own, **changes})


def changes(recipe: Recipe, preset: str = "two-cores") -> list[str]:
    """What a recipe has otherwise than a preset, as "name=value"; how many pairs it takes is not told."""
    standard = PRESETS[preset].to_json() | {"pairs": recipe.pairs}
    # Of a folder its name: where it lies says nothing.
    own = recipe.to_json() | ({"base": Path(recipe.base).name} if Path(recipe.base).is_dir() else {})
    return [f"{name}={value}" for name, value in own.items() if value != standard[name]]
