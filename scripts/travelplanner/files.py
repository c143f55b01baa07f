"""The synthetic listings and queries of TravelPlanner as files in the format of the official ones."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scripts.travelplanner.listings import COUNTS, single_city_tasks, synthetic_tables, synthetic_tasks
from worlds.travelplanner.listings import COLUMNS
from worlds.travelplanner.tasks import TripTask

SINGLE_CITY = 100  # requests for ProcLLM


def files(seed: int) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file; those that are named .gz are to be packed."""
    tables = synthetic_tables(seed)
    for name, columns in COLUMNS.items():
        rows = tables["distances" if name == "distance" else name]
        yield f"travelplanner/{name}.csv.gz", csv_of(rows, columns)
    cities = "".join(f"{city}\t{state}\n" for city, state in tables["city_states"].items())
    yield "travelplanner/city_state.tsv", cities.encode()
    for split in COUNTS:
        yield f"travelplanner/queries_{split}.jsonl.gz", lines(synthetic_tasks(seed, split))
    yield "travelplanner/single_city.jsonl", lines(single_city_tasks(seed, SINGLE_CITY))


def csv_of(rows: Iterable[object], columns: Mapping[str, str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        values = [getattr(row, field) for field in columns.values()]
        writer.writerow([", ".join(value) if isinstance(value, tuple) else value for value in values])
    return text.getvalue().encode()


def lines(tasks: Iterable[TripTask]) -> bytes:
    return "".join(json.dumps(record_of(task)) + "\n" for task in tasks).encode()


def record_of(task: TripTask) -> dict[str, Any]:
    """A query as `worlds.travelplanner.tasks.task_from_record` reads it."""
    return {
        "idx": task.idx,
        "org": task.org,
        "dest": task.dest,
        "days": task.days,
        "visiting_city_number": task.visiting_city_number,
        "date": task.dates,
        "people_number": task.people,
        "local_constraint": {
            "house rule": task.house_rule,
            "cuisine": task.cuisines or None,
            "room type": task.room_type,
            "transportation": task.transportation,
        },
        "budget": task.budget,
        "query": task.goal,
        "level": task.level,
        "ref_cities": task.ref_cities,
    }
