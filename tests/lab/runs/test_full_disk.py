"""A disk without room: what is there stays whole, the error says what to do, and with room it goes on."""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import chat_server as chat
import kills
from asking import ASK, episodes, manifest, play, run_rules
from chat_server import ChatServer
from lab.machine.faults import Unavailable
from lab.machine.files import append_durably, write_atomically
from lab.models.cache import AnswerCache
from lab.models.connect import connect
from lab.runs.execution import play_all
from lab.runs.run import Run

TASKS, FEW = 60, 6
GOOD = {"shelf": 3, "why": "it is free"}
FILLER = "filler"
STOPPED = r"No space left: (\d+) of 60 episodes are safe in {folder}; free some space and run again to resume"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path, left: int = 0) -> None:
    """Leave about so many bytes."""
    with (disk / FILLER).open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(1024))
    with (disk / FILLER).open("r+b") as file:
        file.truncate(max(0, (disk / FILLER).stat().st_size - left))


def free(disk: Path) -> None:
    (disk / FILLER).unlink()


def played(folder: Path, workers: int, backend: str) -> None:
    with Run(folder, manifest(TASKS, kills.ENGINE)) as run:
        play_all(run, episodes(kills.ENGINE), workers, backend, show_progress=False)


def kept(run: Path) -> int:
    """Whole lines; every one must be JSON."""
    path = run / "episodes.jsonl"
    return len([json.loads(line) for line in path.read_bytes().splitlines()]) if path.exists() else 0


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "backend"), [(1, "loky"), (2, "threading"), (2, "loky")])
def test_a_run_on_a_full_disk_stops_safely_and_resumes(tmp_path: Path, disk: Path, workers: int, backend: str) -> None:
    run_rules(tmp_path / "calm" / "run", TASKS, pause=0)
    run = disk / "run"
    for left in (30_000, 5_000, 9_000):
        fill(disk, left)
        with pytest.raises(OSError, match=STOPPED.format(folder=run)) as stopped:
            played(run, workers, backend)
        assert f"{kept(run)} of 60" in str(stopped.value)
        assert 0 < kept(run) < TASKS
        free(disk)
    played(run, workers, backend)
    assert kills.differences(tmp_path / "calm", disk, TASKS) == []


def test_an_open_run_goes_on_when_there_is_room_again(tmp_path: Path, disk: Path) -> None:
    run_rules(tmp_path / "calm" / "run", TASKS, pause=0)
    with Run(disk / "run", manifest(TASKS, kills.ENGINE)) as run:
        for left in range(0, 12_000, 1_500):  # so that it is full now in one file, now in another
            fill(disk, left)
            with pytest.raises(OSError):
                play_all(run, episodes(kills.ENGINE), show_progress=False)
            assert len(run.episodes) == kept(disk / "run") == TASKS - len(run.pending())
            free(disk)
        assert 0 < len(run.episodes) < TASKS
        assert len(play_all(run, episodes(kills.ENGINE), show_progress=False)) == TASKS
    assert kills.differences(tmp_path / "calm", disk, TASKS) == []


def test_a_run_that_cannot_begin_says_so(disk: Path, tmp_path: Path) -> None:
    fill(disk)
    with pytest.raises(OSError, match="No space left: 0 of 60 episodes are safe in"):
        Run(disk / "run", manifest(TASKS))
    free(disk)
    Run(disk / "run", manifest(TASKS)).close()
    (tmp_path / "run").write_text("a file")
    with pytest.raises(
        OSError, match=r"File exists \(.*/run\): 0 of 60 episodes are safe in .*; mend that and run again"
    ):
        Run(tmp_path / "run", manifest(TASKS))


def test_a_file_that_may_not_grow_gives_the_same_error(tmp_path: Path, small_files: None) -> None:
    """Without a mount: the process's own limit, which stops a write in its middle too."""
    with Run(tmp_path / "run", manifest(TASKS, kills.ENGINE)) as run:
        with pytest.raises(OSError, match=r"File too large: (\d+) of 60 episodes are safe in .*; mend that"):
            play_all(run, episodes(kills.ENGINE), show_progress=False)
        assert 0 < len(run.episodes) == kept(tmp_path / "run") < TASKS
        lift_limit()
        assert len(play_all(run, episodes(kills.ENGINE), show_progress=False)) == TASKS
    lift_limit()
    run_rules(tmp_path / "calm" / "run", TASKS, pause=0)
    assert kills.differences(tmp_path / "calm", tmp_path, TASKS) == []


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file of this process may grow over 10 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    yield
    lift_limit()


def lift_limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def test_a_write_that_finds_no_room_leaves_the_file_as_it_was(disk: Path) -> None:
    append_durably(disk / "lines", b"first\n")
    write_atomically(disk / "file", b"old")
    fill(disk, left=5_000)
    for write in (append_durably, write_atomically):
        with pytest.raises(OSError, match="No space left"):
            write(disk / ("lines" if write is append_durably else "file"), bytes(50_000))
    assert ((disk / "lines").read_bytes(), (disk / "file").read_bytes()) == (b"first\n", b"old")
    assert {path.name for path in disk.iterdir()} == {"file", "lines", FILLER}


# --- the cache --------------------------------------------------------------------------------------------------


def test_episodes_go_on_uncached_while_the_caches_disk_is_full(
    tmp_path: Path, disk: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    backbone = connect("small", cache=AnswerCache(disk / "answers.sqlite"))
    assert not backbone.ask(ASK, box=1000).call.cached
    fill(disk)
    with Run(tmp_path / "run", manifest(FEW, "small", server.address)) as run:
        results = play_all(run, partial(play, backbone=backbone), 2, "threading")
    assert not any(episode.failed for episode in results)
    said = f"an answer could not be kept in {disk / 'answers.sqlite'}: database or disk is full; it goes on without"
    assert said in capsys.readouterr().err
    assert backbone.ask(ASK, box=1000).call.cached  # what is there can be read
    free(disk)
    assert [backbone.ask(ASK, box=2000).call.cached for _ in range(2)] == [False, True]


def test_a_cache_that_cannot_begin_stops_the_run_at_once(tmp_path: Path, disk: Path, server: ChatServer) -> None:
    server.behave(lambda request: chat.answer(GOOD))
    fill(disk)
    backbone = connect("small", cache=AnswerCache(disk / "answers.sqlite"))
    about = manifest(FEW, "small", server.address)
    with (
        Run(tmp_path / "run", about) as run,
        pytest.raises(Unavailable, match="cannot be used: database or disk is full.*free some.*LAB_CACHE") as stopped,
    ):
        play_all(run, partial(play, backbone=backbone), show_progress=False)
    assert server.count == 0 and "0 of 6 episodes are in" in "".join(stopped.value.__notes__)
    free(disk)
    with Run(tmp_path / "run", about) as run:
        results = play_all(run, partial(play, backbone=backbone), show_progress=False)
    assert not any(episode.failed for episode in results)
