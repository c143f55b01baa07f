"""Worlds that stand after some actions, at nodes of a search or in a game: what comes next is played there.

Only what no world stands before is replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.base import Step, World, WorldDied


@dataclass
class ReplayedWorld:
    """A world, and the actions after which it stands. step: the answer to the last of them."""

    world: World
    actions: tuple[str, ...] | None = None
    step: Step = Step("")

    def behind(self, actions: tuple[str, ...]) -> int:
        """How many actions it would have to play to stand after these; more than all of them for a fresh start, and
        still more where it would leave another node for that.
        """
        if self.actions is None:
            return len(actions) + 1
        if self.actions != actions[: len(self.actions)]:
            return len(actions) + 2
        return 0 if self.step.done else len(actions) - len(self.actions)


class Pool:
    """Up to `size` worlds, opened as they are needed, that share a task; nobody else plays in them.

    What they answered at a node is kept, so that only what is new is played.
    open: makes a world. Worlds repeat themselves: the same actions on the same task lead to the same observations
    (tests hold the suite's worlds to it). One that dies is opened again and replayed once; WorldDied of the second
    comes through. resets and steps: what was played so far.
    """

    def __init__(self, open: Callable[[], World], task: Any, size: int = 4) -> None:
        """Raises ValueError for a size below 1."""
        if size < 1:
            raise ValueError(f"size={size}: a pool has at least one world")
        self._open, self.task, self.size = open, task, size
        self._worlds: list[ReplayedWorld] = []  # the one that was used last stands last
        self._answers: dict[tuple[str, ...], Step] = {}
        self.resets = self.steps = 0

    def at(self, actions: Sequence[str]) -> Step:
        """The world's answer to the last of the actions, or to the reset where there is none.

        Past the end of an episode the last answer stands. Raises WorldDied.
        """
        wanted = tuple(actions)
        if wanted not in self._answers:
            self._answers[wanted] = self._stand(wanted).step
        return self._answers[wanted]

    def world(self, actions: Sequence[str]) -> Any:
        """A world that stands after the actions; to be looked at before the next question. Raises WorldDied."""
        return self._stand(tuple(actions)).world

    def valid_actions(self, actions: Sequence[str]) -> tuple[str, ...]:
        """What may be done after the actions, for worlds that can list it; () at the end of an episode."""
        if (step := self.at(actions)).done:
            return ()
        return step.actions or tuple(self.world(actions).valid_actions())

    def on(self, task: Any) -> Pool:
        """Itself with another task, in the same worlds, some of which take seconds to open; the counts go on."""
        self.task, self._answers = task, {}
        for standing in self._worlds:
            standing.actions = None
        return self

    def close(self) -> None:
        """Close all worlds; the next call opens others."""
        for standing in self._worlds:
            standing.world.close()
        self._worlds = []

    def _stand(self, actions: tuple[str, ...]) -> ReplayedWorld:
        here = self._nearest(actions)
        try:
            self._play(here, actions)
        except WorldDied:
            here.world.close()
            here.world, here.actions = self._open(), None
            self._play(here, actions)
        return here

    def _nearest(self, actions: tuple[str, ...]) -> ReplayedWorld:
        """The world with the least to play, last in line; a new one rather than one that would have to start again."""
        nearest = min(self._worlds, key=lambda standing: standing.behind(actions), default=None)
        if nearest is None or (nearest.behind(actions) > len(actions) + 1 and len(self._worlds) < self.size):
            nearest = ReplayedWorld(self._open())
        else:
            # Of those that are equally far the one that was used longest ago, which `min` finds first.
            self._worlds.remove(nearest)
        self._worlds.append(nearest)
        return nearest

    def _play(self, here: ReplayedWorld, actions: tuple[str, ...]) -> None:
        done = here.actions if here.behind(actions) <= len(actions) else None
        here.actions = None  # wherever it stands if this does not come through
        if done is None:
            here.step = here.world.reset(self.task)
            done, self.resets = (), self.resets + 1
        for action in actions[len(done) :]:
            if here.step.done:
                break
            here.step = here.world.step(action)
            done, self.steps = (*done, action), self.steps + 1
        here.actions = done
