"""Predictors that ask no model: monotonic baseline, countdown placebo, random rewards, and oracle.

For a constant reward use `Monotonic(length)`, which gives all candidates of a turn the same score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from lab.machine.files import key_of
from statefactory.predictors import Path, PathPredictor, Predictor, Rated

Actions = tuple[str, ...]


class Monotonic(Predictor[int]):
    """Monotonic baseline: r = t / T for step t of T, and 0 for s_0. Source: Shen et al. 2026, Appendix C.1.

    length: T in steps; `predict` uses the trajectory's own length. The memory is t; goal and observations are ignored.
    """

    def __init__(self, length: int | None = None) -> None:
        self.length = length

    def start(self, goal: str, observation: str = "") -> int:
        return 0

    def advance(self, memory: int, action: str, observation: str) -> int:
        # Appendix C.1 does not say where t starts; 1 is consistent with the padding fitted to the published values.
        return memory + 1

    def score(self, memory: int) -> float:
        """t / T, at most 1. Raises ValueError if no length was given."""
        if not self.length:
            raise ValueError(
                "progress is t / T, and T is not known while acting: state it as Monotonic(length=50), say"
            )
        return min(memory / self.length, 1.0)

    def rated(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> Rated:
        """Rewards of shape (steps,) and flags, with the trajectory's own length as T."""
        return super(Monotonic, type(self)(len(actions))).rated(goal, actions, observations, first)

    def result(self, memories: Sequence[int]) -> dict[str, Any]:
        """The rewards, with the trajectory's own length as T if none was given."""
        return Predictor.result(self if self.length else type(self)(len(memories)), memories)


class Countdown(Monotonic):
    """Placebo: r = 1 - t / T, and 1 for s_0. length: T, see `Monotonic`.

    Episodes end when they reach the goal, so the shortest of several attempts is likely a success. This placebo
    exploits that without understanding anything, and is the hardest one to beat.
    """

    def score(self, memory: int) -> float:
        """1 - t / T, at least 0. Raises ValueError if no length was given."""
        return 1 - super().score(memory)


class Oracle(PathPredictor):
    """The true progress, an upper bound; its rows are simulated. It ignores observations.

    progress: maps the actions so far to the true progress, in [0, 1].
    """

    def __init__(self, progress: Callable[[Actions], float]) -> None:
        self.progress = progress

    def score(self, memory: Path) -> float:
        """The true progress. Raises what `progress` raises."""
        return self.progress(memory.actions)


class AtRandom(PathPredictor):
    """Placebo: a random score per path, seeded by its content, so that equal paths have equal scores in any process."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(self, memory: Path) -> float:
        return Random(key_of([self.seed, memory.goal, memory.first, memory.steps])).random()
