"""Runs: killed at any moment, opened by anybody, and always whole."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kills
from asking import manifest, run_rules
from chat_server import ChatServer
from lab.machine.faults import DamagedFile
from lab.machine.files import append_durably, write_atomically
from lab.machine.paths import ROOT
from lab.runs.catalogue import folder_for, index
from lab.runs.run import RETRY_FAILED, Episode, Manifest, ManifestMismatch, Run, RunBusy, read_lines

PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}
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
    about = filled(tmp_path, 1)
    with Run(tmp_path, about) as run:
        run.append(Episode("001", None, "ValueError: no"), {"seconds": 3.0})
        run.append(Episode("001", None, "ValueError: no"), {"seconds": 4.0})  # repeated after a kill: the last counts
        assert run.usage() == {"000": {"seconds": 1.0}, "001": {"seconds": 4.0}}
    with Run(tmp_path, about) as run:
        assert run.pending() == ["002", "003", "004"], "a failed episode stays"
        run.append(Episode("004", 4))
        run.append(Episode("002", 2))
        assert [(episode.task, episode.failed) for episode in run.results()] == [
            ("000", False), ("001", True), ("002", False), ("004", False)
        ]  # fmt: skip
    with pytest.raises(ValueError, match=f"The run in {tmp_path} is closed"):
        run.append(Episode("003", 1))
    held = json.loads((tmp_path / "manifest.json").read_text())
    assert held["tasks"] == [f"{number:03d}" for number in range(5)]
    assert set(held["surroundings"]) == {"commit", "packages", "sources"} and held["code"]


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
def test_another_experiment_is_refused_by_its_difference(
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
    (tmp_path / ".manifest.json.half").write_bytes(b"{")  # one that was being written is cleared away
    Run(tmp_path, about).close()
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "run.lock"}
    Run(tmp_path, replace(about, parameters={"limit": float("nan"), "size": (1, 2)}, surroundings={})).close()


def test_experiments_that_differ_have_different_folders() -> None:
    abouts = [manifest(3), manifest(4), manifest(3, "rules@0.5"), manifest(3, budget=1), manifest(3, budget=2)]
    folders = {folder_for(about, "") for about in abouts}
    assert len(folders) == len(abouts) and folder_for(manifest(3), "") in folders
    with pytest.raises(ValueError, match="these are not: b"):
        Manifest.of("m", "rules", "rules", {}, ["a", "b", "b"], [])


def test_a_fault_stays_pending_until_its_episode_is_there(tmp_path: Path) -> None:
    with Run(tmp_path, manifest(2)) as run:
        run.append_fault("000", "the disk is gone")
        assert run.usage() == {}
        run.append_fault("000", "the disk is gone", {"act": {"calls": 2}})
        assert run.usage() == {"000": {"act": {"calls": 2}}}
    with Run(tmp_path, manifest(2)) as run:
        assert run.pending() == ["001", "000"]  # first what did not fail
        assert run.not_measured == {"000": "the disk is gone"}
        run.append(Episode("000", {}))
        assert run.pending() == ["001"] and run.not_measured == {}
    with Run(tmp_path, manifest(2)) as run:
        assert run.not_measured == {}


def test_failed_episodes_are_played_again_where_asked_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RETRY_FAILED, "1")
    about = manifest(5)
    with Run(tmp_path, about) as run:
        assert len(run.pending()) == 5
        run.append(Episode("000", {"shelf": 1}))
        run.append(Episode("001", None, "MalformedAnswer: no"))
        run.append(Episode("002", {"shelf": None}), {"act": {"paths": {"malformed": 4}}})
        run.append(Episode("003", {"shelf": 2}), {"act": {"paths": {"malformed": 4, "schema": 1}}})
    with Run(tmp_path, about) as run:  # the same process has played it just now
        assert run.pending() == ["004"]
    monkeypatch.setattr("lab.runs.run._retried", set())
    Run(tmp_path, about).close()  # as if it were killed right after
    monkeypatch.delenv(RETRY_FAILED)
    with Run(tmp_path, about) as run:
        assert run.pending() == ["001", "002", "004"]
        assert [episode.task for episode in run.results()] == ["000", "003"]


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


def test_a_line_that_is_torn_edited_or_another_runs_is_set_aside_and_its_episode_played_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    about, path = filled(tmp_path / "run", 4), tmp_path / "run" / "episodes.jsonl"
    filled_by_another = replace(about, engine="rules@0.5")
    with Run(tmp_path / "other", filled_by_another) as other:
        other.append(Episode("004", {"text": "another engine's"}))
    first, second, third, fourth = path.read_bytes().splitlines(keepends=True)
    bad = [second[:20] + b"\n", third.replace(b"002", b"004"), (tmp_path / "other" / "episodes.jsonl").read_bytes()]
    path.write_bytes(b"".join([first, bad[0], bytes(30) + b"\n", bad[1], fourth, bad[2]]))
    with Run(tmp_path / "run", about) as run:
        assert run.pending() == ["001", "002", "004"]
    told = capsys.readouterr().err
    assert f"{path}: 4 of 6 lines (2, 3, 4, 6) are torn, changed or another run's" in told and told.count("\n") == 1
    assert path.read_bytes() == first + fourth
    aside = path.with_name("episodes.jsonl.damaged").read_bytes()
    assert aside == bad[0] + bytes(30) + b"\n" + bad[1] + bad[2], "nothing that was there is lost"


def test_a_lost_manifest_of_this_experiment_is_rewritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about, path = filled(tmp_path, 3), tmp_path / "manifest.json"
    whole = path.read_bytes()
    for torn in (None, whole[:50], bytes(len(whole)), whole.replace(b'"rules"', b'"gpt-4"', 1)):
        path.unlink() if torn is None else path.write_bytes(torn)
        with Run(tmp_path, about) as run:
            assert run.pending() == ["003", "004"]
        assert path.read_bytes() == whole and "it was written again" in capsys.readouterr().err
    path.unlink()
    with pytest.raises(ManifestMismatch, match="is missing, and the 3 lines .* are not of this"):
        Run(tmp_path, replace(about, engine="rules@0.5"))


@pytest.mark.parametrize("target", ["../../elsewhere", "/nowhere/at/all", "x/..", None])
def test_an_index_that_leads_elsewhere_is_named(target: str | None) -> None:
    about = manifest(3)
    assert folder_for(about, "") == folder_for(about, "")
    link = index() / about.digest
    link.unlink()
    link.symlink_to(target) if target else link.mkdir()
    with pytest.raises(DamagedFile, match=f"{link} is damaged: .* Delete it"):
        folder_for(about, "")


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


@settings(max_examples=40)
@given(result=json_values)
def test_any_result_reads_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, result: object) -> None:
    folder = tmp_path_factory.mktemp("run")
    with Run(folder, manifest(1)) as run:
        run.append(Episode("000", result))
    with Run(folder, manifest(1)) as run:
        assert run.results() == [Episode("000", result)]


# --- two at once ------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("kind", ["rules", "server"])
def test_a_run_killed_again_and_again_ends_as_one_not(
    tmp_path: Path, server: ChatServer, kind: str, count: int
) -> None:
    server.behave(kills.steady)
    sessions = {
        "rules": partial(kills.rules_session, tasks=TASKS),
        "server": partial(kills.server_session, tasks=TASKS, address=server.address),
    }
    outcome = kills.disturb(sessions[kind], tmp_path, count, TASKS, Random(f"20260101-{kind}"))
    assert outcome.differences == []
    assert outcome.kills.total() == count and min(outcome.kills[when] for when in ("timer", "write", "fsync")) > 0
    assert outcome.torn.total() > 0


def test_a_run_that_differs_from_the_undisturbed_one_is_told(tmp_path: Path) -> None:
    for folder in ("calm", "other"):
        run_rules(tmp_path / folder / "run", 5, pause=0)
    calm, other = tmp_path / "calm", tmp_path / "other"
    assert kills.differences(calm, other, 5) == []
    for name in kills.FILES:
        path = other / "run" / name
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    (other / "run" / ".manifest.json.x").touch()
    told = kills.differences(calm, other, 5)
    assert [words.rpartition(" ")[2] for words in told] == ["episodes", "answers", "accounts", "files"]


def test_ctrl_c_before_a_line_is_booked_makes_no_second_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(path: Path, data: bytes) -> None:
        append_durably(path, data)
        raise KeyboardInterrupt

    with Run(tmp_path, manifest(2)) as run:
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr("lab.runs.run.append_durably", interrupted)
            run.append(Episode("000", 1))
        assert run.pending() == ["001"] and run.results() == [Episode("000", 1)]


def test_a_file_written_atomically_is_old_or_new_and_leaves_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "text")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    write_atomically(path, b"new")
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"new"]
