"""Worlds that stand at nodes of a search: what lies ahead of one of them is played there, and the rest replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.base import Step, World, WorldDied


@dataclass
class Standing:
    """A world, and the actions after which it stands. step: the answer to the last of them."""

    world: World
    actions: tuple[str, ...] | None = None
    step: Step = Step("")

    def behind(self, actions: tuple[str, ...]) -> int:
        """How many actions it would have to play to stand after these; one more than all of them for a fresh start."""
        if self.actions is None or self.step.done or self.actions != actions[: len(self.actions)]:
            return len(actions) + 1
        return len(actions) - len(self.actions)


class Pool:
    """Up to `size` worlds, opened as they are needed, that share a task; nobody else plays in them.

    open: makes a world. Worlds repeat themselves: the same actions on the same task lead to the same observations
    (tests hold the suite's worlds to it). One that dies is opened again and replayed once; WorldDied of the second
    comes through. resets and steps: what was played so far.
    """

    def __init__(self, open: Callable[[], World], task: Any, size: int = 4) -> None:
        """Raises ValueError for a size below 1."""
        if size < 1:
            raise ValueError(f"size={size}: a pool has at least one world")
        self._open, self.task, self.size = open, task, size
        self._worlds: list[Standing] = []  # the one that was used last stands last
        self.resets = self.steps = 0

    def at(self, actions: Sequence[str]) -> Step:
        """The world's answer to the last of the actions, or to the reset where there is none.

        Past the end of an episode the last answer stands. Raises WorldDied.
        """
        wanted = tuple(actions)
        here = self._nearest(wanted)
        try:
            return self._play(here, wanted)
        except WorldDied:
            here.world.close()
            here.world, here.actions = self._open(), None
            return self._play(here, wanted)

    def valid_actions(self, actions: Sequence[str]) -> tuple[str, ...]:
        """What may be done after the actions, for worlds that can list it; () at the end of an episode."""
        if (step := self.at(actions)).done:
            return ()
        world: Any = self._worlds[-1].world
        return step.actions or tuple(world.valid_actions())

    def close(self) -> None:
        """Close all worlds; the next call opens others."""
        for standing in self._worlds:
            standing.world.close()
        self._worlds = []

    def _nearest(self, actions: tuple[str, ...]) -> Standing:
        """The world with the least to play, last in line; a new one rather than one that would have to start again."""
        nearest = min(self._worlds, key=lambda one: one.behind(actions), default=None)
        if nearest is None or (nearest.behind(actions) > len(actions) and len(self._worlds) < self.size):
            nearest = Standing(self._open())
        else:
            # Of those that are equally far the one that was used longest ago, which `min` finds first.
            self._worlds.remove(nearest)
        self._worlds.append(nearest)
        return nearest

    def _play(self, here: Standing, actions: tuple[str, ...]) -> Step:
        if here.behind(actions) > len(actions):
            here.actions = None  # until the reset has come through
            here.step = here.world.reset(self.task)
            here.actions, self.resets = (), self.resets + 1
        for action in actions[len(here.actions or ()) :]:
            if here.step.done:
                break
            here.step = here.world.step(action)
            here.actions, self.steps = (*(here.actions or ()), action), self.steps + 1
        return here.step
