"""How a reward model is trained: one flat configuration, and two named presets of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

Loss = Literal["all_prefixes", "outcome"]
Goals = Literal["own", "blind"]


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Every value of a training. Source of the paper's: Shen et al. 2026, Appendix C.2, Tables 6 and 7."""

    base: str = "smollm2-135m"  # a backbone's name, its folder, or its address on the hub
    layers: int = 0  # the first so many of the backbone's; 0 for all
    rank: int = 16
    alpha: int = 32  # LoRA's scale is alpha / rank
    dropout: float = 0.0
    loss: Loss = "all_prefixes"  # or "outcome": whole trajectories only, as the paper's Eq. 13
    goals: Goals = "own"  # "blind": the goal is never shown, a control
    swapped_negatives: bool = False  # an ablation: the chosen steps under another task's goal are progress of 0
    centring: float = 0.01  # weight of the mean (r_w + r_l)^2, which keeps rewards around 0 (§3.1.1)
    pairs: int = 0  # the first so many training pairs; 0 for all
    max_tokens: int = 4096  # of a trajectory
    learning_rate: float = 5e-4
    schedule: str = "cosine"
    warmup_steps: int = 10
    epochs: float = 1.0
    pairs_a_step: int = 1
    clip: float = 1.0  # of the gradient's norm
    weight_decay: float = 0.0
    zero_head: bool = True  # the score head starts at 0, else at random
    checkpointing: bool = False  # recompute activations, which saves memory
    precision: str = "auto"  # "bf16" or "float32"; auto is bf16 on CUDA, else float32
    save_every: int = 25  # steps between two checkpoints
    seed: int = 0

    def __post_init__(self) -> None:
        words = {"loss": Loss, "goals": Goals}
        for name, allowed in words.items():
            if getattr(self, name) not in allowed.__args__:  # type: ignore[attr-defined]
                raise ValueError(f"{name}={getattr(self, name)!r}; choose one of {', '.join(allowed.__args__)}")  # type: ignore[attr-defined]
        if self.precision not in ("auto", "bf16", "float32"):
            raise ValueError(f"precision={self.precision!r}; choose one of auto, bf16, float32")
        for name in ("rank", "max_tokens", "pairs_a_step", "save_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}; it is at least 1")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


PRESETS: Mapping[str, Recipe] = {
    # One adapter of 3 MB in some minutes on one core. The paper's learning rate assumes about 6,500 steps.
    "two-cores": Recipe(layers=10),
    # Tables 6 and 7; what they leave open (warm-up, clipping, decay, centring's weight) is as trl has it.
    "paper": Recipe(
        base="Qwen/Qwen2.5-1.5B", loss="outcome", max_tokens=8192, learning_rate=1e-5, warmup_steps=0, epochs=3.0,
        pairs_a_step=16, zero_head=False, checkpointing=True, precision="bf16", save_every=100,
    ),
}  # fmt: skip


def recipe(preset: str = "two-cores", **changes: Any) -> Recipe:
    """A preset with some values changed. Raises ValueError naming an unknown preset or value."""
    if preset not in PRESETS:
        raise ValueError(f"no preset {preset!r}; there are: {', '.join(PRESETS)}")
    unknown = set(changes) - {field.name for field in fields(Recipe)}
    if unknown:
        raise ValueError(f"a recipe has no {', '.join(sorted(unknown))}; it has {', '.join(PRESETS[preset].to_json())}")
    return replace(PRESETS[preset], **changes)


def changes(of: Recipe, preset: str = "two-cores") -> list[str]:
    """What a recipe has otherwise than a preset, as "name=value"; how many pairs it takes is not told."""
    standard = PRESETS[preset].to_json() | {"pairs": of.pairs}
    # Of a folder its name: where it lies says nothing.
    own = of.to_json() | ({"base": Path(of.base).name} if Path(of.base).is_dir() else {})
    return [f"{name}={value}" for name, value in own.items() if value != standard[name]]
