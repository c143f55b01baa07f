"""The monotonic baseline: progress is time; and upside down, a placebo that prefers the shortest trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from statefactory.predictors import Predictor

if TYPE_CHECKING:
    import numpy as np


class Monotonic(Predictor[int]):
    """r = t / T with t from 1 to the trajectory's length T; s_0 has 0. Source: Shen et al. 2026, Appendix C.1.

    length: T, in steps; `predict` takes the trajectory's own. A memory is t: neither the goal nor a text is looked at.
    """

    def __init__(self, length: int | None = None) -> None:
        self.length = length

    def start(self, goal: str, observation: str = "") -> int:
        return 0

    def advance(self, memory: int, action: str, observation: str) -> int:
        # Appendix C.1 does not say where t starts; the padding that was fitted to the published values takes 1.
        return memory + 1

    def score(self, memory: int) -> float:
        """t / T, at most 1. Raises ValueError without a length."""
        if not self.length:
            raise ValueError(
                "progress is t / T, and T is not known while acting: state it as Monotonic(length=50), say"
            )
        return min(memory / self.length, 1.0)

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> np.ndarray:
        """Rewards of shape (steps,)."""
        return super(Monotonic, Monotonic(len(actions))).predict(goal, actions, observations, first)

    def result(self, memories: Sequence[int]) -> dict[str, Any]:
        """The rewards, of the trajectory's own length where none is stated."""
        return Predictor.result(self if self.length else type(self)(len(memories)), memories)


class Countdown(Monotonic):
    """r = 1 - t / T; s_0 has 1. length: T, as of `Monotonic`.

    An episode that reaches its goal ends there. So the shortest of several attempts tends to be one that succeeded,
    which nobody has to understand: the harshest of the placebos.
    """

    def score(self, memory: int) -> float:
        """Raises ValueError without a length."""
        return 1 - super().score(memory)

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> np.ndarray:
        """Rewards of shape (steps,)."""
        return 1 - super().predict(goal, actions, observations, first)
