"""ALFWorld: household tasks in text, "put a hot potato in diningtable." (Shridhar et al., ICLR 2021).

`load` opens the world with the 4,027 released games, or with synthetic ones on the same floor plans. The solutions
(released walkthroughs, plans for synthetic games) are in `worlds.alfworld.expert`; nothing that an agent is given
imports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from worlds.alfworld.official import OfficialGames, present
from worlds.alfworld.synthetic import SyntheticGames
from worlds.alfworld.tasks import HouseholdTask
from worlds.alfworld.world import AlfWorld
from worlds.benchmark import Benchmark, Expert, along, of_thread
from worlds.pool import Pool

__all__ = ["AlfWorld", "AlfWorldGames", "HouseholdTask", "load"]


def load(data: str = "auto", seed: int = 0, list_actions: bool = True) -> AlfWorld:
    """Open the world of ALFWorld's games; its engine starts at the first `reset`.

    data: "auto" (official where present, else synthetic), "official" or "synthetic"; seed: of the synthetic games only.
    list_actions: whether each step lists the valid actions. Raises MissingData if official data is asked for and
    absent.
    """
    folder = official_data() / "alfworld"
    chosen = choose_data(data, present(folder), "alfworld")
    games = OfficialGames(folder) if chosen == "official" else SyntheticGames(seed)
    return AlfWorld(games, list_actions)


@dataclass(frozen=True, kw_only=True)
class AlfWorldGames(Benchmark):
    """ALFWorld's games, by default the 134 released ones in unseen rooms.

    StateFactory's Table 2 fits this number: its shares are 46 and 75 of 134.
    """

    benchmark: ClassVar[str] = "AlfWorld"
    package: ClassVar[str] = "alfworld"
    reported: ClassVar[str] = "valid_unseen"

    def expert(self, task: str) -> Expert:
        """Replans before each action, in its own copy of the game; without a plan it follows the known solution."""
        from worlds.alfworld.expert import next_command

        game, follow_solution = self.named(task), along(self.solution(task))
        pool = of_thread(self._key("the expert's"), lambda: Pool(self.opened, game, size=1))

        def expert(actions: Sequence[str]) -> str:
            if pool.task is not game:  # another episode of this thread was played since the last turn
                pool.on(game)
            return next_command(pool.world(actions), game) or follow_solution(actions)

        return expert
