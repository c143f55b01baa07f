"""TextWorld: generated text adventures (Côté et al., 2018), here quests like those of StateFactory's Tables 30-33.

`load` gives the world; its quests are generated and compiled on demand with the package's own Inform 7, and
`worlds.textworld.compiled.prepare` compiles many up front. How quests are won is in `worlds.textworld.expert`, which
nothing that an agent is given imports.
"""

from __future__ import annotations

from collections.abc import Mapping

from lab.machine.datasets import choose_data
from lab.machine.faults import MissingData
from worlds.textworld.synthetic import GAMES
from worlds.textworld.tasks import KINDS, SPLITS, QuestTask
from worlds.textworld.world import TextWorld

__all__ = ["GAMES", "KINDS", "SPLITS", "QuestTask", "TextWorld", "load"]


def load(data: str = "auto", seed: int = 0, list_actions: bool = True, games: Mapping[str, int] = GAMES) -> TextWorld:
    """The world of generated quests. seed: of the quests; the other options are those of `TextWorld`.

    data: "auto" or "synthetic". Raises MissingData for "official": the paper's trajectories are released, its
    150 game files are not.
    """
    if data == "official":
        raise MissingData(
            "TextWorld's game files are not released, only trajectories; data='synthetic' generates such quests"
        )
    choose_data(data, False, "textworld")
    return TextWorld(seed, list_actions, games)
