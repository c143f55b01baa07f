"""ScienceWorld's expert: every path it gives has been played to full score, wherever it comes from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from worlds import scienceworld
from worlds.base import NoSolution
from worlds.scienceworld import ScienceWorld, expert, task_id
from worlds.scienceworld.expert import Expert
from worlds.scienceworld.paths import synthetic_paths, tasks

SHORT = task_id("find-non-living-thing", 225)
SLOW = pytest.mark.slow
QUICK_JAVA = "-XX:TieredStopAtLevel=1"  # it starts twice as fast, and steps more slowly


@pytest.fixture(scope="module")
def world() -> Iterator[ScienceWorld]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
        with scienceworld.load("synthetic", simplification="", list_actions=False) as opened:
            yield opened


def final_score(world: ScienceWorld, id: str, actions: tuple[str, ...]) -> float:
    """Of a play that ends with the last action and not before."""
    world.reset(world.task(id))
    steps = [world.step(action) for action in actions]
    assert [step.done for step in steps] == [False] * (len(steps) - 1) + [True], id
    return steps[-1].score


@pytest.mark.parametrize("count", [3, pytest.param(36, marks=pytest.mark.slow)])
def test_made_paths_reach_full_score(world: ScienceWorld, count: int) -> None:
    for id in random.Random(1).sample(tasks(), count):
        assert final_score(world, id, Expert(world).actions(world.task(id))) == 1.0
        assert Expert(world).actions(world.task(id)) == tuple(synthetic_paths()[id])


@pytest.mark.slow
def test_made_paths_of_the_protocol_reach_full_score() -> None:
    with scienceworld.load("synthetic", list_actions=False) as world:
        for id in tasks("easy"):
            assert final_score(world, id, Expert(world).actions(world.task(id))) == 1.0


def test_a_made_path_is_played_again_only_if_it_was_edited_or_the_simulator_is_another(
    world: ScienceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, played = world.task(tasks()[0]), []
    made = synthetic_paths()[task.id]
    monkeypatch.setattr(expert, "play", lambda *_: played.append(1) or [(action, 0) for action in made])
    assert Expert(world).actions(task) == tuple(made) and not played
    assert Expert(world, stored={task.id: [*made, "look around"]}).actions(task) == tuple(made) and len(played) == 1
    monkeypatch.setattr(expert, "package_version", lambda: "another")
    assert Expert(world).actions(task) == tuple(made) and len(played) == 2


def test_a_path_is_found_by_the_solver_where_none_is_stored(world: ScienceWorld) -> None:
    path = Expert(world, stored={}).actions(world.task(SHORT))
    assert final_score(world, SHORT, path) == 1.0


@pytest.mark.parametrize("wrong", [["look around"], *(pytest.param(p, marks=SLOW) for p in (["focus on agent"], []))])
def test_a_stored_path_that_does_not_hold_is_replaced(world: ScienceWorld, wrong: list[str]) -> None:
    path = Expert(world, stored={SHORT: wrong}).actions(world.task(SHORT))
    assert list(path) != wrong and final_score(world, SHORT, path) == 1.0


def test_what_follows_full_score_in_a_stored_path_is_left_out(world: ScienceWorld) -> None:
    path = Expert(world, stored={}).actions(world.task(SHORT))
    assert Expert(world, stored={SHORT: [*path, "look around"]}).actions(world.task(SHORT)) == path


def test_a_path_found_once_is_kept_on_disk(world: ScienceWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    task = world.task(SHORT)
    path = Expert(world, stored={}).actions(task)
    monkeypatch.setattr(expert, "Simulator", None)  # a second search would fail
    assert Expert(world, stored={}).actions(task) == path


def test_no_solution_names_the_task(world: ScienceWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expert, "SOLVER_SEEDS", ())
    with pytest.raises(NoSolution, match=SHORT):
        Expert(world, stored={}).actions(world.task(SHORT))


def test_solving_leaves_the_running_episode_alone(world: ScienceWorld) -> None:
    def walk(solving: bool) -> list[object]:
        steps = [world.reset(world.task(task_id("grow-fruit", 0)))]
        steps.append(world.step("open door to hallway"))
        if solving:
            Expert(world, stored={}).actions(world.task(SHORT))
        return [*steps, world.step("go to hallway"), world.step("look around")]

    assert walk(solving=True) == walk(solving=False)


@pytest.mark.slow
def test_a_path_does_not_depend_on_what_was_solved_before(
    world: ScienceWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process the second path of such a task connects the battery to another wire than the first."""
    paths = []
    for cache in (tmp_path / "first", tmp_path / "second"):
        monkeypatch.setenv("LAB_CACHE", str(cache / "answers.sqlite"))
        paths.append(Expert(world, stored={}).actions(world.task(task_id("test-conductivity", 699))))
    assert paths[0] == paths[1]
