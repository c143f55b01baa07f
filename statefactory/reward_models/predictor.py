"""Learned reward models as predictors, with controls that test whether they read the goal.

The goal-blind control gets an empty goal, the goal-swapped one another task's goal. If the distance to the truth does
not change, the model ignores the goal; it may merely distinguish the expert from the random policy.
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

OWN, NO_GOAL, ANOTHER = "own goal", "no goal", "another goal"  # the goal in a model's input


class PrefixPredictor(PathPredictor):
    """A predictor that scores many prefixes of a trajectory at once. affine: maps its raw scores to [0, 1].

    The input format has no field for the observation of s_0.
    """

    affine = Affine()

    @abstractmethod
    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        """Raw scores of the prefixes with these numbers of steps, shape (lengths,), without a unit."""

    def score(self, memory: Path) -> float:
        """The reward in [0, 1]."""
        return float(self.scores([memory])[0])

    def scores(self, memories: Sequence[Path]) -> np.ndarray:
        """Rewards in [0, 1], shape (memories,). Memories that are prefixes of one trajectory are scored together."""
        scores = np.zeros(len(memories))
        remaining = sorted(range(len(memories)), key=lambda number: -len(memories[number].steps))
        while remaining:
            goal, steps = memories[remaining[0]].goal, memories[remaining[0]].steps
            lengths = {n: len(memories[n].steps) for n in remaining
                    if memories[n].goal == goal and steps[: len(memories[n].steps)] == memories[n].steps}  # fmt: skip
            scores[[*lengths]] = self.raw(goal, steps, [*lengths.values()])
            remaining = [number for number in remaining if number not in lengths]
        return self.affine(scores)


class LearnedReward(PrefixPredictor):
    """A trained adapter on its backbone; the model is loaded at the first score.

    Raises UnusableAdapter, and MissingBackbone at the first score.
    """

    def __init__(self, adapter: Adapter | pathlib.Path) -> None:
        self.adapter = adapters.read(adapter) if isinstance(adapter, pathlib.Path) else adapter
        self.affine = self.adapter.affine

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        input_goal = "" if self.adapter.recipe.goals == "blind" else goal
        return adapters.scorer(self.adapter.folder).prefixes(input_goal, steps, lengths)


class Critic(PrefixPredictor):
    """A sequence classifier with one output that others have trained, by folder or hub address.

    It reads the same flattened text. A "-" before the name negates an output that is a cost, as that of VLWM's critic
    (Chen et al. 2025). Outputs from -20 to 20 are mapped to [0, 1], a range that is fitted to no data.
    Raises MissingBackbone at the first score.
    """

    affine = Affine(1 / 40, 0.5)

    def __init__(self, name: str) -> None:
        self.name = name

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        sign = -1.0 if self.name.startswith("-") else 1.0
        return sign * adapters.classifier(self.name.removeprefix("-")).prefixes(goal, steps, lengths)


class OtherGoal(PrefixPredictor):
    """A predictor `of` whose input has another goal. shown: maps a goal to its replacement."""

    def __init__(self, of: PrefixPredictor, shown: Callable[[str], str]) -> None:
        self.of, self.affine, self.shown = of, of.affine, shown

    def raw(self, goal: str, steps: Sequence[Step], lengths: Sequence[int]) -> np.ndarray:
        return self.of.raw(self.shown(goal), steps, lengths)


def with_controls(predictor: PrefixPredictor, goals: Sequence[str]) -> dict[str, PrefixPredictor]:
    """The predictor with its own goal, without a goal, and with another task's goal. A goal's replacement is fixed.

    goals: those of all tasks. With another task's goal, `raw` raises ValueError for a goal that is not among them or is
    the only one.
    """
    replacements = other_goals(goals)

    def another(goal: str) -> str:
        if goal not in replacements:
            raise ValueError(f"no other goal is known for {goal[:80]!r}; give the goals of all tasks, at least two")
        return replacements[goal]

    return {OWN: predictor, NO_GOAL: OtherGoal(predictor, lambda goal: ""), ANOTHER: OtherGoal(predictor, another)}


def register_adapters(names: Sequence[str], folder: pathlib.Path = SHIPPED) -> list[str]:
    """Register adapters of a folder for experiments; returns their methods' names, "reward_model_<name>".

    Raises UnusableAdapter for a missing adapter, listing the existing ones.
    """
    methods = []
    for name in names:
        adapter = adapters.read(folder / name)
        methods.append(f"reward_model_{name}")
        # The hash of its training pairs: an adapter trained on other pairs makes another run.
        version = adapter.card["rows"][:16]
        register(methods[-1], f"Reward model, {name}", version=version)(fixed(LearnedReward(adapter)))
    return methods


def register_critics(names: Sequence[str]) -> list[str]:
    """Register critics for experiments (see `Critic`); returns their methods' names, "critic_<name>"."""
    methods = []
    for name in names:
        title = pathlib.Path(name).name if pathlib.Path(name).is_dir() else name
        methods.append(f"critic_{name.strip('/').replace('/', '.')}")  # a method's name is part of its episodes' names
        register(methods[-1], f"Critic, {title}")(fixed(Critic(name)))
    return methods
