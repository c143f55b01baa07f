"""Fetching TravelPlanner: conversion of files in the official shape, and downloads that are interrupted."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lab.machine.datasets import UnexpectedData
from worlds.travelplanner import official
from worlds.travelplanner.expert import annotated_plans
from worlds.travelplanner.listings import Listings
from worlds.travelplanner.official import SOURCES, convert
from worlds.travelplanner.tasks import load_tasks

QUIET = print


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def query(**changes: Any) -> dict[str, Any]:
    """A query as the official CSV has it: lists and objects are Python literals in text."""
    return {
        "org": "Homeby", "dest": "Eastland", "days": 5, "visiting_city_number": 2, "people_number": 2, "budget": 900,
        "date": "['2031-05-01', '2031-05-02', '2031-05-03', '2031-05-04', '2031-05-05']", "level": "medium",
        "local_constraint": "{'house rule': None, 'cuisine': ['French', 'Indian'], 'room type': None, "
        "'transportation': None}",
        "query": 'Homeby to two cities, "please"',
        "reference_information": "[{'Description': 'Attractions in Farwick', 'Content': 'a'}, {'Description': "
        "'Restaurants in Farwick', 'Content': 'b'}, {'Description': 'Attractions in Midtown', "
        "'Content': 'c'}, {'Description': 'Flight from A to B on 2031-05-01', 'Content': ''}]",
    } | changes  # fmt: skip


def flight(number: str, org: str, dest: str, date: str) -> dict[str, Any]:
    return {
        "": 7, "Flight Number": number, "Price": 120, "DepTime": "08:00", "ArrTime": "09:00",
        "ActualElapsedTime": "1 hours 0 minutes", "FlightDate": date, "OriginCityName": org, "DestCityName": dest,
        "Distance": 300.0,
    }  # fmt: skip


def room(name: str, rules: str) -> dict[str, Any]:
    return {
        "": 0, "NAME": name, "room type": "Private room", "price": 90.0, "minimum nights": 2.0,
        "review rate number": 3.0, "house_rules": rules, "maximum occupancy": 2, "city": "Farwick",
    }  # fmt: skip


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A folder of small files in the official shape."""
    folder = tmp_path / "raw"
    tables: dict[str, list[dict[str, Any]]] = {
        "flights": [
            flight("F1", "Homeby", "Farwick", "2031-05-01"), flight("F2", "Farwick", "Homeby", "2031-06-09"),
            flight("F3", "Elsewhere", "Nowhere", "2031-05-01"),
        ],
        "accommodations": [room("Two\nlines", "No pets"), room("No rules", "")],
        "restaurants": [{"": 0, "Name": "Fork", "City": "Farwick", "Cuisines": "Tea, French", "Average Cost": 12,
                         "Aggregate Rating": 4.1, "Zip": "x"}],
        "attractions": [{"Name": "Zoo", "Latitude": 1.5, "Longitude": -2.5, "Address": "a", "Phone": "p",
                         "Website": "w", "City": "Farwick"}],
        "distance": [{"origin": "Homeby", "destination": "Farwick", "cost": "", "duration": "2 hours",
                      "distance": "1,144 km"}],
    }  # fmt: skip
    for name, rows in tables.items():
        write_csv(folder / "database" / SOURCES[name], rows)
    cities = folder / "database" / SOURCES["city_state"]
    cities.parent.mkdir(parents=True)
    cities.write_text("Homeby\tWestland\nFarwick\tEastland\nMidtown\tEastland", encoding="utf-8")
    plan = "[{'org': 'Homeby'}, [{'days': 1, 'current_city': 'from Homeby to Farwick'}, {}]]"
    write_csv(folder / "train.csv", [query(annotated_plan=plan)])
    write_csv(folder / "validation.csv", [query(), query(dest="Farwick", days=3, reference_information="[]")])
    return folder


def test_converted_files_are_what_the_loaders_read(raw: Path, tmp_path: Path) -> None:
    counts = convert(raw, tmp_path / "travelplanner", QUIET)
    assert list(counts.values()) == [1, 2, 3, 2, 1, 1, 1, 3]
    listings, tasks = Listings.load(tmp_path), load_tasks("validation", tmp_path)
    assert [task.id for task in tasks] == ["validation-000", "validation-001"]
    assert tasks[0].cuisines == ("French", "Indian") and tasks[0].ref_cities == ("Farwick", "Midtown")
    assert tasks[0].goal == 'Homeby to two cities, "please"' and tasks[0].dates[-1] == "2031-05-05"
    assert annotated_plans(tmp_path)["train-000"][0]["current_city"] == "from Homeby to Farwick"
    assert [row.name for row in listings.accommodations("Farwick")] == ["Two\nlines"]
    assert listings.restaurants("Farwick")[0].cuisines == ("Tea", "French")
    assert listings.ground("Homeby", "Farwick", "self-driving").cost == 57
    assert listings.cities("Eastland") == ("Farwick", "Midtown") and official.present(tmp_path / "travelplanner")


def test_flights_of_usable_routes_are_kept_and_their_query_days_are_known(raw: Path, tmp_path: Path) -> None:
    convert(raw, tmp_path / "travelplanner", QUIET)
    listings = Listings.load(tmp_path)
    assert listings.flight("F1") and listings.flight("F2") and listings.flight("F3") is None
    assert listings.knows_flights("Midtown", "Farwick", "2031-05-03")
    assert not listings.knows_flights("Elsewhere", "Nowhere", "2031-05-01")


def test_a_file_of_another_shape_is_refused_by_name(raw: Path, tmp_path: Path) -> None:
    write_csv(raw / "database" / SOURCES["restaurants"], [{"Name": "x", "City": "y"}])
    with pytest.raises(UnexpectedData, match=r"clean_restaurant_2022.csv lacks .*Cuisines"):
        convert(raw, tmp_path / "out", QUIET)


def test_fetch_uses_what_is_there_and_refuses_data_of_another_size(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "travelplanner"
    (folder / "raw").mkdir(parents=True)
    with zipfile.ZipFile(folder / "raw" / "database.zip", "w") as archive:
        for source in SOURCES.values():
            archive.write(raw / "database" / source, f"database/{source}")
    for split in ("train", "validation"):
        (raw / f"{split}.csv").rename(folder / "raw" / f"{split}.csv")
    with pytest.raises(official.UnexpectedData, match="flights has 3 rows, not 3,827,360"):
        official.fetch(folder, QUIET)
    assert not official.present(folder)
    monkeypatch.setattr(official, "OFFICIAL_ROWS", {"flights": 3, "train": 1})
    official.fetch(folder, QUIET)
    assert official.present(folder) and not (folder / "raw").exists()


def test_an_error_page_in_place_of_the_archive_is_named(tmp_path: Path) -> None:
    page = tmp_path / "database.zip"
    page.write_text("<html>too many downloads</html>")
    with pytest.raises(official.UnexpectedData, match="in a browser"):
        official.unpack(page, tmp_path, QUIET)
    assert not page.exists()
