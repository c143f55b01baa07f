"""Building: the same files in any order, from any number of workers, and after any kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hall_world import Guide, Hall, HallTask, domain, hall
from lab.machine.faults import DamagedData
from lab.machine.paths import ROOT
from lab.runs.experiment import spread
from lab.runs.run import read_lines
from statefactory.benchmark.build import BuildFailed, Built, build, build_all, sample
from worlds.base import NoSolution

BUILD = """
import sys
from pathlib import Path
from hall_world import domain
from statefactory.benchmark.build import build
folder, workers = Path(sys.argv[1]), int(sys.argv[2])
build(domain(halls=24, pause=0.05), "synthetic", 0, workers=workers, folder=folder, show_progress=False)
"""


def built(folder: Path, workers: int = 1, seed: int = 0, limit: int = 0, **options: object) -> Built:
    return build(domain(**options), "synthetic", seed, limit, workers, folder, show_progress=False)


def content(done: Built) -> tuple[bytes, bytes]:
    return done.jsonl.read_bytes(), done.parquet.read_bytes()


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """The files of an undisturbed build."""
    return content(built(tmp_path_factory.mktemp("calm")))


def test_a_build_has_a_pair_a_task_sorted_by_id(tmp_path: Path) -> None:
    done = built(tmp_path)
    assert [pair.task for pair in done.pairs()] == [hall(rooms).id for rooms in range(1, 13)]
    ids = [json.loads(line)["id"] for line in done.jsonl.read_text().splitlines()]
    assert ids == sorted(ids) and len(ids) == 24
    assert done.about["pairs"] == 12 and done.about["skipped"] == {}


@pytest.mark.slow
def test_processes_give_the_same_bytes_as_one(tmp_path: Path, calm: tuple[bytes, bytes]) -> None:
    assert content(built(tmp_path, workers=2)) == calm


def test_a_limit_spreads_over_the_tasks(tmp_path: Path) -> None:
    assert [pair.task for pair in built(tmp_path, limit=3).pairs()] == ["hall-001", "hall-005", "hall-009"]


def test_a_sample_builds_no_more_than_its_pairs_and_reads_all_if_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[build.__module__]
    monkeypatch.setattr(module, "ROOT", tmp_path)
    few = sample("blocksworld", "synthetic", seed=1, limit=4)
    assert [folder.name for folder in (tmp_path / "data/cache/benchmark").iterdir()] == ["synthetic-seed1-limit4"]
    whole = sample("blocksworld", "synthetic", seed=1)
    assert few == spread(whole, 4) and len(whole) == 40
    monkeypatch.setattr(module, "_built", None)
    assert sample("blocksworld", "synthetic", seed=1, limit=5) == spread(whole, 5)


def test_finished_files_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = built(tmp_path)
    monkeypatch.setattr(Hall, "reset", None)
    again = built(tmp_path)
    assert first.fresh and not again.fresh and again.about == first.about


@pytest.mark.parametrize("harm", ["file", "parameters"])
def test_files_that_are_damaged_or_of_another_build_are_made_again(tmp_path: Path, harm: str) -> None:
    first = content(built(tmp_path))
    if harm == "file":
        (tmp_path / "hall.jsonl").write_text("")
        again = built(tmp_path)
        assert again.fresh and content(again) == first
    else:
        again = built(tmp_path, seed=1)
        assert again.fresh and {row.seed for pair in again.pairs() for row in pair.rows} == {1}


def test_a_backend_that_dies_once_is_started_again(tmp_path: Path, calm: tuple[bytes, bytes]) -> None:
    victim = tmp_path / "victim"
    victim.write_text("backend")
    assert content(built(tmp_path / "out", victim=victim)) == calm and not victim.exists()


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(tmp_path: Path, calm: tuple[bytes, bytes]) -> None:
    victim = tmp_path / "victim"
    victim.write_text("worker")
    done = built(tmp_path / "out", workers=2, victim=victim)
    assert content(done) == calm and not victim.exists()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "hall.about.json", "hall.jsonl", "hall.parquet", "runs",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_build_that_is_killed_goes_on_to_the_same_bytes(tmp_path: Path, workers: int) -> None:
    command = [sys.executable, "-c", BUILD, str(tmp_path / "killed"), str(workers)]
    paths = os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}
    process = subprocess.Popen(command, env=paths, start_new_session=True)
    episodes = started(tmp_path / "killed")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    finished = len(read_lines(episodes))
    assert 0 < finished < 24 and not (tmp_path / "killed" / "hall.jsonl").exists()
    assert content(built(tmp_path / "killed", halls=24)) == content(built(tmp_path / "calm", halls=24))
    assert len(read_lines(episodes)) == 24


def started(folder: Path) -> Path:
    """The episodes file, once it has a few lines."""
    for _ in range(600):
        found = list(folder.glob("runs/*/episodes.jsonl"))
        if found and len(read_lines(found[0])) > 3:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("the build did not start")


def test_pairs_that_raise_errors_stop_the_file_and_are_named(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="1 of 12 pairs failed.*hall-007.*does not reach the goal"):
        built(tmp_path, lost=7)
    assert not (tmp_path / "hall.jsonl").exists()


def test_a_task_that_its_expert_cannot_solve_is_skipped_with_the_reason(tmp_path: Path) -> None:
    class Unsure(Guide):
        def actions(self, task: HallTask) -> tuple[str, ...]:
            if task.rooms in (1, 7):  # the first one is tried before the run
                raise NoSolution("no path was found")
            return super().actions(task)

    unsure = replace(domain(), expert=lambda world, data: Unsure())
    done = build(unsure, "synthetic", folder=tmp_path, show_progress=False)
    assert done.about["skipped"] == {"hall-001": "no path was found", "hall-007": "no path was found"}
    assert len(done.pairs()) == 10


def test_damaged_data_of_one_domain_is_told_though_that_of_another_is_wholly_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    (tmp_path / "blocksworld").mkdir()
    (tmp_path / "blocksworld" / "generated_basic_501.jsonl.gz").write_bytes(b"half a file")
    with pytest.raises(DamagedData, match="generated_basic_501"):
        build_all("auto", limit=1, domains=("alfworld", "blocksworld"))
