"""The monotonic baseline upside down: a placebo that prefers the shortest of several trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from statefactory.predictors.monotonic import Monotonic

if TYPE_CHECKING:
    import numpy as np


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
