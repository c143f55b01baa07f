"""A world that plays nothing twice says what one says that plays everything."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from worlds import scienceworld
from worlds.base import EpisodeOver
from worlds.scienceworld import ScienceWorld, ScienceWorldTasks, remembering, task_id
from worlds.scienceworld.engine import Simulator
from worlds.scienceworld.remembering import RememberingWorld

BOIL = task_id("boil", 21)
BEES = task_id("grow-fruit", 0)  # bees fly at random
WALK = ["open door to kitchen", "go to kitchen", "wait1", "open cupboard"]
QUICK_JAVA = "-XX:TieredStopAtLevel=1"  # it starts twice as fast, and steps more slowly


@pytest.fixture(scope="module")
def world() -> Iterator[ScienceWorld]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
        with scienceworld.load("synthetic", simplification="easy", remember=True) as opened:
            yield opened


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the simulator was called, by method."""
    calls: Counter[str] = Counter()

    def counted(name: str) -> Any:
        method = getattr(Simulator, name)
        return lambda self, *given: calls.update([name]) or method(self, *given)

    for name in ("load", "step", "looks", "valid_actions"):
        monkeypatch.setattr(Simulator, name, counted(name))
    return calls


def walked(
    world: ScienceWorld, id: str, actions: list[str], looked: Collection[int] = (), listed: Collection[int] = ()
) -> list[Any]:
    """All that an episode shows. looked, listed: after how many actions to look around, to list rooms and actions."""
    shown: list[Any] = [world.reset(world.task(id))]
    for count, action in enumerate([*actions, ""]):
        if count in looked:
            shown.append(world.looks())
        if count in listed:
            shown += [world.rooms(), world.valid_actions()]
        if action:
            shown.append(world.step(action))
    return shown


def test_it_says_what_a_world_says_that_plays_everything(world: ScienceWorld) -> None:
    outside, kitchen, hallway = (f"teleport to {room}" for room in ("outside", "kitchen", "hallway"))
    walks: list[tuple[list[str], tuple[int, ...], tuple[int, ...]]] = [
        ([outside, kitchen, hallway], (), ()),
        ([outside, kitchen, hallway], (1, 3), ()),  # catches up to look, and looks again after an action that is known
        ([outside, "wait1", kitchen], (2, 3), ()),
        ([outside, kitchen, "wait1", hallway], (2, 4), (4,)),
    ]
    with ScienceWorld("synthetic", "easy", list_actions=False) as usual:
        for id, walk in [(BOIL, walks[1]), *((BEES, walk) for walk in walks), (BOIL, walks[1])]:
            assert walked(world, id, *walk) == walked(usual, id, *walk), (id, walk)


def test_nothing_is_played_or_asked_twice(world: ScienceWorld, asked: Counter[str]) -> None:
    world._starts.clear()
    first = walked(world, BOIL, WALK, {2}, {2})
    asked.clear()
    assert walked(world, BOIL, WALK, {2}, {2}) == first and not asked
    walked(world, BOIL, [*WALK[:2], "wait", "look around"])
    assert asked == {"load": 1, "step": 4}, "it catches up once, and plays on from there"
    asked.clear()
    walked(world, BOIL, WALK, {0, 3}, {0, 3})
    assert asked == {"load": 1, "step": 4, "looks": 2, "valid_actions": 4}, "also for a question that is new"


def test_the_latest_tasks_are_remembered(
    world: ScienceWorld, asked: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembering, "KEPT", 2)
    world._starts.clear()
    for id in (BOIL, BEES, BOIL, task_id("boil", 22), BOIL):
        walked(world, id, [])
    assert asked["load"] == 3
    walked(world, BEES, [])
    assert asked["load"] == 4


def test_a_remembered_end_is_an_end(world: ScienceWorld) -> None:
    for _ in range(2):
        assert walked(world, BOIL, ["focus on toilet"])[-1].done and world.valid_actions() == ()
        with pytest.raises(EpisodeOver):
            world.step("look around")


def test_a_benchmark_opens_one() -> None:
    assert isinstance(ScienceWorldTasks(data="synthetic").opened(), RememberingWorld)


@pytest.mark.slow
def test_java_that_dies_in_a_remembered_part_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    with scienceworld.load("synthetic", simplification="easy", remember=True) as world:
        first = walked(world, BOIL, WALK)
        world.reset(world.task(BOIL))
        os.kill(world.pid, signal.SIGKILL)
        assert [world.step(action) for action in WALK[:2]] == first[1:3]
        assert world.step("wait1") == first[3] and world.looks().room
        assert world.step("look around").text
