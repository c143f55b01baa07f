"""Playing episodes: here, on threads, on processes; failing, dying, interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import chat_server as chat
from asking import QUESTIONS, episodes, manifest, play
from chat_server import ChatServer
from lab.machine.faults import BackendDied, Unavailable
from lab.machine.paths import ROOT
from lab.models.connect import connect
from lab.runs.execution import Interrupted, Played, play_all
from lab.runs.run import Run, read_lines

PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}
CANARY = "sk-canary-0123456789abcdef"


def lines(folder: Path) -> list[bytes]:
    return sorted((folder / "episodes.jsonl").read_bytes().splitlines())


def played(folder: Path, workers: int, backend: str) -> list[bytes]:
    with Run(folder, manifest(12, "rules@0.6")) as run:
        results = play_all(run, episodes("rules@0.6"), workers, backend, show_progress=False)
        assert [episode.task for episode in results] == list(run.manifest.tasks)
    return lines(folder)


def test_processes_and_threads_give_the_same_episodes_as_one_process(tmp_path: Path) -> None:
    alone = played(tmp_path / "alone", 1, "loky")
    assert len(alone) == 12
    assert played(tmp_path / "threads", 3, "threading") == alone
    assert played(tmp_path / "processes", 2, "loky") == alone


def test_a_finished_run_is_not_played_again(tmp_path: Path) -> None:
    alone = played(tmp_path, 1, "loky")
    with Run(tmp_path, manifest(12, "rules@0.6")) as run:
        assert len(play_all(run, must_not_play, show_progress=False)) == 12
    assert lines(tmp_path) == alone


def must_not_play(task: str) -> Played:
    raise AssertionError(f"{task} was played again")


# --- episodes that fail -----------------------------------------------------------------------------------------


def fail_on_odd(task: str) -> Played:
    if int(task) % 2:
        raise ValueError(f"the server said {os.environ['OPENAI_API_KEY']}")
    return Played({"done": task})


@pytest.mark.parametrize(("workers", "backend"), [(1, "loky"), (2, "threading"), (2, "loky")])
def test_an_episode_that_raises_is_recorded_without_keys_and_stays_in_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, backend: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    with Run(tmp_path, manifest(6)) as run:
        results = play_all(run, fail_on_odd, workers, backend, show_progress=False)
    assert [episode.failed for episode in results] == [False, True] * 3
    assert "ValueError: the server said [hidden]" in results[1].error
    assert "tests/lab/runs/test_execution.py" in results[1].error and str(ROOT) not in results[1].error
    assert CANARY not in (tmp_path / "episodes.jsonl").read_text()


def fail_with_accounts(task: str) -> Played:
    error = RuntimeError("late")
    error.played = Played(None, {"seconds": 2.0}, [{"request": task}])
    raise error


def test_what_a_failed_episode_took_is_kept_where_the_error_carries_it(tmp_path: Path) -> None:
    with Run(tmp_path, manifest(1)) as run:
        assert play_all(run, fail_with_accounts, show_progress=False)[0].failed
        assert run.usage() == {"000": {"seconds": 2.0}}
    assert read_lines(tmp_path / "answers.jsonl") == [{"request": "000"}]


def die(task: str, folder: Path, deaths: int) -> Played:
    """Die as often as told, counting in files, since processes share nothing else."""
    tries = len(list(folder.glob(f"{task}-*")))
    (folder / f"{task}-{tries}").touch()
    if tries < deaths:
        raise BackendDied("the JVM is gone")
    return Played({"tries": tries + 1})


@pytest.mark.parametrize(("deaths", "tries", "measured"), [(0, 1, True), (1, 2, True), (2, 2, False), (9, 2, False)])
def test_a_backend_that_died_is_given_one_more_try(tmp_path: Path, deaths: int, tries: int, measured: bool) -> None:
    with Run(tmp_path / "run", manifest(1)) as run:
        play_all(run, partial(die, folder=tmp_path, deaths=deaths), show_progress=False)
        assert (list(run.episodes), list(run.not_measured)) == ((["000"], []) if measured else ([], ["000"]))
        assert run.pending() == ([] if measured else ["000"])
    assert len(list(tmp_path.glob("000-*"))) == tries


@pytest.mark.parametrize(("workers", "backend"), [(1, "loky"), (2, "threading"), (2, "loky")])
def test_a_server_that_answers_nobody_stops_the_run_and_fails_no_episode(
    tmp_path: Path, server: ChatServer, workers: int, backend: str
) -> None:
    server.behave(lambda request: chat.answer({"shelf": 1, "why": ""}) if request.number < 9 else chat.out_of_quota())
    about = manifest(8, "small", server.address)
    backbone = connect("small", cache=None)
    with Run(tmp_path, about) as run, pytest.raises(Unavailable, match="exceeded your current quota") as caught:
        play_all(run, partial(play, backbone=backbone), workers, backend, show_progress=False)
    kept = len(lines(tmp_path))
    assert 1 <= kept <= 3 and not any(json.loads(line)["error"] for line in lines(tmp_path))
    assert f"{kept} of 8 episodes are in {tmp_path}; run again to resume" in "".join(caught.value.__notes__)
    server.behave(lambda request: chat.answer({"shelf": 1, "why": ""}))
    with Run(tmp_path, about) as run:
        results = play_all(run, partial(play, backbone=backbone), workers, backend, show_progress=False)
    assert [episode.failed for episode in results] == [False] * 8


# --- interrupted ------------------------------------------------------------------------------------------------

INTERRUPTED = """
import asking, sys, pathlib
folder, engine, workers, backend, pause = sys.argv[1:]
with asking.Run(pathlib.Path(folder), asking.manifest(400, engine)) as run:
    play = asking.episodes(engine, pause=float(pause))
    asking.play_all(run, play, int(workers), backend, show_progress=False)
"""


@contextmanager
def player(folder: Path, engine: str, workers: int, backend: str, pause: float) -> Iterator[subprocess.Popen[str]]:
    """A process that plays, with a terminal's process group of its own."""
    command = [sys.executable, "-c", INTERRUPTED, str(folder), engine, str(workers), backend, str(pause)]
    keep = {name: value for name, value in os.environ.items() if name.startswith(("OPENAI", "LAB", "PATH"))}
    process = subprocess.Popen(command, env=keep | PATHS, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        for pid in session(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()


def session(leader: int) -> list[int]:
    """Living processes of the session that `leader` began."""
    return [pid for pid, state, sid in map(stat, Path("/proc").glob("[0-9]*/stat")) if sid == leader and state != "Z"]


def stat(path: Path) -> tuple[int, str, int]:
    try:
        state, _, _, sid = path.read_text().rpartition(")")[2].split()[:4]
    except OSError:  # gone meanwhile
        return 0, "Z", 0
    return int(path.parent.name), state, int(sid)


def until(condition: object, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def some_lines(folder: Path) -> bool:
    path = folder / "episodes.jsonl"
    return path.exists() and path.read_bytes().count(b"\n") >= 4


@pytest.mark.parametrize(("workers", "backend"), [(1, "loky"), (2, "threading"), (2, "loky")])
def test_ctrl_c_keeps_what_was_finished_and_leaves_nobody_behind(tmp_path: Path, workers: int, backend: str) -> None:
    with player(tmp_path, "rules@0.6", workers, backend, pause=0.03) as process:
        assert until(lambda: some_lines(tmp_path), 30)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
        began = time.monotonic()
        _, said = process.communicate(timeout=20)
        assert time.monotonic() - began < 5
        assert process.returncode != 0
        kept = len(lines(tmp_path))
        assert f"lab.runs.execution.Interrupted: {kept} of 400 episodes are in {tmp_path}; run again to resume" in said
        assert until(lambda: not session(process.pid), 5)
    with Run(tmp_path, manifest(400, "rules@0.6")) as run:
        assert len(run.pending()) == 400 - kept and not any(episode.failed for episode in run.results())


def test_ctrl_c_does_not_wait_for_a_slow_server(tmp_path: Path, server: ChatServer) -> None:
    quick = 6 * QUESTIONS
    server.behave(lambda request: chat.answer({"shelf": 1, "why": ""}, delay=0 if request.number < quick else 60))
    with player(tmp_path, "small", 3, "threading", pause=0) as process:
        assert until(lambda: some_lines(tmp_path), 30)
        assert until(lambda: server.count > quick, 10)
        os.killpg(process.pid, signal.SIGINT)
        began = time.monotonic()
        _, said = process.communicate(timeout=30)
        assert time.monotonic() - began < 5
        assert "run again to resume" in said


def test_workers_of_a_killed_run_end_too(tmp_path: Path) -> None:
    with player(tmp_path, "rules@0.6", 2, "loky", pause=0.03) as process:
        assert until(lambda: some_lines(tmp_path), 30)
        process.kill()
        process.wait()
        assert until(lambda: not session(process.pid), 10)
    with Run(tmp_path, manifest(400, "rules@0.6")) as run:
        assert 0 < len(run.pending()) < 400


def test_an_interrupted_notebook_can_go_on_with_the_same_run(tmp_path: Path) -> None:
    with Run(tmp_path, manifest(5)) as run:
        with pytest.raises(Interrupted, match=f"2 of 5 episodes are in {tmp_path}"):
            play_all(run, interrupt_at_002, show_progress=False)
        assert len(play_all(run, episodes("rules"), show_progress=False)) == 5


def interrupt_at_002(task: str) -> Played:
    if task == "002":
        raise KeyboardInterrupt
    return Played({"done": task})


SCRIPT = """
from lab import Experiment, collect, rule
from lab.models.noise import corruption
from lab.models.prompts import Choice, choice

DOORS = choice("tests.of a script", "1", "act", "", "{{ doors }}", "doors", doors=list[str])
rule(DOORS)(lambda seen: Choice(choice=seen.doors[0]))
corruption(DOORS)(lambda seen, answer, random: Choice(choice="c"))

class Walk(Experiment):
    method = "walk"
    packages = ("lab",)
    def tasks(self):
        return ["1", "2", "3"]
    def play(self, task, ledger):
        return ledger.ask(DOORS, doors=["a", "b", "c"]).value.choice

for engine in ("rules", "rules@0"):
    run = collect(Walk(engine=engine), workers=2, show_progress=False)
    print([episode.result for episode in run.episodes.values()])
"""


def test_rules_and_noise_of_a_script_answer_in_its_worker_processes_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    places = dict(os.environ) | PATHS | {"LAB_RUNS": str(tmp_path / "runs")}
    command = [sys.executable, "script.py"]
    told = subprocess.run(command, cwd=tmp_path, env=places, capture_output=True, text=True, timeout=120)
    assert told.stdout.splitlines() == ["['a', 'a', 'a']", "['c', 'c', 'c']"], told.stderr
