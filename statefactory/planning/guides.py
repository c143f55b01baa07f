"""Predictors that ask no model: the oracle, a ceiling, and random rewards, a placebo.

The oracle knows the true progress, so its rows are simulated. For a constant reward use `Monotonic(length)`: all
candidates of a turn have the same score.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from lab.models.cache import key_of
from statefactory.planning.paths import Path
from statefactory.predictors import Predictor

Actions = tuple[str, ...]


class Oracle(Predictor[Actions]):
    """The true progress. A memory is what was done: no observation is read.

    progress: what is reached after some actions, in [0, 1].
    """

    def __init__(self, progress: Callable[[Actions], float]) -> None:
        self.progress = progress

    def start(self, goal: str, observation: str = "") -> Actions:
        return ()

    def advance(self, memory: Actions, action: str, observation: str) -> Actions:
        return (*memory, action)

    def score(self, memory: Actions) -> float:
        """Raises what `progress` raises."""
        return self.progress(memory)


class AtRandom(Predictor[Path]):
    """A number for every path, drawn from its content: the same path has the same score, in any process."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def start(self, goal: str, observation: str = "") -> Path:
        return Path(goal, observation)

    def advance(self, memory: Path, action: str, observation: str) -> Path:
        return memory.then(action, observation)

    def score(self, memory: Path) -> float:
        return Random(key_of([self.seed, memory.goal, memory.first, memory.steps])).random()


def nearer(left: int, at_first: int) -> float:
    """The progress of somebody who is `left` steps from the goal, and was `at_first`: 1 there, a half at the beginning.

    Not 0 at the beginning, so that leading away from it is seen, too; 0 at twice the distance and further.
    """
    if at_first == 0:
        return 1.0 if left == 0 else 0.0
    return max(0.0, 1 - left / (2 * at_first))
