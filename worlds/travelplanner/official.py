"""Downloads TravelPlanner's official files and converts them to the compact layout that the loaders read.

All tables stay as they are, except flights: of nearly four million rows only those on routes that some query can use
are kept, on all dates. A query's route-day without flights is recorded as known to be empty.
"""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from lab.machine.datasets import Dataset, UnexpectedData
from lab.machine.download import Report, fetch_once
from lab.machine.files import write_atomically
from worlds.travelplanner.listings import COLUMNS
from worlds.travelplanner.tasks import SPLITS

# Compact name -> path of the official file under `database/`.
SOURCES = {
    "flights": "flights/clean_Flights_2022.csv",
    "accommodations": "accommodations/clean_accommodations_2022.csv",
    "restaurants": "restaurants/clean_restaurant_2022.csv",
    "attractions": "attractions/attractions.csv",
    "distance": "googleDistanceMatrix/distance.csv",
    "city_state": "background/citySet_with_states.txt",
}
NUMBERS = ("days", "visiting_city_number", "people_number", "budget")
TEXTS = ("org", "dest", "query", "level")
REFERENCE_CITY = re.compile(r"(?:Attractions|Restaurants|Accommodations) in (.+)")
# The benchmark's own public addresses: its dataset on the Hugging Face hub, and the database archive that the README of
# the repository OSU-NLP-Group/TravelPlanner links to.
QUERIES_URL = "https://huggingface.co/datasets/osunlp/TravelPlanner/resolve/main/{split}.csv"
DATABASE_URL = (
    "https://drive.usercontent.google.com/download?id=1pF1Sw6pBmq2sFkJvm-LzJOqrmfWoQgxE&export=download&confirm=t"
)
# Numbers of rows in the official files, by the name of the compact file; flights include unused routes.
OFFICIAL_ROWS = {
    "flights": 3_827_360, "accommodations": 5047, "restaurants": 9551, "attractions": 5302, "distance": 17_602,
    "city_state": 312, "train": 45, "validation": 180,
}  # fmt: skip
NEEDED = (
    "accommodations.csv.gz", "restaurants.csv.gz", "attractions.csv.gz", "distance.csv.gz", "flights.csv.gz",
    "city_state.tsv", "queries_train.jsonl.gz", "queries_validation.jsonl.gz",
)  # fmt: skip


def convert(raw_folder: Path, out_folder: Path, report: Report = lambda line: None) -> dict[str, int]:
    """Write the compact files; returns the official files' numbers of rows, by compact name and split.

    raw_folder: has `database/` with the files of `SOURCES`, and `train.csv` and `validation.csv`.
    Raises FileNotFoundError, or UnexpectedData if a file lacks columns of the official one.
    """
    database, counts = raw_folder / "database", dict[str, int]()
    needed = (*TEXTS, *NUMBERS, "date", "local_constraint")
    queries: list[dict[str, Any]] = []
    for split in SPLITS:
        report(f"converting {split}.csv")
        records = [query_record(idx, row) for idx, row in enumerate(table(raw_folder / f"{split}.csv", needed))]
        references = [{"idx": record["idx"], "reference_information": record.pop("reference_information")}
                      for record in records]  # fmt: skip
        write_lines(out_folder / f"queries_{split}.jsonl.gz", records)
        write_lines(
            out_folder / f"reference_{split}.jsonl.gz",
            filter(lambda record: record["reference_information"], references),
        )
        counts[split] = len(records)
        queries += records
    cities = (database / SOURCES["city_state"]).read_text(encoding="utf-8")
    write_atomically(out_folder / "city_state.tsv", cities.encode("utf-8"))
    city_states = dict(line.split("\t") for line in cities.splitlines() if line)
    counts["city_state"] = len(city_states)
    for name in ("accommodations", "restaurants", "attractions", "distance"):
        report(f"converting {SOURCES[name]}")
        # The official cost of a drive is kept, although ours is computed.
        columns = ["origin", "destination", "cost", "duration", "distance"] if name == "distance" else [*COLUMNS[name]]
        rows = list(table(database / SOURCES[name], columns))
        # Accommodations keep all columns: the benchmark drops rows with an empty cell in any of them.
        columns = list(rows[0]) if name == "accommodations" and rows else columns
        counts[name] = write_table(out_folder / f"{name}.csv.gz", columns, rows)
    report(f"converting {SOURCES['flights']}, which takes a minute")
    counts["flights"] = write_flights(database / SOURCES["flights"], queries, city_states, out_folder)
    return counts


def query_record(idx: int, row: Mapping[str, str]) -> dict[str, Any]:
    """A query of an official CSV, whose lists and objects are Python literals instead of JSON."""
    constraint = ast.literal_eval(row["local_constraint"])
    record: dict[str, Any] = {"idx": idx} | {key: row[key] for key in TEXTS}
    record |= {key: int(row[key]) for key in NUMBERS} | {"date": ast.literal_eval(row["date"])}
    record["local_constraint"] = {
        key: constraint.get(key) for key in ("house rule", "cuisine", "room type", "transportation")
    }
    if row.get("annotated_plan"):
        plan = ast.literal_eval(row["annotated_plan"])
        # In some releases the days are the last item of a list that begins with the query.
        record["annotated_plan"] = plan[-1] if plan and isinstance(plan[-1], list) else list(plan)
    reference = ast.literal_eval(row["reference_information"]) if row.get("reference_information") else []
    matches = (REFERENCE_CITY.fullmatch(entry["Description"]) for entry in reference)
    cities = list(dict.fromkeys(match[1] for match in matches if match))
    return record | {"reference_information": reference, "ref_cities": cities, "fields_from": "published record"}


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    # mtime=0: no timestamp, so that the same records give the same bytes.
    write_atomically(path, gzip.compress(text.encode("utf-8"), mtime=0))


def write_flights(
    source: Path, queries: Sequence[Mapping[str, Any]], city_states: Mapping[str, str], folder: Path
) -> int:
    """Write the flights on routes that some query can use, and the route-days whose flights are now all known.

    Returns the number of rows in the official table.
    """
    route_days = usable_route_days(queries, city_states)
    routes = {(org, dest) for org, dest, _ in route_days}
    counts: Counter[tuple[str, str, str]] = Counter()
    usable, total = [], 0
    for row in table(source, [*COLUMNS["flights"]]):
        total += 1
        org, dest = row["OriginCityName"], row["DestCityName"]
        if (org, dest) in routes:
            usable.append(row)
            counts[org, dest, row["FlightDate"]] += 1
    write_table(folder / "flights.csv.gz", [*COLUMNS["flights"]], usable)
    columns = ("OriginCityName", "DestCityName", "FlightDate", "n_flights", "source")
    days = [dict(zip(columns, (*day, counts[day], "official table"), strict=True)) for day in sorted(route_days)]
    write_table(folder / "flight_route_days.csv.gz", columns, days)
    return total


def usable_route_days(
    queries: Iterable[Mapping[str, Any]], city_states: Mapping[str, str]
) -> set[tuple[str, str, str]]:
    """Every (origin, destination, date) among a query's origin and the cities that it may visit, on its dates."""
    route_days: set[tuple[str, str, str]] = set()
    for query in queries:
        state_cities = [city for city, state in city_states.items() if state == query["dest"]]
        # `dest` is a city for 3 days; for 5 and 7 it is a state, of which any two cities may be visited in a row.
        stops = {query["org"], *(state_cities if query["days"] > 3 else [query["dest"]])}
        route_days |= {(*route, date) for route in permutations(stops, 2) for date in query["date"]}
    return route_days


def table(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of an official CSV file. Raises UnexpectedData if one of `columns` is missing."""
    with open(path, encoding="utf-8", newline="") as text:
        reader = csv.DictReader(text)
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise UnexpectedData(f"{path} lacks the columns {', '.join(missing)}; it is not the official file")
        yield from reader


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> int:
    """Write the given columns to a gzipped CSV file; returns the number of rows."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, gzip.compress(text.getvalue().encode("utf-8"), mtime=0))
    return len(rows)


def present(folder: Path) -> bool:
    """Whether the folder has every file that the loaders read."""
    return all((folder / name).exists() for name in NEEDED)


def fetch(folder: Path, report: Report) -> None:
    """Download the official files, check them and convert them into `folder`; can be stopped and called again.

    A `database.zip` put into `folder/raw` by hand is used instead of downloading it. Raises DownloadFailed, or
    UnexpectedData if a file is not the official one.
    """
    raw = folder / "raw"
    for split in SPLITS:
        fetch_once(QUERIES_URL.format(split=split), raw / f"{split}.csv", report)
    fetch_once(DATABASE_URL, raw / "database.zip", report)
    unpack(raw / "database.zip", raw, report)
    # Converted in a separate folder and moved once checked, so that `present` never sees partial or other data.
    check_rows(convert(raw, raw / "converted", report))
    for path in (raw / "converted").iterdir():
        path.replace(folder / path.name)
    shutil.rmtree(raw)


def unpack(archive: Path, folder: Path, report: Report) -> None:
    """Extract the needed files from the database archive, in whatever folder of it they are."""
    if not zipfile.is_zipfile(archive):
        archive.unlink()
        raise UnexpectedData(
            f"{DATABASE_URL} gave no zip archive (its host may limit downloads); try again "
            f"later, or download it in a browser and save it as {archive}"
        )
    with zipfile.ZipFile(archive) as content:
        members = [name for name in content.namelist() if not name.startswith("__MACOSX")]
        for source in SOURCES.values():
            member = next((name for name in members if name.endswith(source)), None)
            if member is None:
                raise UnexpectedData(f"{archive} has no {source}; it is not the benchmark's database archive")
            report(f"unpacking {source}")
            target = folder / "database" / source
            target.parent.mkdir(parents=True, exist_ok=True)
            with content.open(member) as packed, open(target, "wb") as file:
                shutil.copyfileobj(packed, file)


def check_rows(counts: dict[str, int]) -> None:
    """Raise UnexpectedData unless every official file has its published number of rows."""
    differences = [
        f"{name} has {counts[name]:,} rows, not {rows:,}"
        for name, rows in OFFICIAL_ROWS.items()
        if counts[name] != rows
    ]
    if differences:
        raise UnexpectedData("the official files are not those this suite was made for: " + "; ".join(differences))


DATASET = Dataset(
    name="travelplanner",
    about="TravelPlanner's 45 train and 180 validation queries, and their flights, rooms, restaurants and sights",
    present=present,
    fetch=fetch,
)
