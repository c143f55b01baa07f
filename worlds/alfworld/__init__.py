"""ALFWorld: household tasks in text, "put a hot potato in diningtable." (Shridhar et al., ICLR 2021).

`load` gives the world, with the 4,027 released games or with synthetic ones on the same floor plans. The released
walkthroughs and a planner for the synthetic games are in `worlds.alfworld.expert`, which nothing that an agent is given
imports.
"""

from __future__ import annotations

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from worlds.alfworld.official import OfficialGames, present
from worlds.alfworld.synthetic import SyntheticGames
from worlds.alfworld.tasks import HouseholdTask
from worlds.alfworld.world import AlfWorld

__all__ = ["AlfWorld", "HouseholdTask", "load"]


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
