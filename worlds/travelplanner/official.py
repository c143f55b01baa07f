"""Fetching the official data, and converting it to the compact layout that the loaders read."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from lab.machine.datasets import Dataset, UnexpectedData
from lab.machine.download import Report, fetch_once
from worlds.travelplanner.conversion import SOURCES, convert
from worlds.travelplanner.tasks import SPLITS

# The benchmark's own public places: its dataset on the Hugging Face hub, and the database archive that the README of
# the repository OSU-NLP-Group/TravelPlanner links to.
QUERIES_URL = "https://huggingface.co/datasets/osunlp/TravelPlanner/resolve/main/{split}.csv"
DATABASE_URL = (
    "https://drive.usercontent.google.com/download?id=1pF1Sw6pBmq2sFkJvm-LzJOqrmfWoQgxE&export=download&confirm=t"
)
# Rows of the official files as published, by the name of the compact file; flights before the unused routes go.
OFFICIAL_ROWS = {
    "flights": 3_827_360, "accommodations": 5047, "restaurants": 9551, "attractions": 5302, "distance": 17_602,
    "city_state": 312, "train": 45, "validation": 180,
}  # fmt: skip
NEEDED = (
    "accommodations.csv.gz", "restaurants.csv.gz", "attractions.csv.gz", "distance.csv.gz", "flights.csv.gz",
    "city_state.tsv", "queries_train.jsonl.gz", "queries_validation.jsonl.gz",
)  # fmt: skip


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
    # Converted apart and moved only when checked, so that `present` never sees half a conversion or another's data.
    check_rows(convert(raw, raw / "converted", report))
    for path in (raw / "converted").iterdir():
        path.replace(folder / path.name)
    shutil.rmtree(raw)


def unpack(archive: Path, folder: Path, report: Report) -> None:
    """Take the needed files out of the database archive, wherever in it they lie."""
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
    """Raise UnexpectedData unless every official file had its published number of rows."""
    wrong = [
        f"{name} has {counts[name]:,} rows, not {rows:,}"
        for name, rows in OFFICIAL_ROWS.items()
        if counts[name] != rows
    ]
    if wrong:
        raise UnexpectedData("the official files are not those this suite was made for: " + "; ".join(wrong))


DATASET = Dataset(
    name="travelplanner",
    about="TravelPlanner's 45 train and 180 validation queries, and their flights, rooms, restaurants and sights",
    present=present,
    fetch=fetch,
)
