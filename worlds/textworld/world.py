"""TextWorld games behind the World protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from worlds.base import EpisodeOver, ListingWorld, Step, WorldDied
from worlds.textworld.engine import Emulator, Turn
from worlds.textworld.games import MOST, SPLITS, QuestTask, compiled
from worlds.textworld.synthetic import GAMES, synthetic_quests

SILENCE = "The game says nothing to that."  # for an empty answer, as to "again" without anything to repeat


class TextWorld(ListingWorld):
    """Generated quests, played in this process; a game ends when it is won or lost.

    Step.score is the game's own score over the most it gives: 0 or 1 in lock-and-key quests and treasure hunts, while
    cooking has a point for every ingredient taken or processed, for the meal, and for eating it. Step.facts has both
    numbers, `points` and `most`.
    """

    data = "synthetic"
    splits = SPLITS
    goes_on = False

    def __init__(self, seed: int = 0, list_actions: bool = True, games: Mapping[str, int] = GAMES) -> None:
        """seed: of the quests. list_actions: whether steps list the valid actions. games: how many quests a split has.

        Raises ValueError for an unknown split, and for fewer than 1 or more than MOST quests.
        """
        for split, count in games.items():
            if split not in SPLITS:
                raise ValueError(f"games={dict(games)}: no split {split!r}; there are: {', '.join(SPLITS)}")
            if not 1 <= count <= MOST:
                raise ValueError(f"games={dict(games)}: {split!r} can have 1 to {MOST} quests")
        self.seed, self.list_actions, self.games = seed, list_actions, {**GAMES, **games}
        self._engine: Emulator | None = None
        self._task: QuestTask | None = None
        self._playing = False

    def tasks(self, split: str) -> Sequence[QuestTask]:
        """The quests of "test" or "train". Raises ValueError for another split."""
        if split not in self.splits:
            raise ValueError(f"no split {split!r}; there are: {', '.join(self.splits)}")
        return synthetic_quests(split, self.games[split], self.seed)

    def reset(self, task: QuestTask) -> Step:
        """Start a quest, compiling its game if needed. The text is the objective and the first room."""
        # The same quest again is restarted in the running emulator, without opening its file.
        if self._engine is None or task != self._task:
            self.close()
            self._engine, self._task = open_game(task), task
        self._playing = True
        return self._answer(self._engine.reset)

    def step(self, action: str) -> Step:
        """Send one command, in the game's language. Raises EpisodeOver after the end and before any reset."""
        if self._engine is None or not self._playing:
            raise EpisodeOver("this game is over or was not begun; call reset(task)")
        engine = self._engine
        return self._answer(lambda: engine.send(action))

    def valid_actions(self) -> tuple[str, ...]:
        """The valid commands, sorted; they include looking, the inventory and examining. Empty after the end.

        Raises EpisodeOver before any reset.
        """
        if self._engine is None:
            raise EpisodeOver("no game was begun; call reset(task)")
        return self._engine.commands() if self._playing else ()

    def close(self) -> None:
        """Free the emulator; a later reset starts another."""
        if self._engine is not None:
            self._engine.close()
        self._engine, self._task, self._playing = None, None, False

    def _answer(self, ask: Callable[[], Turn]) -> Step:
        try:
            turn = ask()
        except Exception as error:  # whatever the failure is, a fresh emulator may not have it
            task = self._task.id if self._task else ""
            self.close()
            raise WorldDied(f"{task}: TextWorld's emulator failed: {type(error).__name__}: {error}") from error
        self._playing = not (turn.won or turn.lost)
        actions = self.valid_actions() if self.list_actions else ()
        facts = {"points": turn.points, "most": turn.most}
        # `most` is never 0: each of the three kinds gives at least the point for winning.
        return Step(turn.text or SILENCE, turn.points / turn.most, not self._playing, actions, facts)


def open_game(task: QuestTask) -> Emulator:
    """A fresh engine for a quest. Tries twice, since the cache may be emptied between compiling and opening."""
    try:
        return Emulator(compiled(task))
    except FileNotFoundError:
        return Emulator(compiled(task))
