"""Lookahead: a world model predicts the outcomes of candidate actions, and a predictor rewards them (Eq. 15).

The paper's world model is a trained LLaMA (Li et al. 2025). Here it is a prompted model, or rules that know a world's
wording (`standins.statefactory.foresight`). The upper bound is the world itself, replayed next to the episode. No agent
has it, so tables mark such rows as privileged. A `Meter` caps the calls of an entire planner.
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
    """An action's predicted outcome. done: whether the episode ends. known: False if the model could not predict it."""

    observation: str
    done: bool = False
    known: bool = True


class WorldModel(Protocol):
    """Predicts the outcomes of actions."""

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """One outcome per action, as if it alone were taken after the path."""
        ...


class Exact:
    """The world itself, replayed to the end of the path. Privileged."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """See `WorldModel.outcomes`. Raises WorldDied if the world dies twice."""
        steps = [self.pool.at((*path.actions, action)) for action in actions]
        return [Outcome(step.text, step.done) for step in steps]


class Prompted:
    """A model, or rules, prompted with a description of the actions, the goal and the path."""

    def __init__(self, backbone: Backbone, world: str, tools: str) -> None:
        """world: short name, part of the prompts' names. tools: description of the actions."""
        self.backbone, self.world, self.tools = backbone, world, tools

    def outcomes(self, path: Path, actions: Sequence[str]) -> list[Outcome]:
        """See `WorldModel.outcomes`. A malformed answer gives the current observation, with `known` False."""
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
    """An action with its predicted outcome. gain: increase of the score over the state before.

    repeated: whether this action with this outcome occurred before in the episode. reward: Eq. 15, gain minus penalty.
    score, flags: of the memory after the action.
    """

    action: str
    outcome: Outcome
    gain: float
    repeated: bool
    reward: float
    score: float
    flags: frozenset[str] = NONE


class Lookahead(Generic[M]):
    """A predictor with a world model, along an episode.

    penalty: lambda of Eq. 15, for which the paper gives no value. Ours exceeds the oracle's progress per step if plans
    are longer than ten steps. The paper does not define a repetition. Here it is the same action with the same outcome
    as before in the episode, so a second visit is not penalised if it shows something new (as in Table 17, whose step 8
    returns to a desk).
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
        """The actions after a path as candidates, and the memory after each of them. memory: after the path.

        All scores are computed in one batch. Raises what predictor and world model raise.
        """
        outcomes = self.world_model.outcomes(path, actions)
        after = [
            self.predictor.advance(memory, action, outcome.observation)
            for action, outcome in zip(actions, outcomes, strict=True)
        ]
        score_before, *scores_after = self.predictor.scores([memory, *after]).tolist()
        earlier_steps = set(path.steps)
        candidates = []
        flags = self.predictor.flags(after)
        for index, (action, outcome, score) in enumerate(zip(actions, outcomes, scores_after, strict=True)):
            repeated = (action, outcome.observation) in earlier_steps
            gain = score - score_before
            reward = gain - self.penalty * repeated
            candidates.append(Candidate(action, outcome, gain, repeated, reward, score, flags[index]))
        return candidates, after


class OutOfBudget(RuntimeError):
    """The next call would exceed the cap, so it was not made."""


class Meter(Ledger):
    """A backbone with a cap on calls, including cache hits and malformed answers. most: the cap; 0 for no cap.

    Proposer, world model and predictor of a planner share one meter. cost: of the calls so far.
    """

    def __init__(self, backbone: Backbone, most: int = 0) -> None:
        super().__init__(backbone)
        self.most, self.cost = most, Cost()

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Ask as `Ledger.ask`. Raises OutOfBudget if the cap is reached."""
        if self.most and self.cost.calls >= self.most:
            raise OutOfBudget(f"all {self.most} calls were made; allow more, or plan with fewer simulations")
        calls_before = len(self.calls)
        try:
            return super().ask(prompt, sample, **fields)
        finally:
            self.cost += cost_of(self.calls[calls_before:])
