"""Predictors that know nothing of a task: what a planner achieves with them is no merit of a reward."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from statefactory.predictors import Predictor
from statefactory.predictors.monotonic import Monotonic

if TYPE_CHECKING:
    import numpy as np


class Seen(NamedTuple):
    """The goal, and the newest observation."""

    goal: str
    observation: str


class Random(Predictor[Seen]):
    """A random number for each observation under a goal: the same content has the same reward. seed: another draw."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def start(self, goal: str, observation: str = "") -> Seen:
        return Seen(goal, observation)

    def advance(self, memory: Seen, action: str, observation: str) -> Seen:
        return Seen(memory.goal, observation)

    def score(self, memory: Seen) -> float:
        """Uniform in [0, 1)."""
        digest = hashlib.sha256("\0".join((str(self.seed), *memory)).encode()).digest()
        return int.from_bytes(digest[:7], "big") / 2**56


class Countdown(Monotonic):
    """r = 1 - t / T, the monotonic baseline upside down: of several trajectories it prefers the shortest.

    An episode that reaches its goal ends there. So the shortest of several attempts tends to be one that succeeded,
    which nobody has to understand: the harshest of the placebos.
    """

    def score(self, memory: int) -> float:
        """Raises ValueError without a length."""
        return 1 - super().score(memory)

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> np.ndarray:
        """Rewards of shape (steps,)."""
        return 1 - super().predict(goal, actions, observations, first)
