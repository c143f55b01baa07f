"""Playing actions in a world, and the random policy over its valid actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from worlds.base import ListingWorld


@dataclass(frozen=True, slots=True)
class Move:
    """An action, what the world said to it, and the world's score then. over: no step is possible after it."""

    action: str
    observation: str
    score: float
    over: bool

    @property
    def reaches_goal(self) -> bool:
        return self.score >= 1.0


def play(world: ListingWorld, action: str) -> Move:
    """One step."""
    step = world.step(action)
    goes_on = world.goes_on and step.score >= 1.0
    return Move(action, step.text, step.score, step.done and not goes_on)


def random_walk(world: ListingWorld, random: Random, steps: int) -> Iterator[Move]:
    """Uniform choices among the valid actions of each state (A.1: the full set); fewer steps if the episode ends."""
    for _ in range(steps):
        actions = world.valid_actions()
        if not actions:
            return
        move = play(world, random.choice(actions))
        yield move
        if move.over:
            return


def shares_segment(actions: Sequence[str], expert: Sequence[str], length: int) -> bool:
    """Whether `length` consecutive actions of the expert stand one after the other among the actions.

    For an expert of fewer steps, whether all of its steps do.
    """
    # Else no walk would ever share a segment with a shorter plan.
    length = min(length, len(expert))
    return bool(_segments(actions, length) & _segments(expert, length))


def _segments(actions: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(actions[start : start + length]) for start in range(len(actions) - length + 1)}
