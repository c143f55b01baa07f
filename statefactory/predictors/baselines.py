"""Predictors that ask no model: time, its placebo, random rewards, and the oracle.

For a constant reward use `Monotonic(length)`: all candidates of a turn have the same score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from lab.machine.files import key_of
from statefactory.predictors import Path, PathPredictor, Predictor, Rated

Actions = tuple[str, ...]


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

    def rated(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> Rated:
        """Rewards of shape (steps,), of the trajectory's own length."""
        return super(Monotonic, type(self)(len(actions))).rated(goal, actions, observations, first)

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


class Oracle(PathPredictor):
    """The true progress, a ceiling: its rows are simulated. No observation is read.

    progress: what is reached after some actions, in [0, 1].
    """

    def __init__(self, progress: Callable[[Actions], float]) -> None:
        self.progress = progress

    def score(self, memory: Path) -> float:
        """Raises what `progress` raises."""
        return self.progress(memory.actions)


class AtRandom(PathPredictor):
    """A number for every path, drawn from its content: the same path has the same score, in any process. A placebo."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(self, memory: Path) -> float:
        return Random(key_of([self.seed, memory.goal, memory.first, memory.steps])).random()
