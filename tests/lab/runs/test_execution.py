"""Playing episodes: here, on threads, on processes; failing, dying, interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import chat_server as chat
from asking import QUESTIONS, episodes, manifest, play
from chat_server import ChatServer
from lab.machine import progress, secrets
from lab.machine.faults import BackendDied, Unavailable
from lab.machine.paths import ROOT
from lab.models.backbone import MalformedAnswer
from lab.models.connect import connect
from lab.runs import execution
from lab.runs.execution import Played, play_all
from lab.runs.run import Run
from lab.runs.workers import Threads

PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}
CANARY = "sk-canary-0123456789abcdef"


def lines(folder: Path) -> list[bytes]:
    return sorted((folder / "episodes.jsonl").read_bytes().splitlines())


def played(folder: Path, workers: int, backend: str) -> list[bytes]:
    with Run(folder, manifest(12, "rules@0.6")) as run:
        results = play_all(run, episodes("rules@0.6"), workers, backend, show_progress=False)
        assert [episode.task for episode in results] == list(run.manifest.tasks)
    return lines(folder)


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


# --- workers that die -------------------------------------------------------------------------------------------


def kill_its_worker(task: str, marks: Path, always: str, once: str = "") -> Played:
    mark = marks / f"{task}-{len(list(marks.glob(f'{task}-*')))}"
    mark.touch()
    if task == always or (task == once and mark.name.endswith("-0")):
        os.kill(os.getpid(), signal.SIGKILL)
    return Played({"done": task})


@pytest.mark.slow
def test_a_killed_worker_costs_its_episodes_a_replay_and_never_the_run(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    for deaths in (2, 3):  # at first in company and alone; in a later session once, alone
        with Run(tmp_path / "run", manifest(12)) as run:
            play = partial(kill_its_worker, marks=marks, always="005", once="008")
            results = play_all(run, play, 2, "loky", show_progress=False)
        assert (len(results), any(episode.failed for episode in results)) == (11, False)
        assert list(run.not_measured) == ["005"] and run.pending() == ["005"]
        assert f"{deaths} workers died while they played 005" in run.not_measured["005"]
        assert "SIGKILL" in run.not_measured["005"] and len(list(marks.glob("005-*"))) == deaths


@pytest.mark.slow
def test_an_episode_that_ends_the_runs_own_process_is_played_apart_the_next_time(tmp_path: Path) -> None:
    code = "import sys, pathlib\nfrom tests.lab.runs import test_execution as own\n"
    code += "own.kill_this(pathlib.Path(sys.argv[1]))"
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=dict(os.environ) | PATHS, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL and len(lines(tmp_path / "run")) == 2
    kill_this(tmp_path)
    with Run(tmp_path / "run", manifest(4)) as run:
        assert list(run.episodes) == ["000", "001", "003"] and "SIGKILL" in run.not_measured["002"]


def kill_this(folder: Path) -> None:
    with Run(folder / "run", manifest(4)) as run:
        play_all(run, partial(kill_its_worker, marks=folder, always="002"), 1, show_progress=False)


def test_the_death_of_a_worker_is_noted_at_once(tmp_path: Path) -> None:
    with Run(tmp_path, manifest(3)) as run:
        run.deaths.add("002", 2)
        assert json.loads((tmp_path / "under_way.json").read_bytes().splitlines()[0])["deaths"] == {"002": 2}


def test_the_tasks_under_way_stay_noted_when_one_with_deaths_ends(tmp_path: Path) -> None:
    with Run(tmp_path, manifest(3)) as run:
        run.deaths.add("002")
        run.deaths.under_way(["001", "002"])
        run.deaths.forget("002")
        noted = json.loads((tmp_path / "under_way.json").read_bytes().splitlines()[0])
        assert noted == {"deaths": {}, "under_way": ["001", "002"]}


def test_a_finished_run_notes_no_deaths(tmp_path: Path) -> None:
    note = tmp_path / "under_way.json"
    note.write_text('{"deaths": {"000": 1}, "under_way": ["001", "002"]}\nan older, longer note')
    with Run(tmp_path, manifest(3)) as run:
        assert run.deaths.counts == {"000": 1, "001": 1, "002": 1}
        assert len(play_all(run, episodes("rules"), show_progress=False)) == 3
    assert not note.exists()
    note.write_text("torn {")
    with Run(tmp_path, manifest(3)) as run:
        assert not run.deaths.counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "backend", "sparing"),
    [(1, "threading", False), (3, "threading", False), (2, "loky", False), (2, "loky", True)],
)
def test_an_episode_too_long_is_unmeasured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, backend: str, sparing: bool
) -> None:
    monkeypatch.setenv("LAB_EPISODE_SECONDS", "3" if backend == "loky" else "0.3")  # a process takes two to start
    with Run(tmp_path, manifest(5)) as run:
        assert len(play_all(run, hang_at_001, workers, backend, sparing=sparing, show_progress=False)) == 4
    assert "001 took longer than LAB_EPISODE_SECONDS" in run.not_measured["001"]
    monkeypatch.setenv("LAB_EPISODE_SECONDS", "soon")
    with Run(tmp_path, manifest(5)) as run, pytest.raises(ValueError, match="LAB_EPISODE_SECONDS=soon: give a number"):
        play_all(run, hang_at_001, show_progress=False)


def hang_at_001(task: str) -> Played:
    time.sleep(60 if task == "001" else 0)
    return Played({"done": task})


# --- who failed -------------------------------------------------------------------------------------------------


def in_lab() -> None:
    secrets.redact(7)


def in_a_library_for_the_agent() -> None:
    json.loads("{")


def without_threads() -> None:
    raise RuntimeError("can't start new thread")


def without_a_disk() -> None:
    sqlite3.connect("/nowhere/at/all/answers.sqlite")


def malformed_answer() -> None:
    raise MalformedAnswer("no JSON")


def ends_the_process() -> None:
    raise SystemExit(2)


@pytest.mark.parametrize(
    ("fails", "agent"),
    [
        (in_lab, False), (without_threads, False), (without_a_disk, False), (in_a_library_for_the_agent, True),
        (malformed_answer, True), (ends_the_process, True),
    ],
)  # fmt: skip
def test_who_failed_is_decided_by_where_the_error_arose(fails: Callable[[], None], agent: bool, tmp_path: Path) -> None:
    def play(task: str) -> Played:
        fails()
        raise AssertionError

    with Run(tmp_path, manifest(1)) as run:
        assert [episode.failed for episode in play_all(run, play, show_progress=False)] == [True] * agent
        assert bool(run.not_measured) != agent


def test_a_display_that_fails_ends_no_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("zmq: the socket is closed")

    monkeypatch.setattr(progress, "_places", lambda: [broken])
    monkeypatch.setattr("builtins.print", broken)
    with Run(tmp_path, manifest(3)) as run:
        assert not any(episode.failed for episode in play_all(run, tell_much))
        assert len(run.episodes) == 3


def tell_much(task: str) -> Played:
    progress.note(f"{task} begins")
    progress.waits("429")
    progress.say(f"{task} ends")
    return Played({"done": task})


# --- what the machine has ---------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
from lab.machine.faults import Unavailable
from lab.runs.workers import allow_open_files
soft, hard, workers = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
try:
    allow_open_files(workers)
    print("enough", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
except Unavailable as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("soft", "hard", "workers", "message"),
    [
        (256, 4096, 64, "enough [23]..$"),
        (64, 64, 64, r"workers=64 need about \d+ open files, .* may have 64 .*workers=\d.*ulimit -Hn \d+"),
        (64, 64, 4, "enough 64$"),
    ],
)
def test_the_limit_of_open_files_is_raised_or_named_at_once(soft: int, hard: int, workers: int, message: str) -> None:
    command = [sys.executable, "-c", LIMITED, *map(str, (soft, hard, workers))]
    told = subprocess.run(command, env=dict(os.environ) | PATHS, capture_output=True, text=True, timeout=60)
    assert re.match(message, told.stdout), told


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


@pytest.mark.slow
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
        assert f"KeyboardInterrupt: {kept} of 400 episodes are in {tmp_path}; run again to resume" in said
        assert until(lambda: not session(process.pid), 5)
    with Run(tmp_path, manifest(400, "rules@0.6")) as run:
        assert len(run.pending()) == 400 - kept and not any(episode.failed for episode in run.results())


@pytest.mark.slow
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


@pytest.mark.slow
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
        with pytest.raises(KeyboardInterrupt, match=f"2 of 5 episodes are in {tmp_path}"):
            play_all(run, interrupt_at_002, show_progress=False)
        assert len(play_all(run, episodes("rules"), show_progress=False)) == 5


def interrupt_at_002(task: str) -> Played:
    if task == "002":
        raise KeyboardInterrupt
    return Played({"done": task})


SCRIPT = """
from lab import Experiment, collect, rule
from lab.models.rules import corruption
from lab.models.answers import Choice
from lab.models.prompts import choice

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


@pytest.mark.slow
def test_rules_and_noise_of_a_script_answer_in_its_worker_processes_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    places = dict(os.environ) | PATHS | {"LAB_RUNS": str(tmp_path / "runs")}
    command = [sys.executable, "script.py"]
    told = subprocess.run(command, cwd=tmp_path, env=places, capture_output=True, text=True, timeout=120)
    assert told.stdout.splitlines() == ["['a', 'a', 'a']", "['c', 'c', 'c']"], told.stderr


def test_workers_are_closed_while_the_error_is_still_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later, a connection would be closed by the garbage collector, on whatever thread that runs."""
    closed: list[str] = []

    class Crew(Threads):
        def close(self) -> None:
            super().close()
            closed.append("closed")

    def full(*about: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(execution, "Threads", Crew)
    monkeypatch.setattr(Run, "append", full)
    with Run(tmp_path, manifest(6, "rules")) as run, pytest.raises(OSError, match="no space") as held:
        play_all(run, episodes("rules"), 2, "threading", show_progress=False)
    assert closed == ["closed"] and held.value
