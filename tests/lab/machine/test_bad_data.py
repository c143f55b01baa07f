"""Damaged data is never called official, and no damaged download is kept.

benchmarks/campaign_bad_data.py does the same to the official data of every world, in more ways.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from bad_data import FILE_DAMAGES, PAGE, Mirror
from lab.__main__ import main
from lab.machine import datasets, doctor
from lab.machine.datasets import Manifest, UnexpectedData
from lab.machine.download import DownloadFailed
from lab.machine.faults import DamagedData, MissingData
from worlds.blocksworld import load, official
from worlds.blocksworld.synthetic import synthetic_problem

PROBLEMS = [synthetic_problem(4, Random(seed)) for seed in range(8)]
FILE = f"blocksworld/{official.FILE}"
SLOW = ("a bomb",)
QUIET = print


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """Serves eight problems as PlanBench's repository has 501."""
    files = {f"/instance-{n}.pddl": problem.to_pddl(f"p{n}").encode() for n, problem in enumerate(PROBLEMS, 1)}
    with Mirror(files, "/instance-5.pddl") as running:
        monkeypatch.setattr(official, "URL", f"{running.address}/instance-{{number}}.pddl")
        monkeypatch.setattr(official, "COUNT", len(PROBLEMS))
        monkeypatch.setattr(official, "DIGEST", official.digest(PROBLEMS))
        monkeypatch.setattr("lab.machine.download.time.sleep", lambda seconds: None)
        yield running


@pytest.fixture
def data(mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of official data with these problems, whose manifest is theirs; nothing was fetched there."""
    folder = tmp_path / "data"
    (folder / "blocksworld").mkdir(parents=True)
    monkeypatch.setenv("LAB_DATA", str(folder))
    official.fetch(folder / "blocksworld", QUIET)
    sha256 = datasets._sha256(folder / FILE)
    monkeypatch.setattr(datasets, "known", lambda: {"blocksworld": Manifest({FILE: sha256}, [FILE], converted=[FILE])})
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("how", [how for how in FILE_DAMAGES if how not in SLOW])
def test_a_damaged_file_is_named_with_what_to_do_and_never_official(how: str, data: Path) -> None:
    (data / "blocksworld" / "leaflet.pdf").write_text("more files may lie here")
    assert load().data == "official"
    FILE_DAMAGES[how](data / FILE)
    whole = how == "missing"  # the only file of the manifest: nothing of the dataset is here then
    for asked in ("auto", "official"):
        if whole and asked == "auto":
            assert load().data == "synthetic"
            continue
        with pytest.raises(MissingData, match="blocksworld.*python -m lab data fetch blocksworld"):
            load(asked)
    assert load("synthetic").data == "synthetic"


def test_a_part_of_a_dataset_is_none(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha256 = datasets.known()["blocksworld"].files[FILE]
    both = Manifest({FILE: sha256, "blocksworld/plans.json": sha256}, [FILE, "blocksworld/plans.json"])
    monkeypatch.setattr(datasets, "known", lambda: {"blocksworld": both})
    with pytest.raises(DamagedData, match="blocksworld/plans.json is missing"):
        load()


BROKEN: dict[str, Callable[[Path], object]] = {
    "a file": lambda place: place.write_text("x"),
    "a loop": lambda place: place.symlink_to(place.name),
    "a link to nowhere": lambda place: place.symlink_to("nowhere"),
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("below", [".", "blocksworld"])
def test_a_folder_that_is_none_is_an_error_under_auto(what: str, below: str, data: Path) -> None:
    place = (data / below).resolve()
    shutil.rmtree(place)
    BROKEN[what](place)
    with pytest.raises(MissingData, match=f"{place}.*(unset LAB_DATA|data fetch blocksworld)"):
        load()


def test_a_folder_without_the_dataset_is_made_data_under_auto(data: Path) -> None:
    shutil.rmtree(data / "blocksworld")
    (data / "blocksworld" / "raw").mkdir(parents=True)  # as an interrupted fetch leaves it
    assert load().data == "synthetic"


def test_a_whole_file_is_hashed_once(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []
    digest = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda file, kind: hashed.append(Path(file.name)) or digest(file, kind))
    datasets._hashed.cache_clear()  # as in another process
    assert load().data == load().data == "official" and hashed == [data / FILE]
    os.utime(data / FILE, (1, 1))
    assert load().data == "official" and len(hashed) == 2


@pytest.mark.parametrize("junk", [b"", b"[1, 2]", b'{"x": ', b"\0\0\0", b'{"files": 3}', b'{"files": {"%s": 1}}'])
def test_junk_in_what_was_fetched_leaves_the_manifest_alone(junk: bytes, data: Path) -> None:
    (data / "blocksworld.fetched.json").write_bytes(junk.replace(b"%s", FILE.encode()))
    assert load().data == "official"
    FILE_DAMAGES["another letter"](data / FILE)
    with pytest.raises(DamagedData, match="is cut or changed"):
        load()


def test_what_is_meant_can_be_accepted(data: Path, capsys: pytest.CaptureFixture) -> None:
    FILE_DAMAGES["half the rows"](data / FILE)
    assert main(["data"]) == 0
    assert "DAMAGED: blocksworld's official data" in capsys.readouterr().out
    (check,) = [check for check in doctor.own_checks() if check.what == "dataset blocksworld"]
    assert not (check.ok or check.optional) and "is cut or changed" in check.detail
    assert main(["data", "fetch", "blocksworld", "--as-is"]) == 0
    assert load().data == "official"
    FILE_DAMAGES["one row"](data / FILE)
    with pytest.raises(DamagedData, match="is cut or changed"):
        load()
    FILE_DAMAGES["half the bytes"](data / FILE)
    assert main(["data", "fetch", "blocksworld", "--as-is"]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_a_tree_is_known_by_the_number_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    tree = Manifest({}, counts={"trips/**/plan.json": 2})
    monkeypatch.setattr(datasets, "known", lambda: {"trips": tree})
    datasets.check("trips")
    for number in range(3):
        (tmp_path / f"trips/{number}").mkdir(parents=True)
        (tmp_path / f"trips/{number}/plan.json").write_text("{}")
        if number == 1:
            datasets.check("trips")
        else:
            with pytest.raises(DamagedData, match=rf"plan.json has {number + 1} files, not 2.*Restore"):
                datasets.check("trips")


@pytest.mark.slow
@pytest.mark.official
@pytest.mark.skipif(not os.environ.get("LAB_DATA"), reason="LAB_DATA names no official data")
@pytest.mark.parametrize("name", datasets.known())
def test_the_official_data_is_that_of_the_manifests(name: str) -> None:
    datasets.check(name)


# --- downloads ----------------------------------------------------------------------------------------------------

BAD = ("a page", "a page called a file", "an XML error", "a JSON error", "nothing", "204", "206 unasked",
       "206 unasked, no range", "length too long", "length too short", "length no number", "half, no length",
       "half a chunk", "packed unasked", "to a page", "to no host", "404", "500", "reset")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("how", BAD)
def test_a_bad_mirror_is_named_and_the_next_fetch_succeeds(how: str, mirror: Mirror, data: Path) -> None:
    shutil.rmtree(data / "blocksworld")
    mirror.how = how
    with pytest.raises((DownloadFailed, UnexpectedData), match="127.0.0.1|what was fetched of blocksworld"):
        datasets.fetch("blocksworld", QUIET)
    assert load().data == "synthetic"
    mirror.how = ""
    datasets.fetch("blocksworld", QUIET)
    assert load().data == "official" and len(load().tasks("test")) == len(PROBLEMS)


def test_a_page_that_was_kept_is_put_aside(mirror: Mirror, data: Path) -> None:
    shutil.rmtree(data / "blocksworld")
    raw = data / "blocksworld" / "raw"
    raw.mkdir(parents=True)
    (raw / "instance-3.pddl").write_bytes(PAGE)
    with pytest.raises(UnexpectedData, match="now in .*raw.rejected. Fetch it again"):
        datasets.fetch("blocksworld", QUIET)
    assert (data / "blocksworld" / "raw.rejected" / "instance-3.pddl").read_bytes() == PAGE
    datasets.fetch("blocksworld", QUIET)
    assert load().data == "official"


def test_damaged_data_is_fetched_again(mirror: Mirror, data: Path) -> None:
    FILE_DAMAGES["half the rows"](data / FILE)
    said: list[str] = []
    datasets.fetch("blocksworld", said.append)
    assert "is cut or changed" in said[0] and load().data == "official"
    assert "blocksworld.fetched.json" in [path.name for path in data.iterdir()]


def test_damaged_data_that_no_fetch_brings_is_kept(mirror: Mirror, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha256 = datasets.known()["blocksworld"].files[FILE]
    more = Manifest({FILE: sha256, "blocksworld/plans.json": sha256}, [FILE], converted=[FILE])
    monkeypatch.setattr(datasets, "known", lambda: {"blocksworld": more})
    (data / "blocksworld" / "plans.json").write_text("[1, 2")
    FILE_DAMAGES["a folder"](data / FILE)
    with pytest.raises(DamagedData, match="plans.json is cut or changed"):
        load()
    datasets.fetch("blocksworld", QUIET)
    assert load().data == "official"
    assert (data / "blocksworld" / "plans.json.damaged").read_text() == "[1, 2"
