"""ALFWorld: household tasks in text, "put a hot potato in diningtable." (Shridhar et al., ICLR 2021).

`load` gives the world, with the 4,027 released games or with synthetic ones on the same floor plans. The released
walkthroughs and a planner for the synthetic games are in `worlds.alfworld.expert`, which nothing that an agent is given
imports.
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
    """The world of ALFWorld's games; starting it is left to the first `reset`.

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
    """Of the released games of unseen rooms there are 134, which StateFactory's Table 2 fits: its shares are 46 and 75
    of 134.
    """

    benchmark: ClassVar[str] = "AlfWorld"
    package: ClassVar[str] = "alfworld"
    reported: ClassVar[str] = "valid_unseen"

    def expert(self, task: str) -> Expert:
        """Plans again before each action, in a game of its own; without a plan it follows the known solution."""
        from worlds.alfworld.expert import next_command

        given, known = self.named(task), along(self.solution(task))
        own = of_thread(self._key("the expert's"), lambda: Pool(self.opened, given, size=1))

        def expert(actions: Sequence[str]) -> str:
            if own.task is not given:  # another episode of this thread was played since the last turn
                own.on(given)
            return next_command(own.world(actions), given) or known(actions)

        return expert
