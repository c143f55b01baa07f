"""TravelPlanner's queries as typed tasks, and the loader of the compact query files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.machine.faults import MissingData

SPLITS = ("train", "validation")
MADE = "made-"  # prefix of the ids and splits of synthetic queries
# Constraint -> its wording in synthetic queries.
ROOM_PHRASES = {
    "entire room": "places all to ourselves", "private room": "private rooms", "shared room": "shared rooms",
    "not shared room": "rooms that are not shared with others",
}  # fmt: skip
WAY_PHRASES = {"no flight": "not to fly", "no self-driving": "not to drive ourselves"}


@dataclass(frozen=True, slots=True)
class TripTask:
    """One query, as far as an agent may know it. The annotated plans of the train split are in `expert`.

    dest: a city for 3 days, a state for 5 and 7. dates: one ISO date per day. budget: dollars for the whole party.
    house_rule, room_type, transportation: None if the query does not set them; cuisines: empty if it does not.
    ref_cities: the cities of the benchmark's reference information, in travel order; empty if unknown.
    """

    id: str
    split: str
    idx: int
    goal: str
    org: str
    dest: str
    days: int
    visiting_city_number: int
    dates: tuple[str, ...]
    people: int
    house_rule: str | None
    cuisines: tuple[str, ...]
    room_type: str | None
    transportation: str | None
    budget: int
    level: str
    ref_cities: tuple[str, ...] = ()

    @property
    def hard_constraints(self) -> int:
        """How many hard constraints the query sets; the budget is always one of them."""
        # Summed over the splits' 45 and 180 queries, this gives the official denominators, 105 and 420.
        return 1 + sum(bool(value) for value in (self.house_rule, self.cuisines, self.room_type, self.transportation))


def task_id(split: str, idx: int) -> str:
    """The stable id of a query, zero-padded so that ids sort in the official order."""
    return f"{split}-{idx:03d}"


def load_tasks(split: str, folder: Path, prefix: str = "") -> list[TripTask]:
    """The queries of a split in the official order.

    folder: the data folder that has `travelplanner/`. prefix: of their ids and splits. Raises MissingData if the file
    is absent, ValueError for another split.
    """
    return [task_from_record(record, prefix + split) for record in query_records(split, folder)]


def query_records(split: str, folder: Path) -> list[dict[str, Any]]:
    """The raw records of a split's query file, with annotated plans if the split has them."""
    if split not in SPLITS:
        raise ValueError(f"TravelPlanner has no split {split!r} here; choose one of {', '.join(SPLITS)}")
    path = Path(folder) / "travelplanner" / f"queries_{split}.jsonl.gz"
    if not path.exists():
        raise MissingData(
            f"TravelPlanner's {split} queries are not at {path}. "
            "Fetch them with: python -m lab data fetch travelplanner"
        )
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def task_from_record(record: Mapping[str, Any], split: str) -> TripTask:
    """One record of a compact query file as a task."""
    constraint = record["local_constraint"]
    return TripTask(
        id=task_id(split, record["idx"]), split=split, goal=record["query"], dates=tuple(record["date"]),
        people=record["people_number"], house_rule=constraint.get("house rule"),
        cuisines=tuple(constraint.get("cuisine") or ()), room_type=constraint.get("room type"),
        transportation=constraint.get("transportation"), ref_cities=tuple(record.get("ref_cities") or ()),
        **{key: record[key] for key in ("idx", "org", "dest", "days", "visiting_city_number", "budget", "level")},
    )  # fmt: skip
