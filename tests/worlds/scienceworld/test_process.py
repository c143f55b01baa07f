"""ScienceWorld's Java: no system Java, no noise, deaths told at once, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from lab.machine.paths import ROOT
from worlds import scienceworld
from worlds.base import WorldDied
from worlds.scienceworld import ScienceWorld, task_id
from worlds.scienceworld.engine import _end

BOIL = task_id("boil", 21)
PATIENCE = 15.0  # seconds for a killed program's Java to end
OPEN = f"import worlds.scienceworld as s; w = s.load(list_actions=False); t = w.task({BOIL!r}); w.reset(t)\n"


@pytest.fixture(autouse=True)
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts twice as fast, and steps more slowly."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")


def python(code: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", OPEN + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, cwd=ROOT, env=os.environ | environment)  # fmt: skip


def gone(pid: int) -> bool:
    until = time.monotonic() + PATIENCE
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.slow
def test_a_killed_jvm_is_told_at_once_and_a_reset_starts_another() -> None:
    with scienceworld.load(list_actions=False) as world:
        task = world.task(BOIL)
        first = world.reset(task)
        world.step("go to kitchen")
        killed = world.pid
        os.kill(killed, signal.SIGKILL)
        before = time.monotonic()
        with pytest.raises(WorldDied, match="reset starts another"):
            world.step("look around")
        assert time.monotonic() - before < 5
        assert world.reset(task) == first and world.pid != killed
        assert world.step("look around").text == first.text.rstrip("\n")


@pytest.mark.slow
def test_a_jvm_killed_between_two_episodes_costs_none_of_them() -> None:
    with scienceworld.load(list_actions=False) as world:
        task = world.task(BOIL)
        first, killed = world.reset(task), world.pid
        assert killed
        os.kill(killed, signal.SIGKILL)
        assert gone(killed) and world.reset(task) == first and world.pid != killed


@pytest.mark.slow
def test_close_leaves_no_java_and_no_open_files_and_the_world_can_begin_again() -> None:
    program, opened, views = psutil.Process(), [], []
    world = ScienceWorld(list_actions=False)
    for _ in range(3):
        views.append(world.reset(world.task(BOIL)))
        java = world.pid
        world.close()
        world.close()
        assert not psutil.pid_exists(java), "ended and waited for"
        time.sleep(0.2)  # py4j's threads close their ends
        opened.append(program.num_fds())
    assert opened[2] <= opened[0] and views[0] == views[1] == views[2]


@pytest.mark.slow
def test_java_leaves_no_file_in_the_current_folder_nor_in_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir(), temporary.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with ScienceWorld() as world:
        world.reset(world.task(BOIL))
        world.step("go to kitchen")
        assert world.task(task_id("inclined-plane-determine-angle", 63)), "whose goal a second simulator tells"
        assert len(os.listdir(temporary)) == 1
        os.kill(world.pid, signal.SIGKILL)
        with pytest.raises(WorldDied):
            world.step("look around")
        assert os.listdir(temporary) == []
        world.reset(world.task(BOIL))
    dropped = ScienceWorld()
    dropped.reset(dropped.task(BOIL))
    java = dropped.pid
    del dropped
    assert java and gone(java)
    assert os.listdir(here) == os.listdir(temporary) == []


@pytest.mark.slow
def test_worlds_in_one_process_do_not_meet() -> None:
    with ScienceWorld(list_actions=False) as one, ScienceWorld(list_actions=False) as other:
        task = one.task(BOIL)
        one.reset(task), other.reset(task)
        assert one.pid != other.pid
        assert one.step("teleport to kitchen").text != other.step("look around").text
        one.close()
        assert not other.step("inventory").done


@pytest.mark.parametrize("end", [
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    pytest.param("1 / 0", marks=pytest.mark.campaign), pytest.param("pass", marks=pytest.mark.campaign),
])  # fmt: skip
def test_however_python_ends_no_java_and_no_file_stays(end: str, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()  # apart from the caches of this test
    program = python(f"print(w.pid, flush=True)\n{end}", TMPDIR=str(tmp_path / "temporary"))
    java = int(program.communicate(timeout=120)[0])
    assert gone(java) and os.listdir(tmp_path / "temporary") == []


@pytest.mark.slow
def test_it_runs_without_a_java_of_the_system_and_says_nothing() -> None:
    code = "import os, signal; w.step('wait'); w.valid_actions(); os.kill(w.pid, signal.SIGKILL)\n" \
           "try: w.step('wait')\nexcept s.world.WorldDied: w.reset(t)\nw.close()"  # fmt: skip
    program = python(code, PATH="/nowhere", JAVA_HOME="/nowhere")
    assert program.communicate(timeout=120) == ("", "") and program.returncode == 0


def test_only_the_process_that_began_java_ends_it(tmp_path: Path) -> None:
    """A fork collects garbage too, between its birth and the program that it becomes."""
    began = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    _end(began, str(tmp_path), os.getpid() + 1)
    assert began.poll() is None and tmp_path.exists()
    _end(began, str(tmp_path), os.getpid())
    assert began.poll() is not None and not tmp_path.exists()
