"""Negative trajectories: a random policy with rejection of what resembles the expert (Shen et al. 2026, A.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from statefactory.benchmark.labels import Recipe
from statefactory.benchmark.walks import Move, play, shares_segment
from worlds.base import ListingWorld


class NoNegative(RuntimeError):
    """No random trajectory of a task passed the filter; the message names it and counts the reasons."""


@dataclass(frozen=True, slots=True)
class Negative:
    """What was played. redraws: random trajectories rejected before it; taken_back: steps taken back in it."""

    initial: str
    moves: tuple[Move, ...]
    redraws: int
    taken_back: int


def play_negative(world: ListingWorld, task: Any, expert: Sequence[str], steps: int, recipe: Recipe) -> Negative:
    """The first random trajectory of so many steps that neither reaches the goal nor repeats a segment of the expert.

    steps: as many as the positive has, as in 8 of the 9 printed pairs (the ninth has 5 beside 8). A step that ends the
    episode in failure (ScienceWorld's wrong focus, WebShop's purchase, a lost TextWorld game) is taken back and another
    one drawn. The paper does not say so; but ending there would leave half of ScienceWorld's negatives short, and the
    monotonic baseline at .468 instead of the paper's .508.
    Raises NoNegative after `recipe.negatives` trajectories.
    """
    faults: Counter[str] = Counter()
    for attempt in range(recipe.negatives):
        walk = _Walk(world, task, recipe.random(task.id, "negative", attempt))
        fault = ""
        while len(walk.moves) < steps and not fault:
            fault = fault_of(walk.moves, expert, recipe.segment) if walk.go() else "ended early"
        if not fault:
            return Negative(walk.initial, tuple(walk.moves), attempt, walk.taken_back)
        faults[fault] += 1
    reasons = ", ".join(f"{times} {fault}" for fault, times in sorted(faults.items()))
    raise NoNegative(f"none of {recipe.negatives} random trajectories of {task.id} is a negative: {reasons}")


class _Walk:
    """A random walk from the start of a task that goes on after failures, by taking them back."""

    def __init__(self, world: ListingWorld, task: Any, random: Random) -> None:
        self._world, self._task, self._random = world, task, random
        self.initial = world.reset(task).text
        self.moves: list[Move] = []
        self.taken_back = 0

    def go(self) -> bool:
        """One step, uniform among the valid actions (A.1: the full set) that do not fail. False if there is none."""
        actions = list(self._world.valid_actions())
        # Draw without replacement: what failed is not drawn a second time, and the others stay equally likely.
        while actions:
            move = play(self._world, actions.pop(self._random.randrange(len(actions))))
            if not move.over or move.reaches_goal:
                self.moves.append(move)
                return True
            self.taken_back += 1
            # Worlds have no undo: the walk is played again from its start.
            self._world.reset(self._task)
            for earlier in self.moves:
                self._world.step(earlier.action)
        return False


def fault_of(moves: Sequence[Move], expert: Sequence[str], segment: int) -> str:
    """Why a random trajectory is no negative, or "", looking at its last step: the others were looked at before.

    The paper discards any that matches a sub-segment of the expert. Its own Table 25 shares its first step with
    Table 24, so one step cannot be a segment; how many are is not said, and `segment` is our choice.
    """
    if moves[-1].reaches_goal:
        return "reached the goal"
    # Only the last `segment` actions: any earlier segment would have ended the walk when it was completed.
    if shares_segment([move.action for move in moves[-segment:]], expert, segment):
        return "shared a segment with the expert"
    return ""
