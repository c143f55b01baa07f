"""From the official files of TravelPlanner to the compact layout that the loaders read.

All tables stay as they are, but for flights: of the nearly four million rows only the routes that some query can use
are kept, on all dates. A route-day of a query that keeps none is recorded as known to be empty.
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from lab.machine.datasets import UnexpectedData
from lab.machine.download import Report
from lab.machine.files import write_atomically
from worlds.travelplanner.tasks import SPLITS

# Compact name to the official file's place under `database/`.
SOURCES = {
    "flights": "flights/clean_Flights_2022.csv",
    "accommodations": "accommodations/clean_accommodations_2022.csv",
    "restaurants": "restaurants/clean_restaurant_2022.csv",
    "attractions": "attractions/attractions.csv",
    "distance": "googleDistanceMatrix/distance.csv",
    "city_state": "background/citySet_with_states.txt",
}
FLIGHT_COLUMNS = (
    "Flight Number", "Price", "DepTime", "ArrTime", "ActualElapsedTime", "FlightDate", "OriginCityName", "DestCityName",
    "Distance",
)  # fmt: skip
COLUMNS = {
    "accommodations": (
        "NAME",
        "room type",
        "price",
        "minimum nights",
        "review rate number",
        "house_rules",
        "maximum occupancy",
        "city",
    ),
    "restaurants": ("Name", "City", "Cuisines", "Average Cost", "Aggregate Rating"),
    "attractions": ("Name", "Latitude", "Longitude", "Address", "Phone", "Website", "City"),
    "distance": ("origin", "destination", "cost", "duration", "distance"),
    "flights": FLIGHT_COLUMNS,
}
NUMBERS = ("days", "visiting_city_number", "people_number", "budget")
TEXTS = ("org", "dest", "query", "level")
REFERENCE_CITY = re.compile(r"(?:Attractions|Restaurants|Accommodations) in (.+)")

Route = tuple[str, str]


def convert(raw_folder: Path, out_folder: Path, report: Report = lambda line: None) -> dict[str, int]:
    """Write the compact files and return the official files' numbers of rows, by compact name and split.

    raw_folder: holds `database/` with the files of `SOURCES`, and `train.csv` and `validation.csv`.
    Raises FileNotFoundError, or UnexpectedData if a file is not of the official shape.
    """
    database = raw_folder / "database"
    counts: dict[str, int] = {}
    records = {split: query_records(raw_folder / f"{split}.csv") for split in SPLITS}
    for split in SPLITS:
        report(f"converting {split}.csv")
        counts[split] = write_queries(records[split], split, out_folder)
    city_states = write_cities(database / SOURCES["city_state"], out_folder)
    counts["city_state"] = len(city_states)
    for name in ("accommodations", "restaurants", "attractions", "distance"):
        report(f"converting {SOURCES[name]}")
        rows = list(table(database / SOURCES[name], COLUMNS[name]))
        # Accommodations keep all columns: the benchmark drops rows with an empty cell in any of them.
        columns = list(rows[0]) if name == "accommodations" and rows else COLUMNS[name]
        counts[name] = write_table(out_folder / f"{name}.csv.gz", columns, rows)
    report(f"converting {SOURCES['flights']}, which takes a minute")
    queries = [record for split in SPLITS for record in records[split]]
    counts["flights"] = write_flights(database / SOURCES["flights"], queries, city_states, out_folder)
    return counts


def query_records(path: Path) -> list[dict[str, Any]]:
    """The queries of an official CSV, whose lists and objects are written as Python literals."""
    needed = (*TEXTS, *NUMBERS, "date", "local_constraint")
    return [query_record(idx, row) for idx, row in enumerate(table(path, needed))]


def query_record(idx: int, row: Mapping[str, str]) -> dict[str, Any]:
    constraint = ast.literal_eval(row["local_constraint"])
    record: dict[str, Any] = {"idx": idx} | {key: row[key] for key in TEXTS}
    record |= {key: int(row[key]) for key in NUMBERS} | {"date": ast.literal_eval(row["date"])}
    record["local_constraint"] = {
        key: constraint.get(key) for key in ("house rule", "cuisine", "room type", "transportation")
    }
    if row.get("annotated_plan"):
        record["annotated_plan"] = annotated_days(ast.literal_eval(row["annotated_plan"]))
    # The official CSV holds Python's repr of lists and objects, which is no JSON.
    reference = ast.literal_eval(row["reference_information"]) if row.get("reference_information") else []
    return record | {
        "reference_information": reference,
        "ref_cities": reference_cities(reference),
        "fields_from": "published record",
    }


def annotated_days(plan: Sequence[Any]) -> list[dict[str, Any]]:
    """The list of days; some releases put it last in a list that begins with the query."""
    return plan[-1] if plan and isinstance(plan[-1], list) else list(plan)


def reference_cities(reference: Sequence[Mapping[str, str]]) -> list[str]:
    """The cities that the reference information describes, in its order, each once."""
    found = (REFERENCE_CITY.fullmatch(entry["Description"]) for entry in reference)
    return list(dict.fromkeys(match[1] for match in found if match))


def write_queries(records: Sequence[Mapping[str, Any]], split: str, folder: Path) -> int:
    """The query file, and the reference information in a file of its own."""
    queries = ({key: value for key, value in record.items() if key != "reference_information"} for record in records)
    references = (
        {key: record[key] for key in ("idx", "reference_information")}
        for record in records
        if record["reference_information"]
    )
    write_lines(folder / f"queries_{split}.jsonl.gz", queries)
    write_lines(folder / f"reference_{split}.jsonl.gz", references)
    return len(records)


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    # mtime=0 keeps the time out of the file, so that the same records give the same bytes.
    write_atomically(path, gzip.compress(text.encode("utf-8"), mtime=0))


def write_cities(source: Path, folder: Path) -> dict[str, str]:
    """The city list, in its order."""
    text = source.read_text(encoding="utf-8")
    write_atomically(folder / "city_state.tsv", text.encode("utf-8"))
    return dict(line.split("\t") for line in text.splitlines() if line)


def write_flights(
    source: Path, queries: Sequence[Mapping[str, Any]], city_states: Mapping[str, str], folder: Path
) -> int:
    """The flights of the routes that some query can use, and the route-days that are known thereby."""
    route_days = usable_route_days(queries, city_states)
    routes = {(org, dest) for org, dest, _ in route_days}
    seen: Counter[tuple[str, str, str]] = Counter()
    kept, total = [], 0
    for row in table(source, FLIGHT_COLUMNS):
        total += 1
        org, dest = row["OriginCityName"], row["DestCityName"]
        if (org, dest) in routes:
            kept.append(row)
            seen[org, dest, row["FlightDate"]] += 1
    write_table(folder / "flights.csv.gz", FLIGHT_COLUMNS, kept)
    known = [
        {
            "OriginCityName": org,
            "DestCityName": dest,
            "FlightDate": date,
            "n_flights": seen[org, dest, date],
            "source": "official table",
        }
        for org, dest, date in sorted(route_days)
    ]
    write_table(
        folder / "flight_route_days.csv.gz",
        ("OriginCityName", "DestCityName", "FlightDate", "n_flights", "source"),
        known,
    )
    return total


def usable_route_days(
    queries: Iterable[Mapping[str, Any]], city_states: Mapping[str, str]
) -> set[tuple[str, str, str]]:
    """Every (origin, destination, date) between a query's origin and the cities it may visit, on its dates."""
    found: set[tuple[str, str, str]] = set()
    for query in queries:
        inside = [city for city, state in city_states.items() if state == query["dest"]]
        # `dest` is a city for 3 days, and a state for 5 and 7, of which any two cities may be visited in a row.
        stops = {query["org"], *(inside if query["days"] > 3 else [query["dest"]])}
        found |= {(*route, date) for route in permutations(stops, 2) for date in query["date"]}
    return found


def table(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of an official CSV file; raises UnexpectedData if one of `columns` is missing."""
    with open(path, encoding="utf-8", newline="") as text:
        reader = csv.DictReader(text)
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise UnexpectedData(f"{path} lacks the columns {', '.join(missing)}; it is not the official file")
        yield from reader


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> int:
    """A gzipped CSV file of the columns given; the number of rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, gzip.compress(text.getvalue().encode("utf-8"), mtime=0))
    return len(rows)
