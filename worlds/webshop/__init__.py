"""WebShop: find a product that fits an instruction and buy it (Yao et al., NeurIPS 2022), as a text world.

`load` opens the shop: our own engine with the official text pages, over the official small catalogue of 1,000 products
or a synthetic one. The shopper that fulfils goals is in `worlds.webshop.expert`; nothing that an agent is given imports
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from worlds.benchmark import Benchmark, Expert, from_the_beginning
from worlds.webshop.catalogue import Catalogue, Instruction
from worlds.webshop.goals import SPLITS, ShopTask, draw_goals
from worlds.webshop.official import load_catalogue, load_instructions, present
from worlds.webshop.world import WebShop

__all__ = ["SPLITS", "ShopTask", "WebShop", "WebShopInstructions", "load"]

NAME = "webshop"


def load(data: str = "auto", seed: int = 0, list_actions: bool = True) -> WebShop:
    """Open the shop; splits "train" and "test" (100 and 328 tasks if official, 60 and 60 if synthetic).

    data: "auto" (official where present, else synthetic), "official" or "synthetic". seed: of the goals' options and
    price caps, of prices within a range, and of the whole synthetic catalogue. list_actions: whether each step lists
    the valid actions.
    Raises MissingData if official data is asked for and absent.
    """
    folder = official_data() / NAME
    chosen = choose_data(data, present(folder), NAME)
    catalogue, instructions = official_stock(folder) if chosen == "official" else synthetic_stock(seed)
    return WebShop(catalogue, draw_goals(instructions, catalogue, seed), chosen, seed, list_actions)


@lru_cache(maxsize=2)
def official_stock(folder: Path) -> tuple[Catalogue, dict[str, list[Instruction]]]:
    """The official shop's products and instructions; cached, since they and the search index take time to build."""
    return load_catalogue(folder), load_instructions(folder)


@lru_cache(maxsize=4)
def synthetic_stock(seed: int) -> tuple[Catalogue, dict[str, list[Instruction]]]:
    """The products and instructions of a seed's synthetic shop."""
    from worlds.webshop.synthetic import synthetic_catalogue, synthetic_instructions

    catalogue = synthetic_catalogue(seed)
    return catalogue, synthetic_instructions(catalogue, seed)


@dataclass(frozen=True, kw_only=True)
class WebShopInstructions(Benchmark):
    """WebShop's instructions, by default of the split "test"."""

    benchmark: ClassVar[str] = "WebShop"
    package: ClassVar[str] = "webshop"

    def expert(self, task: str) -> Expert:
        """Follows its solution, and after any other action starts again from the search page."""
        return from_the_beginning(self.solution(task), "click[back to search]")
