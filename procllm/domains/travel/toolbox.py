"""The folder of tools that a solver sees: the two programs of `tools/` with the tables that they read beside them.

Folders lie in `data/cache` and are named by what they hold, so that they never change and any number of processes may
make one at the same time. Official rows stay out of the repository there.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from lab.machine.paths import ROOT
from worlds.travelplanner.listings import Accommodation, Flight

PROGRAMS = Path(__file__).parent / "tools"
FOLDERS = ROOT / "data" / "cache" / "procllm"
# The columns are named as in the benchmark's own tools.
FLIGHT_COLUMNS = {
    "Flight Number": "number",
    "Price": "price",
    "DepTime": "departs",
    "ArrTime": "arrives",
    "ActualElapsedTime": "elapsed",
    "FlightDate": "date",
    "OriginCityName": "org",
    "DestCityName": "dest",
    "Distance": "miles",
}
ACCOMMODATION_COLUMNS = {
    "NAME": "name",
    "room type": "room_type",
    "price": "price",
    "minimum nights": "minimum_nights",
    "review rate number": "rating",
    "house_rules": "house_rules",
    "maximum occupancy": "occupancy",
    "city": "city",
}


def tools_folder(flights: Iterable[Flight], accommodations: Iterable[Accommodation], folders: Path = FOLDERS) -> Path:
    """The folder `tools` with both programs and these rows; made if it is not there yet."""
    contents = {path.name: path.read_bytes() for path in sorted(PROGRAMS.glob("*.py"))}
    contents["flights.csv"] = _table(flights, FLIGHT_COLUMNS)
    contents["accommodations.csv"] = _table(accommodations, ACCOMMODATION_COLUMNS)
    folder = folders / f"travel-{_digest(contents)}"
    if not folder.exists():
        _publish(contents, folder)
    return folder / "tools"


def _table(rows: Iterable[object], columns: Mapping[str, str]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([getattr(row, field) for field in columns.values()] for row in rows)
    return text.getvalue().encode()


def _digest(contents: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, data in contents.items():
        whole.update(f"{name} {len(data)}\n".encode() + data)
    return whole.hexdigest()[:16]


def _publish(contents: Mapping[str, bytes], folder: Path) -> None:
    """Write elsewhere, then rename: whoever comes second finds the same folder there already."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        (draft / "tools").mkdir()
        for name, data in contents.items():
            (draft / "tools" / name).write_bytes(data)
        draft.chmod(0o755)
        try:
            os.rename(draft, folder)
        except OSError:  # a folder that is not empty cannot be replaced
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
