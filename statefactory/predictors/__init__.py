"""Reward predictors: their interface (start, advance, score), and the registry of methods that experiments can run."""

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
Step = tuple[str, str]  # action and resulting observation


class Rated(NamedTuple):
    """Predicted rewards, shape (steps,), with the flags of each step (`statefactory.trust`)."""

    rewards: np.ndarray
    flags: Flags


class Predictor(ABC, Generic[M]):
    """The predictor f(goal, observations, actions) of Eq. 2, as a recurrence over observations.

    Memories are immutable. So a planner can store them, return to an earlier state, advance it along several actions
    and compare the scores, including that of s_0 (Eq. 15).
    """

    @abstractmethod
    def start(self, goal: str, observation: str = "") -> M:
        """The memory before any action. observation: that of s_0; "" if unknown."""

    @abstractmethod
    def advance(self, memory: M, action: str, observation: str) -> M:
        """The memory after an action and the resulting observation."""

    @abstractmethod
    def score(self, memory: M) -> float:
        """The predicted reward: how much of the goal is reached, in [0, 1]."""

    def scores(self, memories: Sequence[M]) -> np.ndarray:
        """The scores of several memories, shape (memories,). Override it where a batch is faster."""
        return np.array([self.score(memory) for memory in memories], dtype=float)

    def follow(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> list[M]:
        """The memories along a trajectory: one for s_0, then one per step.

        observations: the result of each action. first: the observation of s_0.
        Raises ValueError if actions and observations differ in number, and what `start` and `advance` raise.
        """
        if len(actions) != len(observations):
            raise ValueError(f"{len(actions)} actions with {len(observations)} observations: each action needs one")
        memories = [self.start(goal, first)]
        for action, observation in zip(actions, observations, strict=True):
            memories.append(self.advance(memories[-1], action, observation))
        return memories

    def flags(self, memories: Sequence[M]) -> Flags:
        """Flags of each memory: why its score may mean nothing (`statefactory.trust`). By default none."""
        return (trust.NONE,) * len(memories)

    def rated(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> Rated:
        """Rewards and flags of a trajectory's steps, without s_0. Raises as `follow`."""
        memories = self.follow(goal, actions, observations, first)[1:]
        rewards = self.scores(memories)
        return Rated(rewards, trust.with_constant(self.flags(memories), rewards))

    def predict(self, goal: str, actions: Sequence[str], observations: Sequence[str], first: str = "") -> np.ndarray:
        """Rewards of a trajectory, shape (steps,), in [0, 1]. Warns `UntrustedReward` of flags. Raises as `follow`."""
        rewards, flags = self.rated(goal, actions, observations, first)
        trust.warn(flags, self)
        return rewards

    def predict_pair(self, pair: Pair) -> np.ndarray:
        """Rewards at all steps of a pair, shape (steps,): the positive's, then the negatives'. Raises as `follow`."""
        # No warning: a negative that stays at 0 is right, and tables report the flags.
        rows = pair.rows
        return np.concatenate([self.rated(row.goal_description, row.actions, row.observations).rewards for row in rows])

    def result(self, memories: Sequence[M]) -> dict[str, Any]:
        """JSON values that a run stores for a trajectory: rewards, number of malformed model answers, and any flags."""
        rewards = self.scores(memories)  # before the flags: which texts an embedder cuts is known after embedding
        flags = [sorted(step) for step in self.flags(memories)]
        return {"rewards": rewards.tolist(), "malformed": 0} | ({"flags": flags} if any(flags) else {})


@dataclass(frozen=True, slots=True)
class Path:
    """A goal and the steps so far, real or imagined. first: the observation before any action."""

    goal: str
    first: str = ""
    steps: tuple[Step, ...] = ()

    def then(self, action: str, observation: str) -> Path:
        """The path extended by one step."""
        return replace(self, steps=(*self.steps, (action, observation)))

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(action for action, _ in self.steps)

    @property
    def observation(self) -> str:
        """The newest observation."""
        return self.steps[-1][1] if self.steps else self.first


class PathPredictor(Predictor[Path]):
    """A predictor whose memory is the full history of actions and observations."""

    def start(self, goal: str, observation: str = "") -> Path:
        return Path(goal, observation)

    def advance(self, memory: Path, action: str, observation: str) -> Path:
        return memory.then(action, observation)


class PredictorSettings(NamedTuple):
    """Settings of an experiment that a predictor may use. instruction: the world's, or "". Others: see `Extractor`."""

    instruction: str = ""
    values: Values = "sentences"
    reasoning: Reasoning = "short"


Make = Callable[["Backbone", PredictorSettings], Predictor[Any]]


def fixed(predictor: Predictor[Any]) -> Make:
    """A `Make` for a predictor without backbone and settings. Picklable if the predictor is."""
    return partial(_itself, predictor)


def _itself(predictor: Predictor[Any], backbone: Backbone, settings: PredictorSettings) -> Predictor[Any]:
    return predictor


@dataclass(frozen=True)
class Method:
    """A predictor as experiments run it.

    title: its name in tables. make: (backbone, settings) -> predictor. operators: those of its prompts, so that each
    can have its own engine; empty if it asks no model. version: part of a run's identity.
    """

    title: str
    make: Make
    operators: tuple[str, ...] = ()
    version: str = "1"


METHODS: dict[str, Method] = {}


def operators_of(method: str) -> tuple[str, ...]:
    """The operators of a method. Raises ValueError for an unknown method."""
    if method not in METHODS:
        raise ValueError(f"No method {method!r}; choose from {', '.join(METHODS)}")
    return METHODS[method].operators


def register(name: str, title: str, operators: tuple[str, ...] = (), version: str = "1") -> Callable[[Make], Make]:
    """Decorator: make a predictor available to experiments under a name; replaces a method of the same name.

    It decorates a class or function that takes a backbone and a `PredictorSettings`. Change `version` when the code
    changes; otherwise stored results of older code are shown. The other arguments: see `Method`.
    """

    def registered(make: Make) -> Make:
        METHODS[name] = Method(title, make, operators, version)
        return make

    return registered
