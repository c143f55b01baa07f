"""TextWorld: generated text adventures (Côté et al., 2018), here quests like those of StateFactory's Tables 30-33.

`load` opens the world; its quests are generated and compiled on demand with the package's own Inform 7, and
`worlds.textworld.games.prepare` compiles many up front. The solutions are in `worlds.textworld.expert`; nothing that an
agent is given imports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lab.machine.datasets import choose_data
from lab.machine.faults import MissingData
from worlds.benchmark import Benchmark
from worlds.textworld.games import KINDS, SPLITS, QuestTask
from worlds.textworld.synthetic import GAMES
from worlds.textworld.world import TextWorld

__all__ = ["GAMES", "KINDS", "SPLITS", "QuestTask", "TextWorld", "TextWorldQuests", "load"]


def load(data: str = "auto", seed: int = 0, list_actions: bool = True, games: Mapping[str, int] = GAMES) -> TextWorld:
    """Open the world of generated quests. seed: of the quests; the other options are those of `TextWorld`.

    data: "auto" or "synthetic". Raises MissingData for "official": the paper's trajectories are released, its
    150 game files are not.
    """
    if data == "official":
        raise MissingData(
            "TextWorld's game files are not released, only trajectories; data='synthetic' generates such quests"
        )
    choose_data(data, False, "textworld")
    return TextWorld(seed, list_actions, games)


@dataclass(frozen=True, kw_only=True)
class TextWorldQuests(Benchmark):
    """TextWorld's quests. quests: how many a split has; with the same seed they are the first of RewardPrediction's."""

    quests: int = 30

    benchmark: ClassVar[str] = "TextWorld"
    package: ClassVar[str] = "textworld"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "quests")

    def options(self) -> dict[str, Any]:
        return {"games": dict.fromkeys(("test", "train"), self.quests)}
