"""Runs: killed at any moment, opened by anybody, and always whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import manifest, run_rules
from lab.files import write_atomically
from lab.places import ROOT
from lab.runs import Episode, Manifest, ManifestMismatch, Run, RunBusy, read_lines

PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
TASKS = 40


def filled(folder: Path, episodes: int, tasks: int = 5) -> Manifest:
    """A closed run of which this many episodes are there."""
    about = manifest(tasks)
    with Run(folder, about) as run:
        for task in run.pending()[:episodes]:
            run.append(Episode(task, {"text": f"Zürich {task}"}), {"seconds": 1.0}, [{"request": task}])
    return about


def lines(folder: Path) -> list[bytes]:
    return sorted((folder / "episodes.jsonl").read_bytes().splitlines(keepends=True))


# --- resuming ---------------------------------------------------------------------------------------------------


def test_a_run_resumes_with_what_is_missing_in_order(tmp_path: Path) -> None:
    about = filled(tmp_path, 2)
    with Run(tmp_path, about) as run:
        assert run.pending() == ["002", "003", "004"]
        run.append(Episode("004", 4))
        run.append(Episode("002", 2))
        assert [episode.task for episode in run.results()] == ["000", "001", "002", "004"]


def test_a_failed_episode_stays_and_is_not_played_again(tmp_path: Path) -> None:
    about = manifest(2)
    with Run(tmp_path, about) as run:
        run.append(Episode("000", None, "ValueError: no"))
    with Run(tmp_path, about) as run:
        assert run.pending() == ["001"]
        assert [(episode.failed, episode.error) for episode in run.results()] == [(True, "ValueError: no")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "other"}, "method is 'asking' there and 'other' here"),
        ({"engine": "rules@0.5"}, "engine is 'rules' there and 'rules@0.5' here"),
        ({"address": "http://a"}, "address is 'rules' there"),
        ({"parameters": {"deep": {"budget": 4}, "size": [1, 2]}}, r"parameters\.deep\.budget is 3 there and 4 here"),
        ({"parameters": {"deep": {"budget": 3}}}, r"parameters\.size is \[1, 2\] there and None here"),
        ({"tasks": ("000", "001")}, "n_tasks is 3 there and 2 here"),
        ({"tasks": ("000", "002", "001")}, "tasks_hash is"),
        ({"code": "0" * 16}, "code is"),
    ],
)
def test_another_experiment_is_refused_by_naming_the_difference(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    about = manifest(3, deep={"budget": 3}, size=(1, 2))
    Run(tmp_path, about).close()
    with pytest.raises(ManifestMismatch, match=message) as caught:
        Run(tmp_path, replace(about, **change))
    assert str(caught.value).count(" there and ") <= 2  # and nothing but the difference
    Run(tmp_path, about).close()  # nor did the refused one hold the folder


def test_the_same_experiment_said_in_other_json_is_the_same(tmp_path: Path) -> None:
    about = manifest(3, size=(1, 2), limit=float("nan"))
    Run(tmp_path, about).close()
    Run(tmp_path, replace(about, parameters={"limit": float("nan"), "size": (1, 2)}, surroundings={})).close()


def test_experiments_that_differ_have_different_folder_names() -> None:
    abouts = [manifest(3), manifest(4), manifest(3, "rules@0.5"), manifest(3, budget=1), manifest(3, budget=2)]
    names = {about.name() for about in abouts}
    assert len(names) == len(abouts) and manifest(3).name() in names
    assert not any("/" in manifest(1, "meta/Llama:3?x=1").name() for _ in "x")


def test_task_ids_that_repeat_are_refused() -> None:
    with pytest.raises(ValueError, match="these are not: b"):
        Manifest.of("m", "rules", "rules", {}, ["a", "b", "b"], [])


# --- torn and odd lines -----------------------------------------------------------------------------------------


def test_a_last_line_torn_at_any_byte_is_redone(tmp_path: Path) -> None:
    about = filled(tmp_path, 3)
    path = tmp_path / "episodes.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    assert len(whole) - last > 30
    for size in range(last, len(whole)):
        path.write_bytes(whole[:size])
        with Run(tmp_path, about) as run:
            assert run.pending() == ["002", "003", "004"]
            run.append(Episode("002", {"text": "Zürich 002"}))
        assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["usage.jsonl", "answers.jsonl"])
def test_a_torn_line_beside_the_episodes_spoils_no_later_one(tmp_path: Path, name: str) -> None:
    about = filled(tmp_path, 3)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-4])
    with Run(tmp_path, about) as run:
        run.append(Episode("003", None), {"seconds": 2.0}, [{"request": "003"}])
    assert [line.get("task") or line["request"] for line in read_lines(path)] == ["000", "001", "003"]


def test_an_episode_repeated_after_a_kill_counts_its_last_usage(tmp_path: Path) -> None:
    about = filled(tmp_path, 1)
    with Run(tmp_path, about) as run:
        run.append(Episode("001", 1), {"seconds": 3.0})
        run.append(Episode("001", 1), {"seconds": 4.0})
        assert run.usage() == {"000": {"seconds": 1.0}, "001": {"seconds": 4.0}}


def test_a_result_that_is_no_json_leaves_nothing_behind(tmp_path: Path) -> None:
    about = filled(tmp_path, 1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with Run(tmp_path, about) as run, pytest.raises(TypeError, match="set"):
        run.append(Episode("001", {1, 2}), {"seconds": 1.0}, [{"request": "001"}])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


odd = st.sampled_from(["\ud800", "a\udfff", "\u2028", "\x00", "\n", "\x85"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | odd,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(result=json_values)
def test_any_result_reads_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, result: object) -> None:
    folder = tmp_path_factory.mktemp("run")
    with Run(folder, manifest(1)) as run:
        run.append(Episode("000", result))
    with Run(folder, manifest(1)) as run:
        assert run.results() == [Episode("000", result)]


# --- two at once ------------------------------------------------------------------------------------------------


def test_a_second_opener_in_the_same_process_is_refused_with_the_firsts_name(tmp_path: Path) -> None:
    with (
        Run(tmp_path, manifest(3)),
        pytest.raises(RunBusy, match=f"{tmp_path} is being written by process {os.getpid()} on"),
    ):
        Run(tmp_path, manifest(3))
    Run(tmp_path, manifest(3)).close()


def test_another_process_is_refused_with_the_firsts_name_until_that_is_dead(tmp_path: Path) -> None:
    code = (
        f"import asking, sys; run = asking.Run({str(tmp_path)!r}, asking.manifest(3)); print('open'); sys.stdin.read()"
    )
    command = [sys.executable, "-uc", code]
    with subprocess.Popen(command, env=PATHS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "open\n"
        with pytest.raises(RunBusy, match=f"process {first.pid} on"):
            Run(tmp_path, manifest(3))
        first.kill()
    Run(tmp_path, manifest(3)).close()


# --- killed -----------------------------------------------------------------------------------------------------


def test_a_run_killed_again_and_again_ends_with_the_same_lines(tmp_path: Path, seeded: Random) -> None:
    run_rules(tmp_path / "calm", TASKS, pause=0)
    disturbed = tmp_path / "killed"
    code = f"import asking, pathlib; asking.run_rules(pathlib.Path({str(disturbed)!r}), {TASKS}, pause=0.004)"
    kills = 0
    for _ in range(8):
        with subprocess.Popen([sys.executable, "-c", code], env=PATHS) as player:
            wait_for(disturbed / "episodes.jsonl", seeded.randint(1, 5), player)
            time.sleep(seeded.uniform(0, 0.015))
            player.kill()
        kills += player.returncode == -signal.SIGKILL
    assert kills >= 6
    run_rules(disturbed, TASKS, pause=0)
    assert lines(disturbed) == lines(tmp_path / "calm")
    assert len(lines(disturbed)) == TASKS


def wait_for(path: Path, more: int, player: subprocess.Popen[bytes]) -> None:
    """Until the file has this many more lines, or the player is done."""
    goal = more + (path.read_bytes().count(b"\n") if path.exists() else 0)
    deadline = time.monotonic() + 30
    while player.poll() is None and time.monotonic() < deadline:
        if path.exists() and path.read_bytes().count(b"\n") >= goal:
            return
        time.sleep(0.001)


def test_a_file_written_atomically_is_old_or_new_and_leaves_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "text")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    write_atomically(path, b"new")
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"new"]


def test_the_manifest_says_what_the_run_was_made_with(tmp_path: Path) -> None:
    Run(tmp_path, manifest(2, budget=3)).close()
    held = json.loads((tmp_path / "manifest.json").read_text())
    assert held["tasks"] == ["000", "001"] and held["parameters"] == {"budget": 3}
    assert set(held["surroundings"]) == {"commit", "packages"} and held["code"]
