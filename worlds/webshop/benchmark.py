"""WebShop as a benchmark: instructions, and the reward of what is bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from worlds.benchmark import Benchmark, Expert, from_the_beginning


@dataclass(frozen=True, kw_only=True)
class WebShopInstructions(Benchmark):
    """Instructions of the split "test"."""

    benchmark: ClassVar[str] = "WebShop"
    package: ClassVar[str] = "webshop"

    def expert(self, task: str) -> Expert:
        """It begins again where it was led astray: a page is one of its way only in that order."""
        return from_the_beginning(self.solution(task), "click[back to search]")
