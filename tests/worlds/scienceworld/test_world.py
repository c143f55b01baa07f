"""ScienceWorld as a world: tasks, scores, ends, and transcripts that depend on nothing but the task and the actions."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds import scienceworld
from worlds.base import EpisodeOver, Step
from worlds.scienceworld import ScienceWorld, protocol_score, task_id
from worlds.scienceworld.tasks import SHUFFLED, name_and_variation, names

BOIL = task_id("boil", 21)
BEES = task_id("grow-fruit", 0)  # bees fly at random
REFUSAL = "No known action matches that input."
QUICK_JAVA = "-XX:TieredStopAtLevel=1"  # it starts twice as fast, and steps more slowly


@pytest.fixture(scope="module")
def world() -> Iterator[ScienceWorld]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
        with scienceworld.load(simplification="", list_actions=False) as opened:
            yield opened


def played(world: ScienceWorld, id: str, seed: int, steps: int = 8, look: bool = False) -> list[Step]:
    """A random walk. look: ask for the valid actions and for the tasks' goals at every step, too."""
    dice = random.Random(f"{id} {seed}")
    walk = [world.reset(world.task(id))]
    while len(walk) < steps and not walk[-1].done:
        if look:
            world.valid_actions()
            world.task(task_id("inclined-plane-determine-angle", 63))
        moves = [f"go to {place}" for place in ("kitchen", "hallway", "outside", "greenhouse")]
        doors = [move.replace("go", "open door") for move in moves]
        walk.append(world.step(dice.choice([*moves, *doors, "look around", "wait1"])))
    return walk


def digest(walks: list[list[Step]]) -> str:
    return hashlib.sha256(repr(walks).encode()).hexdigest()


def test_rooms_are_those_of_the_situation(world: ScienceWorld) -> None:
    world.reset(world.task(BOIL))
    world.step("open door to kitchen")
    assert world.rooms() == ("kitchen",)
    world.step("go to kitchen")
    assert {"hallway", "outside"} <= {*world.rooms()}


def test_a_reset_gives_the_first_view_and_the_exact_goal(world: ScienceWorld) -> None:
    task = world.task(BOIL)
    step = world.reset(task)
    assert step.text.startswith("This room is called the") and step.actions == ()
    assert step.facts == {"native": 0, "goal": task.goal} and task.goal.startswith("Your task is to boil")
    assert (step.score, step.done) == (0.0, False)


@pytest.mark.parametrize("name", [*sorted(SHUFFLED), "find-animal", "mendelian-genetics-unknown-plant"])
def test_goals_are_known_without_loading_the_task(world: ScienceWorld, name: str) -> None:
    for variation in (63, 97, 110):
        task = world.task(task_id(name, variation))
        assert world.reset(task).facts["goal"] == task.goal


def test_an_unknown_action_gets_the_native_refusal(world: ScienceWorld) -> None:
    world.reset(world.task(BOIL))
    for nonsense in ("", "sing", "é\n\\n", "go to hallway; look around", "0", "x" * 5000, "look \ud800 around"):
        assert world.step(nonsense).text == REFUSAL, nonsense


def test_a_wrong_focus_fails_the_task_with_score_0(world: ScienceWorld) -> None:
    world.reset(world.task(BOIL))
    step = world.step("focus on toilet")
    assert (step.score, step.done, step.facts["native"]) == (0.0, True, -100)
    assert world.valid_actions() == ()
    with pytest.raises(EpisodeOver):
        world.step("look around")


def test_without_a_reset_there_is_no_step_and_no_listing() -> None:
    with ScienceWorld() as fresh:
        with pytest.raises(EpisodeOver):
            fresh.step("look around")
        with pytest.raises(EpisodeOver):
            fresh.valid_actions()
        assert fresh.pid is None, "no Java before it is needed"


def test_steps_list_sorted_actions_and_most_are_understood(
    world: ScienceWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "list_actions", True)
    task = world.task(task_id("power-component", 15))
    actions = world.reset(task).actions
    assert list(actions) == sorted(set(actions)) and len(actions) > 100
    monkeypatch.setattr(world, "list_actions", False)
    refused = 0
    for action in random.Random(3).sample(actions, 8):
        world.reset(task)
        refused += world.step(action).text == REFUSAL
    assert refused <= 4, "the simulator's own list has some that it refuses"


def test_easy_teleports_and_no_simplification_does_not(world: ScienceWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.reset(world.task(BOIL))
    assert world.step("teleport to kitchen").text == REFUSAL
    monkeypatch.setattr(world, "simplification", "easy")
    world.reset(world.task(BOIL))
    assert world.step("teleport to kitchen").text != REFUSAL


@pytest.mark.parametrize("id", [BOIL, BEES])
def test_asking_for_actions_and_goals_changes_no_transcript(world: ScienceWorld, id: str) -> None:
    assert played(world, id, 1, look=True) == played(world, id, 1)


def test_an_episode_does_not_depend_on_those_before(world: ScienceWorld) -> None:
    ids = [BEES, task_id("find-animal", 225), task_id("mendelian-genetics-known-plant", 90), BOIL]
    first = {id: played(world, id, 2) for id in ids}
    assert {id: played(world, id, 2) for id in reversed(ids)} == first


@pytest.mark.slow
def test_another_process_with_another_hash_seed_gives_the_same_transcripts(world: ScienceWorld) -> None:
    script = (
        "from test_world import *\n"
        "with scienceworld.load(simplification='', list_actions=False) as w: print(digest([played(w, BEES, 3, 5)]))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120,
                         cwd=os.path.dirname(__file__), env=os.environ | {"PYTHONHASHSEED": "7"})  # fmt: skip
    played(world, BOIL, 3)  # the two simulators have not done the same before
    assert ran.stdout.strip() == digest([played(world, BEES, 3, 5)])


def test_another_use_of_the_simulator_leaves_the_episode_alone(world: ScienceWorld) -> None:
    usual = played(world, BEES, 4, 6)
    played(world, BEES, 4, 3)
    with world.borrowed() as engine:
        engine.gold("find-plant", 225, "")
    dice = random.Random(f"{BEES} 4")
    actions = [dice.choice(["go to kitchen", "look around", "wait1"]) for _ in range(3)]
    after = [world.step(action) for action in actions]
    replayed = played(world, BEES, 4, 3)
    assert replayed == usual[:3] and after == [world.step(action) for action in actions]


def test_ids_sort_are_read_back_and_wrong_ones_are_named(world: ScienceWorld) -> None:
    assert task_id("boil", 21) == "scienceworld-boil-0021" and name_and_variation(BOIL) == ("boil", 21)
    task = world.task(BOIL)
    assert pickle.loads(pickle.dumps(task)) == task and (task.name, task.variation, task.id) == ("boil", 21, BOIL)
    assert len(names()) == 30
    for wrong in ("scienceworld-boil-0030", "scienceworld-fry-0001", "boil-21", "scienceworld-boil-21", ""):
        with pytest.raises(ValueError):
            world.task(wrong)


def test_unknown_splits_and_simplifications_are_named(world: ScienceWorld) -> None:
    with pytest.raises(ValueError, match="protocol"):
        world.tasks("valid")
    with pytest.raises(ValueError, match="openDoors"):
        scienceworld.load(simplification="opendoors")
    with ScienceWorld(simplification="noElectricalAction") as unelectric, pytest.raises(ValueError, match="electrical"):
        unelectric.reset(world.task(task_id("power-component", 15)))


def test_data_is_official_when_asked_for_and_made_where_no_gold_paths_are_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]
) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    assert [scienceworld.load(data).data for data in ("auto", "official", "synthetic")] == [
        "synthetic", "official", "synthetic",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="auto"):
        scienceworld.load("offical")


def test_steps_say_and_score_what_the_simulators_outermost_step_does(world: ScienceWorld) -> None:
    walk = ["open door to kitchen", "help", "objects", "task", " HELP ", "look", "inventory", "", "sing",
            "go to kitchen", "pick up thermometer", "wait", "reset task", "focus on sink"]  # fmt: skip
    with world.borrowed() as engine:
        engine.load("boil", 21, "")
        ours = [engine.step(action) for action in walk]
        engine.load("boil", 21, "")
        simulator = engine._simulator
        theirs = [(simulator.step(action), round(100 * simulator.getScore()), simulator.getCompleted())
                  for action in walk]  # fmt: skip
    assert [tuple(answer) for answer in ours] == theirs


def test_a_replay_is_a_reset_and_its_steps(world: ScienceWorld) -> None:
    task, actions = world.task(BEES), ["open door to outside", "go to outside", "dance", "wait1", "wait1"]
    steps = [world.reset(task), *(world.step(action) for action in actions)]
    assert world.replay(task, actions) == steps
    with pytest.raises(EpisodeOver):
        world.replay(task, [*actions, "focus on agent", "look around", "look around"])


def test_a_failure_counts_as_the_score_before_it() -> None:
    assert protocol_score([0, 8, 17, -100]) == 0.17
    assert protocol_score([0, 8, 100]) == 1.0
    assert protocol_score([-100]) == 0.0 == protocol_score([])


@pytest.mark.slow
@given(st.lists(st.integers(0, 100), min_size=1), st.booleans())
def test_an_episodes_score_is_its_last_one_that_is_no_failure(scores: list[int], failed: bool) -> None:
    assert protocol_score([*scores, -100] if failed else scores) == scores[-1] / 100
