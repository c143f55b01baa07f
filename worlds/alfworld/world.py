"""ALFWorld as a world: household tasks in text, played by TextWorld's PDDL engine (Shridhar et al., ICLR 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from worlds.alfworld.official import OfficialGames
from worlds.alfworld.package_files import named, package
from worlds.alfworld.synthetic import SyntheticGames
from worlds.alfworld.tasks import HouseholdTask, Rules
from worlds.base import EpisodeOver, ListingWorld, Step

Games = OfficialGames | SyntheticGames


class AlfWorld(ListingWorld):
    """A world of household games.

    The score is 1.0 and `done` is true from the step at which the goal first holds. As in the engine, the game goes on:
    more steps are answered. They can undo the goal, and the engine's own "won" is then false again; here an episode
    that was won stays won.
    """

    goes_on = True

    def __init__(self, games: Games, list_actions: bool = True) -> None:
        """list_actions: whether steps list the valid actions."""
        self.games = games
        self.data, self.splits = games.data, games.splits
        self._list_actions = list_actions
        self._engine: Any = None
        self._loaded: HouseholdTask | None = None
        self._valid: tuple[str, ...] | None = None
        self._won = False

    def tasks(self, split: str) -> Sequence[HouseholdTask]:
        """The games of a split in a stable order. Raises ValueError naming the splits for an unknown one."""
        if split not in self.splits:
            raise ValueError(f"no split {split!r} in ALFWorld's {self.data} games; there are: {', '.join(self.splits)}")
        return self.games.tasks(split)

    def reset(self, task: HouseholdTask) -> Step:
        """Start a game. Its text names the room's furniture and the task."""
        if self._engine is None:
            self._engine = self._started()
        self._valid = None  # until the game has started
        if task != self._loaded:  # a search resets the same game thousands of times
            self._loaded = None
            self._engine.load(self._game(task))
            self._loaded = task
        self._won = False
        return self._step(self._engine.reset())

    def step(self, action: str) -> Step:
        """Take an action; the answer to an invalid one is "Nothing happens.". Raises EpisodeOver before any reset."""
        if self._valid is None:
            raise EpisodeOver("no game of ALFWorld was started; call reset(task) first")
        state, _, _ = self._engine.step(action)
        return self._step(state)

    def valid_actions(self) -> tuple[str, ...]:
        """The commands that do something now, sorted. Raises EpisodeOver before any reset."""
        if self._valid is None:
            raise EpisodeOver("no game of ALFWorld was started; call reset(task) first")
        return self._valid

    def close(self) -> None:
        """Release the engine; a later reset takes another."""
        if self._engine is not None:
            self._engine.close()
        self._engine = self._loaded = self._valid = None

    def _started(self) -> Any:
        """An engine that uses ALFWorld's names for things."""
        return named(package("worlds.alfworld.engine").FastPddlEnv())

    def _game(self, task: HouseholdTask) -> dict[str, Any]:
        return fast_game(self.games.rules(), task)

    def _step(self, state: Any) -> Step:
        self._valid = tuple(state["admissible_commands"])
        # The engine's "won" follows the state and goes back when a later step undoes the goal.
        self._won = self._won or bool(state["won"])
        return Step(state["feedback"], float(self._won), self._won, self._valid if self._list_actions else ())


def fast_game(rules: Rules, task: HouseholdTask) -> dict[str, Any]:
    return {"pddl_domain": rules.domain, "grammar": rules.grammar, "task": task.goal, "pddl_problem": task.problem}
