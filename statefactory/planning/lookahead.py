"""What a predictor says of candidate actions: the reward of Eq. 15, on what a world model foresees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from statefactory.planning.paths import Path
from statefactory.planning.world_models import Outcome, WorldModel
from statefactory.predictors import Predictor

M = TypeVar("M")


class Candidate(NamedTuple):
    """An action with what it is thought to lead to. gain: of the score; repeated: whether the episode had that before.

    reward: Eq. 15, the gain less the penalty. score: of the memory after it.
    """

    action: str
    outcome: Outcome
    gain: float
    repeated: bool
    reward: float
    score: float


class Lookahead(Generic[M]):
    """A predictor and a world model, along an episode.

    penalty: lambda of Eq. 15, for which the paper gives no value. Ours outweighs a step of the oracle's
    progress where plans are longer than ten steps. A repetition, which the paper leaves open, is here the same action
    with the same outcome as before in the episode: a second visit pays as long as it shows something else (Table 17's
    step 8 goes back to a desk, and is not punished).
    """

    def __init__(self, predictor: Predictor[M], world_model: WorldModel, penalty: float = 0.05) -> None:
        self.predictor, self.world_model, self.penalty = predictor, world_model, penalty

    def start(self, path: Path) -> M:
        """The memory after a path."""
        memory = self.predictor.start(path.goal, path.first)
        for action, observation in path.steps:
            memory = self.predictor.advance(memory, action, observation)
        return memory

    def candidates(self, path: Path, memory: M, actions: Sequence[str]) -> tuple[list[Candidate], list[M]]:
        """The actions after a path, as candidates, and the memory after each. memory: the one after the path.

        All scores are asked for at once. Raises what predictor and world model raise.
        """
        outcomes = self.world_model.outcomes(path, actions)
        after = [
            self.predictor.advance(memory, action, outcome.observation)
            for action, outcome in zip(actions, outcomes, strict=True)
        ]
        now, *then = self.predictor.scores([memory, *after]).tolist()
        done = set(path.steps)
        candidates = []
        for action, outcome, score in zip(actions, outcomes, then, strict=True):
            repeated = (action, outcome.observation) in done
            gain = score - now
            candidates.append(Candidate(action, outcome, gain, repeated, gain - self.penalty * repeated, score))
        return candidates, after
