"""Learned reward models as predictors, with the controls that say what they read.

A goal-blind control is shown an empty goal, a goal-swapped one another task's. Where the distance to the truth stays as
it is, the model does not read the goal: it may only tell expert from random play.
"""

from __future__ import annotations

import pathlib
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from statefactory.predictors import Path, PathPredictor, Step, fixed, register
from statefactory.reward_models import adapters
from statefactory.reward_models.adapters import SHIPPED, Adapter
from statefactory.reward_models.scoring import Affine
from statefactory.reward_models.training import other_goals

OWN, NO_GOAL, ANOTHER = "own goal", "no goal", "another goal"  # what a model is shown


class PrefixPredictor(PathPredictor):
    """A predictor that scores many prefixes of a trajectory at once. affine: brings its scores to [0, 1].

    The format has no place for s_0's observation.
    """

    affine = Affine()

    @abstractmethod
    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        """Scores after so many steps each, shape (lengths,), in no unit of their own."""

    def score(self, memory: Path) -> float:
        """The reward in [0, 1]."""
        return float(self.scores([memory])[0])

    def scores(self, memories: Sequence[Path]) -> np.ndarray:
        """Rewards in [0, 1], shape (memories,); memories of one trajectory share the work."""
        scores = np.zeros(len(memories))
        left = sorted(range(len(memories)), key=lambda number: -len(memories[number].steps))
        while left:
            goal, steps = memories[left[0]].goal, memories[left[0]].steps
            here = {n: len(memories[n].steps) for n in left
                    if memories[n].goal == goal and steps[: len(memories[n].steps)] == memories[n].steps}  # fmt: skip
            scores[[*here]] = self.raw(goal, steps, [*here.values()])
            left = [number for number in left if number not in here]
        return self.affine(scores)


class LearnedReward(PrefixPredictor):
    """A trained adapter on its backbone; the model is loaded at the first score.

    base: a folder or name in place of the recipe's. Raises UnusableAdapter, and at the first score MissingBackbone.
    """

    def __init__(self, adapter: Adapter | pathlib.Path, base: str = "") -> None:
        self.adapter = adapters.read(adapter) if isinstance(adapter, pathlib.Path) else adapter
        self.affine, self._base = self.adapter.affine, base

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        shown = "" if self.adapter.recipe.goals == "blind" else goal
        return adapters.scorer(self.adapter.folder, self._base).prefixes(shown, steps, lengths)


class Critic(PrefixPredictor):
    """A sequence classifier with one output that others trained: by its folder, or its address on the hub.

    It reads the same flattened text. A "-" before the name is for one whose output is a cost, as VLWM's critic has it
    (Chen et al. 2025). Outputs from -20 to 20 come to [0, 1], with no look at any data. Raises MissingBackbone at the
    first score.
    """

    affine = Affine(1 / 40, 0.5)

    def __init__(self, name: str, max_tokens: int = 4096) -> None:
        self.name, self.max_tokens = name, max_tokens

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        sign = -1.0 if self.name.startswith("-") else 1.0
        return sign * adapters.classifier(self.name.removeprefix("-"), self.max_tokens).prefixes(goal, steps, lengths)


class OtherGoal(PrefixPredictor):
    """Another predictor that is shown another goal. shown: of a goal, what is shown in its place."""

    def __init__(self, of: PrefixPredictor, shown: Callable[[str], str]) -> None:
        self.of, self.affine, self.shown = of, of.affine, shown

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        return self.of.raw(self.shown(goal), steps, lengths)


def with_controls(predictor: PrefixPredictor, goals: Sequence[str], seed: int = 0) -> dict[str, PrefixPredictor]:
    """The predictor with its own goal first, then without one, and with another task's: a goal always gets the same.

    goals: of all tasks. The last raises ValueError for a goal that is not among them, or that is the only one.
    """
    others = other_goals(goals, seed)

    def another(goal: str) -> str:
        if goal not in others:
            raise ValueError(f"no other goal is known for {goal[:80]!r}; give the goals of all tasks, at least two")
        return others[goal]

    return {OWN: predictor, NO_GOAL: OtherGoal(predictor, lambda goal: ""), ANOTHER: OtherGoal(predictor, another)}


def register_adapters(names: Sequence[str], folder: pathlib.Path = SHIPPED) -> list[str]:
    """Make adapters of a folder available to experiments; the methods they are there, "reward_model_<name>".

    Raises UnusableAdapter for one that is not there, naming those that are.
    """
    methods = []
    for name in names:
        adapter = adapters.read(folder / name)
        methods.append(f"reward_model_{name}")
        # The rows' and the recipe's hash: an adapter that is trained anew makes another run.
        version = adapter.card["rows"][:16]
        register(methods[-1], f"Reward model, {name}", version=version)(fixed(LearnedReward(adapter)))
    return methods


def register_critics(names: Sequence[str]) -> list[str]:
    """Make critics of others available to experiments (see `Critic`); the methods they are there, "critic_<name>"."""
    methods = []
    for name in names:
        title = pathlib.Path(name).name if pathlib.Path(name).is_dir() else name
        methods.append(f"critic_{name.strip('/').replace('/', '.')}")  # a method's name is a part of its episodes'
        register(methods[-1], f"Critic, {title}")(fixed(Critic(name)))
    return methods
