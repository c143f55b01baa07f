"""Read damaged data folders and fetch from damaged mirrors, and count what gets through.

    LAB_DATA=/data python benchmarks/campaign_bad_data.py

Needs the official data of every world; pieces of it are copied to a temporary folder and damaged there. Exits with 1 if
anything is accepted, falls back to synthetic data, raises an error that names no file or remedy, or is kept and stops
the next fetch. tests/lab/machine/test_bad_data.py is the short form.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "tests" / "support")) if path not in sys.path]

from bad_data import FILE_DAMAGES, HOW, PAGE, Mirror  # noqa: E402
from lab.machine import datasets, download  # noqa: E402

# A dataset's folders, and the file that is damaged in every way.
MAIN = {
    "blocksworld": (["blocksworld"], "blocksworld/generated_basic_501.jsonl.gz"),
    "webshop": (["webshop"], "webshop/products_1000.jsonl.gz"),
    "travelplanner": (["travelplanner"], "travelplanner/restaurants.csv.gz"),
    "scienceworld": (["scienceworld", "rewardprediction"], "rewardprediction/scienceworld_191_gold.jsonl.gz"),
}
OTHERS = (
    "travelplanner/queries_validation.jsonl.gz", "travelplanner/flights.csv.gz", "travelplanner/city_state.tsv",
    "travelplanner/flight_route_days.csv.gz", "travelplanner/accommodations.csv.gz", "webshop/items_ins_v2_1000.json",
    "scienceworld/swiftsage_oracle_actions.jsonl.gz", "alfworld/alfred_domain.pddl",
)  # fmt: skip
FEW = ("missing", "half the rows", "another letter")  # of the other files, which are checked by the same code
Verdict = tuple[str, str]  # of a case: a word, and what was said


def main() -> int:
    official = Path(os.environ["LAB_DATA"])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-bad-data-") as folder:
        place = Path(folder)
        os.environ["LAB_CACHE"] = str(place / "cache" / "answers.sqlite")
        folders = dict(bad_folders(official, place))
        report("data folders", folders)
        download.time.sleep = lambda seconds: None  # type: ignore[attr-defined]
        downloads = dict(bad_downloads(place)) | dict(bad_fetches(official, place))
        report("downloads", downloads)
    found = folders | downloads
    print(f"{time.monotonic() - began:.0f} seconds")
    return int(any(word not in GOOD for word, _ in found.values()))


GOOD = ("refused", "right")


def report(title: str, found: dict[str, Verdict]) -> None:
    counts = Counter(word for word, _ in found.values())
    print(f"{len(found)} {title}: " + ", ".join(f"{word} {count}" for word, count in sorted(counts.items())))
    for case, (word, said) in found.items():
        if word not in GOOD or "--verbose" in sys.argv:
            print(f"  {word}: {case}: {said[:240]!r}")


# --- folders ------------------------------------------------------------------------------------------------------


def bad_folders(official: Path, place: Path) -> Iterator[tuple[str, Verdict]]:
    for name, (folders, file) in MAIN.items():
        for how, damage in FILE_DAMAGES.items():
            yield f"{file}: {how}", folder_case(official, place, name, folders, partial_damage(file, damage))
    for file in OTHERS:
        name = file.partition("/")[0]
        folders = MAIN[name][0] if name in MAIN else [name]
        for how in FEW:
            yield (
                f"{file}: {how}",
                folder_case(official, place, name, folders, partial_damage(file, FILE_DAMAGES[how])),
            )
    whole: dict[str, Callable[[Path], object]] = {
        "LAB_DATA is a file": lambda data: (shutil.rmtree(data), data.write_text("x")),
        "LAB_DATA is a loop of links": lambda data: (shutil.rmtree(data), data.symlink_to(data.name)),
        "LAB_DATA is a link to nowhere": lambda data: (shutil.rmtree(data), data.symlink_to("nowhere")),
        "LAB_DATA is not there": shutil.rmtree,
        "the dataset is a file": lambda data: (shutil.rmtree(data / "webshop"), (data / "webshop").write_text("x")),
        "the dataset is a loop": lambda data: (
            shutil.rmtree(data / "webshop"), (data / "webshop").symlink_to("webshop")
        ),
        "the dataset is a link to nowhere": lambda data: (
            shutil.rmtree(data / "webshop"), (data / "webshop").symlink_to("nowhere")
        ),
        "the dataset has its leaflet alone": lambda data: [
            file.unlink() for file in (data / "webshop").iterdir() if file.name in (
                "products_1000.jsonl.gz", "items_ins_v2_1000.json"
            )
        ],
    }  # fmt: skip
    for case, damage in whole.items():
        yield case, folder_case(official, place, "webshop", ["webshop"], damage)


def partial_damage(file: str, damage: Callable[[Path], object]) -> Callable[[Path], object]:
    return lambda data: damage(data / file)


def folder_case(
    official: Path, place: Path, name: str, folders: list[str], damage: Callable[[Path], object]
) -> Verdict:
    """What a world makes of its damaged folder, which it had read whole before."""
    data = place / "data"
    if data.is_symlink() or data.is_file():
        data.unlink()
    shutil.rmtree(data, ignore_errors=True)
    for folder in folders:
        shutil.copytree(official / folder, data / folder)
        for copied in [data / folder, *(data / folder).iterdir()]:
            copied.chmod(0o755)
    os.environ["LAB_DATA"] = str(data)
    forget()
    first = read(name)
    assert first == "official", first
    damage(data)
    forget()
    try:
        answered = read(name)
    except Exception as error:
        return told(error, (str(data), name), ("lab data fetch", "LAB_DATA", "Restore"))
    return "ACCEPTED" if answered == "official" else "MADE INSTEAD", answered


def forget() -> None:
    """Empty the worlds' own caches of what they read."""
    if shop := sys.modules.get("worlds.webshop"):
        shop.official_stock.cache_clear()
    if games := sys.modules.get("worlds.alfworld.official"):
        games.official_tasks.cache_clear()
        games.official_rules.cache_clear()


def read(name: str) -> str:
    """Load the world under `auto` and read its tasks; which data it says it has."""
    if name == "scienceworld":  # its tasks are in the package; from the folder it has gold paths
        from worlds.scienceworld import load
        from worlds.scienceworld.paths import stored_paths

        world = load("auto")
        stored_paths("easy"), stored_paths("")
        return world.data
    world = import_module(f"worlds.{name}").load("auto")
    if name == "alfworld":
        world.games.rules()  # a split takes a second to read
    else:
        for split in world.splits:
            list(world.tasks(split))
    return world.data


def told(error: Exception, names: tuple[str, ...], remedies: tuple[str, ...]) -> Verdict:
    """Whether an error names the place and what to do."""
    text = str(error)
    ok = any(name in text for name in names) and any(remedy in text for remedy in remedies)
    return ("refused" if ok else "RAW ERROR"), f"{type(error).__name__}: {text}"


# --- downloads ----------------------------------------------------------------------------------------------------


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


BODIES = {
    "rows.csv": b"a,b\n" + b"1,2\n" * 60,
    "items.json": json.dumps({"items": list(range(80))}).encode(),
    "problem.pddl": b"(define (problem x)\n" + b"  (ontable a)\n" * 30 + b")\n",
    "files.zip": zipped({"x.csv": b"a,b\n" + Random(0).randbytes(2000)}),
}
# What `download` alone cannot tell from the file, since no length or form says so: `fetch` does, below.
BY_CONTENT = {
    "rows.csv": ("length too short", "length no number", "length below 0", "half, no length", "a JSON error",
                 "an error in words"),
    "items.json": ("a JSON error",),
    "problem.pddl": ("length too short", "length no number", "length below 0", "half, no length", "a JSON error",
                     "an error in words"),
    "files.zip": (),
}  # fmt: skip


def bad_downloads(place: Path) -> Iterator[tuple[str, Verdict]]:
    """One file from a mirror that is bad, then mended."""
    for name, body in BODIES.items():
        for how in HOW:
            if how in BY_CONTENT[name]:
                continue
            target = place / "downloads" / f"{how} {name}"
            with Mirror({f"/{name}": body}, f"/{name}", how) as mirror:
                url = f"{mirror.address}/{name}"

                def get(url: str = url, target: Path = target) -> bytes:
                    download.download(url, target, lambda line: None, tries=2, pause=0, patience=2)
                    return target.read_bytes()

                yield f"{name}: {how}", twice(mirror, get, body, (mirror.address,), ())


def twice(
    mirror: Mirror, get: Callable[[], Any], right: Any, names: tuple[str, ...], remedies: tuple[str, ...]
) -> Verdict:
    """What comes of it while the mirror is bad, if that is an error, and of the same command when it is mended."""
    try:
        came = get()
        return ("right", "") if came == right else ("WRONG FILE KEPT", str(came)[:80])
    except OSError as error:
        first = told(error, names, remedies or ("",))
    except (ValueError, RuntimeError) as error:
        first = told(error, names, remedies) if remedies else ("RAW ERROR", repr(error))
    except Exception as error:
        return "RAW ERROR", repr(error)
    mirror.how = ""
    try:
        came = get()
    except Exception as error:
        return "STUCK", f"{type(error).__name__}: {error}"
    return first if came == right else ("WRONG FILE KEPT", "after the mirror was mended")


# --- whole datasets -----------------------------------------------------------------------------------------------

FETCHED = (*BY_CONTENT["rows.csv"], "a page", "a page called a file", "one byte changed", "206 unasked", "to a page",
           "404", "reset", "length of a petabyte")  # fmt: skip


def bad_fetches(official: Path, place: Path) -> Iterator[tuple[str, Verdict]]:
    """`data fetch` of BlocksWorld and TravelPlanner from mirrors that serve one file of many badly."""
    data = place / "fetched"
    os.environ["LAB_DATA"] = str(data)
    problems, trips = blocksworld_files(official), travelplanner_files(official)
    cases = [("blocksworld", problems, "/instance-250.pddl", how) for how in FETCHED]
    cases += [("travelplanner", trips, file, how) for file in ("/train.csv", "/database.zip") for how in FETCHED]
    for name, files, bad, how in cases:
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        with Mirror(files, bad, how) as mirror:
            point_to(mirror.address)
            yield f"fetch {name}, {bad}: {how}", fetched(mirror, name, data)
    for name in ("blocksworld", "travelplanner"):  # pages that an earlier version kept, or a browser
        shutil.rmtree(data, ignore_errors=True)
        raw = data / name / "raw"
        raw.mkdir(parents=True)
        with Mirror({"blocksworld": problems, "travelplanner": trips}[name]) as mirror:
            point_to(mirror.address)
            (raw / {"blocksworld": "instance-7.pddl", "travelplanner": "train.csv"}[name]).write_bytes(PAGE)
            yield f"fetch {name}: a page kept before", fetched(mirror, name, data)


def fetched(mirror: Mirror, name: str, data: Path) -> Verdict:
    def get() -> str:
        datasets.fetch(name, lambda line: None)
        return read(name)

    return twice(
        mirror, get, "official", (mirror.address, str(data)), ("again", "did the address move", "in a browser")
    )


def point_to(address: str) -> None:
    from worlds.blocksworld import official as blocks
    from worlds.travelplanner import official as trips

    blocks.URL = f"{address}/instance-{{number}}.pddl"
    trips.QUERIES_URL, trips.DATABASE_URL = f"{address}/{{split}}.csv", f"{address}/database.zip"
    trips.OFFICIAL_ROWS = trips.OFFICIAL_ROWS | {"flights": 3256}  # as many as the compact copy has


def blocksworld_files(official: Path) -> dict[str, bytes]:
    with tarfile.open(official / "blocksworld" / "planbench_pddl.tar.gz") as archive:
        names = [name for name in archive.getnames() if "/generated_basic/" in f"/{name}" and name.endswith(".pddl")]
        contents = {name: archive.extractfile(name).read() for name in names}  # type: ignore[union-attr]
    return {f"/{name.rpartition('/')[2]}": content for name, content in contents.items()}


def travelplanner_files(official: Path) -> dict[str, bytes]:
    """Files in the official shape, made of the compact ones."""
    from worlds.travelplanner.official import SOURCES

    folder = official / "travelplanner"
    files = {}
    for split in ("train", "validation"):
        records = rows_of(folder / f"queries_{split}.jsonl.gz")
        about = {row["idx"]: row["reference_information"] for row in rows_of(folder / f"reference_{split}.jsonl.gz")}
        records = [record | {"reference_information": about.get(record["idx"], [])} for record in records]
        text = io.StringIO(newline="")
        columns = dict.fromkeys(name for record in records for name in record)
        writer = csv.DictWriter(text, list(columns))
        writer.writeheader()
        writer.writerows(records)
        files[f"/{split}.csv"] = text.getvalue().encode()
    tables = {name: folder / (f"{name}.csv.gz" if name != "city_state" else "city_state.tsv") for name in SOURCES}
    packed = {
        f"database/{SOURCES[name]}": gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for name, path in tables.items()
    }
    return files | {"/database.zip": zipped(packed)}


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]


if __name__ == "__main__":
    sys.exit(main())
