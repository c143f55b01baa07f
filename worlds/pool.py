"""Pool of worlds for searches and games: gives the state of a task after any sequence of actions.

Worlds keep their state between calls, so that only the actions missing from the nearest state are played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from worlds.base import Step, World, WorldDied


@dataclass
class ReplayedWorld:
    """A world with the actions played in it, None if it needs a reset first. step: the answer to the last action."""

    world: World
    actions: tuple[str, ...] | None = None
    step: Step = Step("")

    def behind(self, actions: tuple[str, ...]) -> int:
        """How many actions this world is away from the state after `actions`; 0 past the end of its episode.

        A world that needs a reset is `len(actions) + 1` away; one whose state would be lost, `len(actions) + 2`.
        """
        if self.actions is None:
            return len(actions) + 1
        if self.actions != actions[: len(self.actions)]:
            return len(actions) + 2
        return 0 if self.step.done else len(actions) - len(self.actions)


class Pool:
    """Up to `size` worlds on one task, opened when needed; nothing else may play in them.

    Answers are cached by action sequence. Worlds have to be deterministic: the same actions on the same task lead to
    the same observations (tests check that of the suite's worlds). A world that dies is opened again and replayed
    once; a second WorldDied is raised.
    open: makes a world. resets, steps: how many were played so far.
    """

    def __init__(self, open: Callable[[], World], task: Any, size: int = 4) -> None:
        """Raises ValueError for a size below 1."""
        if size < 1:
            raise ValueError(f"size={size}: a pool has at least one world")
        self._open, self.task, self.size = open, task, size
        self._worlds: list[ReplayedWorld] = []  # least recently used first
        self._answers: dict[tuple[str, ...], Step] = {}
        self.resets = self.steps = 0

    def at(self, actions: Sequence[str]) -> Step:
        """The world's answer to the last action, or to the reset if there are none.

        Actions after the end of an episode get its last answer. Raises WorldDied.
        """
        key = tuple(actions)
        if key not in self._answers:
            self._answers[key] = self._stand(key).step
        return self._answers[key]

    def world(self, actions: Sequence[str]) -> Any:
        """A world in the state after the actions; the next call may change that. Raises WorldDied."""
        return self._stand(tuple(actions)).world

    def valid_actions(self, actions: Sequence[str]) -> tuple[str, ...]:
        """The valid actions after `actions`, for worlds that can list them; () at the end of an episode."""
        if (step := self.at(actions)).done:
            return ()
        return step.actions or tuple(self.world(actions).valid_actions())

    def on(self, task: Any) -> Pool:
        """Switch to another task; returns the pool. Worlds are reused, as some open slowly; the counts continue."""
        self.task, self._answers = task, {}
        for replayed in self._worlds:
            replayed.actions = None
        return self

    def close(self) -> None:
        """Close all worlds; the next call opens new ones."""
        for replayed in self._worlds:
            replayed.world.close()
        self._worlds = []

    def _stand(self, actions: tuple[str, ...]) -> ReplayedWorld:
        replayed = self._nearest(actions)
        try:
            self._play(replayed, actions)
        except WorldDied:
            replayed.world.close()
            replayed.world, replayed.actions = self._open(), None
            self._play(replayed, actions)
        return replayed

    def _nearest(self, actions: tuple[str, ...]) -> ReplayedWorld:
        """The world with the fewest actions to play, moved to the end of the list.

        While the pool is not full, a new world is opened rather than another state lost.
        """
        nearest = min(self._worlds, key=lambda replayed: replayed.behind(actions), default=None)
        if nearest is None or (nearest.behind(actions) > len(actions) + 1 and len(self._worlds) < self.size):
            nearest = ReplayedWorld(self._open())
        else:
            # Among equally near worlds, `min` finds the least recently used one first.
            self._worlds.remove(nearest)
        self._worlds.append(nearest)
        return nearest

    def _play(self, here: ReplayedWorld, actions: tuple[str, ...]) -> None:
        played = here.actions if here.behind(actions) <= len(actions) else None
        here.actions = None  # unknown if playing fails
        if played is None:
            here.step = here.world.reset(self.task)
            played, self.resets = (), self.resets + 1
        for action in actions[len(played) :]:
            if here.step.done:
                break
            here.step = here.world.step(action)
            played, self.steps = (*played, action), self.steps + 1
        here.actions = played
