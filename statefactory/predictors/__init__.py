"""What predicts rewards: one protocol, and the predictors that the paper compares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np


class Predictor(Protocol):
    """f(goal, observations, actions) of the paper's Eq. 2, for a whole trajectory."""

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str]) -> np.ndarray:
        """Rewards in [0, 1], shape (steps,). observations: the one that each action led to, as many as actions."""
        ...
