"""TextWorld as a benchmark: quests from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from worlds.benchmark import Benchmark


@dataclass(frozen=True, kw_only=True)
class TextWorldQuests(Benchmark):
    """quests: how many there are to choose from; RewardPrediction's first ones, with the same seed."""

    quests: int = 30

    benchmark: ClassVar[str] = "TextWorld"
    package: ClassVar[str] = "textworld"
    selection: ClassVar[tuple[str, ...]] = (*Benchmark.selection, "quests")

    def options(self) -> dict[str, Any]:
        return {"games": dict.fromkeys(("test", "train"), self.quests)}
