"""A world in a process of its own: the same answers, errors come through, and its death is told and survived."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psutil
import pytest

from lab.machine.faults import MissingData
from worlds.base import EpisodeOver, Step, WorldDied
from worlds.isolated import Isolated


@dataclass(frozen=True)
class Counting:
    id: str
    goal: str = "count to three"


class Counter:
    """Counts; "crash" ends its process as a fault in native code would, "hang" never answers."""

    data, splits, goes_on = "synthetic", ("test",), False

    def __init__(self) -> None:
        self.count = 3

    def tasks(self, split: str) -> Sequence[Counting]:
        return [Counting("counting-0")]

    def reset(self, task: Counting) -> Step:
        self.count = 0
        return Step("0")

    def step(self, action: str) -> Step:
        if self.count == 3:
            raise EpisodeOver("reset first")
        if action == "crash":
            ctypes.string_at(0)
        if action == "hang":
            time.sleep(60)
        self.count += 1
        return Step(str(self.count), score=self.count / 3, done=self.count == 3, actions=("on",))

    def valid_actions(self) -> tuple[str, ...]:
        return ("on",)

    def close(self) -> None:
        if marker := os.environ.get("CLOSED"):
            with open(marker, "w") as file:
                file.write("closed")


@pytest.fixture
def world() -> Iterator[Isolated]:
    with Isolated(Counter, patience=5) as isolated:
        yield isolated


def test_it_answers_as_the_world_itself(world: Isolated) -> None:
    task = world.tasks("test")[0]
    assert (world.data, world.splits, world.goes_on) == ("synthetic", ("test",), False)
    assert world.reset(task) == Counter().reset(task)
    assert [world.step("on").text for _ in range(3)] == ["1", "2", "3"]
    assert world.valid_actions() == ("on",)
    assert world.pid != os.getpid()


def test_errors_of_the_world_come_through_and_leave_it_alive(world: Isolated) -> None:
    with pytest.raises(EpisodeOver, match="reset first"):
        world.step("on")
    assert world.reset(world.tasks("test")[0]).text == "0"


def absent() -> Counter:
    raise MissingData("no games here; fetch them")


def test_a_world_that_cannot_be_built_says_why() -> None:
    with Isolated(absent) as world:
        for _ in range(3):
            with pytest.raises(MissingData, match="fetch them"):
                world.tasks("test")


@pytest.mark.parametrize("action", ["crash", "hang"])
def test_a_dead_world_is_told_and_starts_again(action: str) -> None:
    with Isolated(Counter, patience=2 if action == "hang" else 60) as world:
        task = world.tasks("test")[0]
        world.reset(task)
        with pytest.raises(WorldDied):
            world.step(action)
        assert world.pid is None
        assert world.reset(task).text == "0"


def test_a_kill_in_an_episode_is_told_and_survived(world: Isolated) -> None:
    task = world.tasks("test")[0]
    world.reset(task)
    os.kill(world.pid, signal.SIGKILL)
    with pytest.raises(WorldDied, match="exit code -9"):
        world.step("on")
    assert world.reset(task).text == "0"
    assert world.step("on").text == "1"


def test_closing_lets_the_world_close_itself_and_leaves_no_process(tmp_path, monkeypatch) -> None:  # noqa: ANN001
    monkeypatch.setenv("CLOSED", str(tmp_path / "closed"))
    world = Isolated(Counter)
    world.tasks("test")
    pid = world.pid
    world.close()
    world.close()
    assert (tmp_path / "closed").read_text() == "closed"
    assert not psutil.pid_exists(pid)


def test_the_child_goes_when_its_parent_is_killed() -> None:
    program = (
        "from test_isolated import Counter; from worlds.isolated import Isolated; import time\n"
        "if __name__ == '__main__':\n"
        "    world = Isolated(Counter); world.tasks('test'); print(world.pid, flush=True); time.sleep(60)\n"
    )
    here = os.path.dirname(os.path.abspath(__file__))
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=here)
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.wait()
    with contextlib.suppress(psutil.NoSuchProcess):
        child.wait(10)
    assert not child.is_running()
