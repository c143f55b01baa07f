"""Looking ahead: what a world model foresees of candidate actions, and the reward of Eq. 15 on it.

The paper's world model is a trained LLaMA (Li et al. 2025). Here it is a prompted model, or rules that know the words
of a world (`standins.statefactory.foresight`). The world itself, replayed beside the episode, is the upper bound. No
agent has it, so tables call such rows privileged. A `Meter` caps the calls of all that plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from lab.models.backbone import Answer, Backbone, Cost, Ledger, MalformedAnswer, cost_of
from lab.models.prompts import Prompt
from statefactory.planning.prompts import predict_prompt
from statefactory.predictors import Path, Predictor
from statefactory.trust import NONE
from worlds.pool import Pool

M = TypeVar("M")


class Outcome(NamedTuple):
    """What an action is thought to lead to. done: whether the episode ends there. known: False where none was found."""

    observation: str
    done: bool = False
    known: bool = True


class WorldModel(Protocol):
    """Foresees what actions lead to."""

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """One outcome an action, each taken after the path and by itself."""
        ...


class Exact:
    """The world itself, replayed to the same point. Privileged."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """Raises WorldDied where the world dies twice."""
        steps = [self.pool.at((*path.actions, action)) for action in actions]
        return [Outcome(step.text, step.done) for step in steps]


class Prompted:
    """A model, or rules, asked what it expects; told the actions in words, the goal and the path."""

    def __init__(self, backbone: Backbone, world: str, tools: str) -> None:
        """world: its short name, which prompts are named after. tools: its actions in words."""
        self.backbone, self.world, self.tools = backbone, world, tools

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """An answer that cannot be read foresees nothing: the observation stays as it was."""
        prompt, outcomes = predict_prompt(self.world), []
        fields: dict[str, Any] = {"tools": self.tools, "goal": path.goal, "first": path.first, "steps": path.steps}
        for action in actions:
            try:
                answer = self.backbone.ask(prompt, **fields, action=action).value
                outcomes.append(Outcome(answer.observation, answer.done))
            except MalformedAnswer:
                outcomes.append(Outcome(path.observation, known=False))
        return outcomes


class Candidate(NamedTuple):
    """An action with what it is thought to lead to. gain: of the score; repeated: whether the episode had that before.

    reward: Eq. 15, the gain less the penalty. score: of the memory after it; flags: of that score.
    """

    action: str
    outcome: Outcome
    gain: float
    repeated: bool
    reward: float
    score: float
    flags: frozenset[str] = NONE


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
        flags = self.predictor.flags(after)
        for number, (action, outcome, score) in enumerate(zip(actions, outcomes, then, strict=True)):
            repeated = (action, outcome.observation) in done
            gain = score - now
            reward = gain - self.penalty * repeated
            candidates.append(Candidate(action, outcome, gain, repeated, reward, score, flags[number]))
        return candidates, after


class OutOfBudget(RuntimeError):
    """One call more would exceed the cap; it was not made."""


class Meter(Ledger):
    """A backbone that makes at most so many calls, cache hits and malformed answers included; 0 for any number.

    All that plans shares one: proposer, world model and predictor. cost: of the calls so far.
    """

    def __init__(self, backbone: Backbone, most: int = 0) -> None:
        super().__init__(backbone)
        self.most, self.cost = most, Cost()

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises OutOfBudget in place of one call too many."""
        if self.most and self.cost.calls >= self.most:
            raise OutOfBudget(f"all {self.most} calls were made; allow more, or plan with fewer simulations")
        known = len(self.calls)
        try:
            return super().ask(prompt, sample, **fields)
        finally:
            self.cost += cost_of(self.calls[known:])
