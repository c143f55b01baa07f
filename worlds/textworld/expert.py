"""TextWorld's expert, never given to an agent: the commands that win a quest."""

from __future__ import annotations

from collections.abc import Sequence

from worlds.base import NoSolution
from worlds.textworld.engine import start
from worlds.textworld.games import QuestTask, compiled, description
from worlds.textworld.world import TextWorld, open_game


class Expert:
    """Solves quests by the walkthrough that TextWorld stores with a game, or by its plan from the first state.

    world: any world of these quests. It is not changed: solutions are tested in a separate engine.
    """

    def __init__(self, world: TextWorld) -> None:
        self.world = world
        self._known: dict[str, tuple[str, ...]] = {}

    def actions(self, task: QuestTask) -> tuple[str, ...]:
        """Commands that win the quest, as tested in the game. Raises NoSolution if neither source wins."""
        if task.id not in self._known:
            self._known[task.id] = solution(task)
        return self._known[task.id]


def solution(task: QuestTask) -> tuple[str, ...]:
    """The stored walkthrough if it wins, else the plan; see `Expert.actions`."""
    for source in (stored, planned):
        actions = source(task)
        # Tested in the emulator: a plan on TextWorld's description of a game need not win the compiled game.
        if actions and wins(task, actions):
            return actions
    raise NoSolution(f"{task.id}: neither the stored walkthrough nor TextWorld's plan wins this game")


def stored(task: QuestTask) -> tuple[str, ...]:
    """The walkthrough that was generated with the game; () if there is none."""
    return tuple(description(task)["metadata"].get("walkthrough") or ())


def planned(task: QuestTask) -> tuple[str, ...]:
    """TextWorld's own plan from the first state; () if there is none."""
    env = start(compiled(task), "policy_commands")
    try:
        return tuple(env.reset()["policy_commands"] or ())
    finally:
        env.close()


def wins(task: QuestTask, actions: Sequence[str]) -> bool:
    """Whether the actions win the quest with all its points, and no action before the last one ends the game."""
    engine = open_game(task)
    try:
        turn = engine.reset()
        for action in actions:
            if turn.won or turn.lost:
                return False
            turn = engine.send(action)
        return turn.won and turn.points == turn.most
    finally:
        engine.close()
