"""What predicts rewards: one class with three verbs, and the register of methods that experiments can run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from lab.models.backbone import Backbone
from statefactory import trust
from statefactory.benchmark.schema import Pair
from statefactory.prompts import Reasoning
from statefactory.state import Values
from statefactory.trust import Flags

M = TypeVar("M")
Step = tuple[str, str]  # an action, and the observation that it led to


class Rated(NamedTuple):
    """Predicted rewards, shape (steps,), and the flags of each, as `statefactory.trust` has them."""

    rewards: np.ndarray
    flags: Flags


class Predictor(ABC, Generic[M]):
    """f(goal, observations, actions) of the paper's Eq. 2, one observation at a time.

    A memory is a value that nothing changes: a planner keeps those of states that it may come back to, advances one of
    them along several actions, and compares their scores, that of s_0 among them (Eq. 15).
    """

    @abstractmethod
    def start(self, goal: str, observation: str = "") -> M:
        """The memory before any action. observation: the first one, s_0's; "" where it is not known."""

    @abstractmethod
    def advance(self, memory: M, action: str, observation: str) -> M:
        """The memory after an action and the observation that it led to."""

    @abstractmethod
    def score(self, memory: M) -> float:
        """How much of the goal is reached, in [0, 1]."""

    def scores(self, memories: Sequence[M]) -> np.ndarray:
        """The scores of several, shape (memories,); the same as one by one, where that is slower."""
        return np.array([self.score(memory) for memory in memories], dtype=float)

    def follow(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> list[M]:
        """The memories along a trajectory: s_0's, then one a step.

        observations: the one that each action led to, as many as actions. first: s_0's. Raises ValueError if actions
        and observations differ in number, and what `start` and `advance` raise.
        """
        if len(actions) != len(observations):
            raise ValueError(f"{len(actions)} actions with {len(observations)} observations: each action needs one")
        memories = [self.start(goal, first)]
        for action, observation in zip(actions, observations, strict=True):
            memories.append(self.advance(memories[-1], action, observation))
        return memories

    def flags(self, memories: Sequence[M]) -> Flags:
        """Why each memory's score may mean nothing, see `statefactory.trust`; by default there is no reason."""
        return (trust.NONE,) * len(memories)

    def rated(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> Rated:
        """Rewards with their flags, one a step: of what `follow` gives, s_0 left out. Raises what it raises."""
        memories = self.follow(goal, actions, observations, first)[1:]
        rewards = self.scores(memories)
        return Rated(rewards, trust.with_constant(self.flags(memories), rewards))

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> np.ndarray:
        """Rewards in [0, 1], shape (steps,): those of `rated`, which it raises as; warns `UntrustedReward` of flags."""
        rewards, flags = self.rated(goal, actions, observations, first)
        trust.warn(flags, self)
        return rewards

    def predict_pair(self, pair: Pair) -> np.ndarray:
        """Rewards at all steps of a pair, shape (steps,): the positive's, then the negatives'. Raises as `rated`."""
        # Without a warning: a negative that stays at 0 is right, and tables count the flags.
        rows = pair.rows
        return np.concatenate([self.rated(row.goal_description, row.actions, row.observations).rewards for row in rows])

    def result(self, memories: Sequence[M]) -> dict[str, Any]:
        """What a run keeps of a trajectory: the rewards, their flags if there are any, and how many of a model's
        answers could not be read.
        """
        rewards = self.scores(memories)  # before the flags: what an embedder cuts is known when it has read it
        flags = [sorted(step) for step in self.flags(memories)]
        return {"rewards": rewards.tolist(), "malformed": 0} | ({"flags": flags} if any(flags) else {})


@dataclass(frozen=True, slots=True)
class Path:
    """A goal and the steps towards it, really or in thought. first: the observation before any action."""

    goal: str
    first: str = ""
    steps: tuple[Step, ...] = ()

    def then(self, action: str, observation: str) -> Path:
        """With one step more."""
        return replace(self, steps=(*self.steps, (action, observation)))

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(action for action, _ in self.steps)

    @property
    def observation(self) -> str:
        """The newest one."""
        return self.steps[-1][1] if self.steps else self.first


class PathPredictor(Predictor[Path]):
    """A predictor whose memory is all that was done and seen."""

    def start(self, goal: str, observation: str = "") -> Path:
        return Path(goal, observation)

    def advance(self, memory: Path, action: str, observation: str) -> Path:
        return memory.then(action, observation)


class PredictorSettings(NamedTuple):
    """What an experiment's settings tell a predictor. instruction: the world's, or "". The rest: as for `Extractor`."""

    instruction: str = ""
    values: Values = "sentences"
    reasoning: Reasoning = "short"


Make = Callable[["Backbone", PredictorSettings], Predictor[Any]]


def fixed(predictor: Predictor[Any]) -> Make:
    """A `Make` of a predictor that asks no backbone and has no settings; picklable as the predictor is."""
    return partial(_itself, predictor)


def _itself(predictor: Predictor[Any], backbone: Backbone, settings: PredictorSettings) -> Predictor[Any]:
    return predictor


@dataclass(frozen=True)
class Method:
    """A predictor as experiments run it.

    title: in tables. make: (backbone, what the settings say) -> the predictor. operators: of the prompts that it asks,
    so that each can have an engine of its own; none if it asks no model. version: part of a run's identity.
    """

    title: str
    make: Make
    operators: tuple[str, ...] = ()
    version: str = "1"


METHODS: dict[str, Method] = {}


def operators_of(method: str) -> tuple[str, ...]:
    """The operators of a method. Raises ValueError for one that there is not."""
    if method not in METHODS:
        raise ValueError(f"No method {method!r}; choose from {', '.join(METHODS)}")
    return METHODS[method].operators


def register(name: str, title: str, operators: tuple[str, ...] = (), version: str = "1") -> Callable[[Make], Make]:
    """Decorator: make a predictor available to experiments under a name, in place of what had it.

    It goes before a class, or a function, that takes a backbone and a `PredictorSettings`. A run of another version
    is another run: change it with the code, or what an older run kept is shown. The other arguments: see `Method`.
    """

    def registered(make: Make) -> Make:
        METHODS[name] = Method(title, make, operators, version)
        return make

    return registered
