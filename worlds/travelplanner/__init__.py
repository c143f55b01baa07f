"""TravelPlanner: plan a trip within a closed world of flights, rooms, restaurants and sights (Xie et al., ICML 2024).

`load` gives a sandbox to search and the tasks; `evaluate` judges a plan as the official program does, and
`strict_faults` as an honest reader would; `rates` sums verdicts up. The annotated plans and the exact search are in
`worlds.travelplanner.expert`, which nothing that an agent is given imports.
"""

from __future__ import annotations

from typing import NamedTuple

from lab.machine.paths import choose_data, official_data
from worlds.travelplanner.evaluator import Verdict, evaluate
from worlds.travelplanner.listings import Sandbox
from worlds.travelplanner.rates import Rates, rates
from worlds.travelplanner.strict import strict_faults
from worlds.travelplanner.tasks import SPLITS, TripTask, load_tasks

__all__ = ["Loaded", "Rates", "Sandbox", "TripTask", "Verdict", "evaluate", "load", "rates", "strict_faults"]


class Loaded(NamedTuple):
    """data: "official" or "made", whichever it turned out to be; tasks: by split, in the official order."""

    sandbox: Sandbox
    tasks: dict[str, list[TripTask]]
    data: str


def load(data: str = "auto", seed: int = 0) -> Loaded:
    """The sandbox and the tasks of both splits, "train" and "validation".

    data: "auto" (official where present, else made), "official" or "made"; seed: of the made data only.
    Raises MissingData if official data is asked for and absent.
    """
    folder = official_data()
    present = (folder / "travelplanner" / "queries_validation.jsonl.gz").exists()
    chosen = choose_data(data, present, "travelplanner")
    if chosen == "official":
        return Loaded(Sandbox.load(folder), {split: load_tasks(split, folder) for split in SPLITS}, chosen)
    from worlds.travelplanner.made import made_sandbox, made_tasks

    return Loaded(made_sandbox(seed), {split: list(made_tasks(seed, split)) for split in SPLITS}, chosen)
