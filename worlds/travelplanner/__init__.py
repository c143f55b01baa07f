"""TravelPlanner: plan a trip within a closed world of flights, rooms, restaurants and sights (Xie et al., ICML 2024).

`load` gives the world, with the listings that its tools search; `evaluate` judges a plan as the official program does,
and `strict_faults` as an honest reader would; `rates` sums verdicts up. The annotated plans and the exact search are in
`worlds.travelplanner.expert`, which nothing that an agent is given imports.
"""

from __future__ import annotations

from lab.machine.datasets import choose_data
from lab.machine.paths import official_data
from worlds.frozen import FOLDER
from worlds.travelplanner.evaluator import PlanVerdict, evaluate
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.rates import Rates, rates
from worlds.travelplanner.strict import strict_faults
from worlds.travelplanner.tasks import MADE, SPLITS, TripTask, load_tasks
from worlds.travelplanner.world import TravelPlanner

__all__ = [
    "Listings",
    "PlanVerdict",
    "Rates",
    "TravelPlanner",
    "TripTask",
    "evaluate",
    "load",
    "rates",
    "strict_faults",
]


def load(data: str = "auto") -> TravelPlanner:
    """The world with the listings and the tasks of both splits, "train" and "validation".

    data: "auto" (official where present, else synthetic), "official" or "synthetic": invented listings of twenty cities
    in the official files' format, with 15 and 45 queries. Raises MissingData if official data is asked for and absent.
    """
    folder = official_data()
    present = (folder / "travelplanner" / "queries_validation.jsonl.gz").exists()
    chosen = choose_data(data, present, "travelplanner")
    folder, prefix = (folder, "") if chosen == "official" else (FOLDER, MADE)
    tasks = {split: load_tasks(split, folder, prefix) for split in SPLITS}
    return TravelPlanner(Listings.load(folder), tasks, chosen)
