"""The ALFWorld world on synthetic games: its protocol, the same words as the stock engine, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from household_games import Record, one_of_each_type, play
from lab.machine.paths import ROOT
from stock_alfworld import load_stock
from worlds.alfworld import AlfWorld, HouseholdTask, load
from worlds.alfworld.expert import Expert
from worlds.alfworld.package_files import rules
from worlds.alfworld.wording import parsed_expression, wording

RANDOMNESS = """
import random
import numpy
from stock_alfworld import load_stock
from worlds.alfworld import load
before = random.getstate(), numpy.random.get_state()[1].tolist(), numpy.random.get_state()[2:]
with load("synthetic") as world:
    world.step(world.reset(world.tasks("train")[0]).actions[0])
assert before == (random.getstate(), numpy.random.get_state()[1].tolist(), numpy.random.get_state()[2:])
"""


@pytest.fixture(scope="module")
def world() -> Iterator[AlfWorld]:
    with load("synthetic") as made:
        yield made


@pytest.fixture(scope="module")
def task(world: AlfWorld) -> HouseholdTask:
    return world.tasks("valid_unseen")[1]  # "put a ... in ..."


def python(code: str, *arguments: str, **environment: str) -> str:
    paths = os.pathsep.join(filter(None, [str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_callers_randomness_is_left_alone() -> None:
    python(RANDOMNESS)


def undoing(move: str) -> str:
    """The action that takes a thing back from where it was put."""
    return move.replace("move ", "take ").replace(" to ", " from ")


def test_a_game_starts_with_its_own_first_text(world: AlfWorld, task: HouseholdTask) -> None:
    step = world.reset(task)
    assert step.text.startswith("-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room.")
    assert step.text.endswith(f"\n\nYour task is to: {task.goal}")
    assert (step.score, step.done) == (0.0, False)


def test_an_unknown_action_gets_the_native_refusal_and_changes_nothing(world: AlfWorld, task: HouseholdTask) -> None:
    before = world.reset(task)
    after = world.step("dance on the table")
    assert after.text == "Nothing happens." and after.actions == before.actions


def test_valid_actions_are_sorted_and_every_one_does_something(world: AlfWorld, task: HouseholdTask) -> None:
    for action in world.reset(task).actions:
        assert action in world.valid_actions() and list(world.valid_actions()) == sorted(set(world.valid_actions()))
        assert world.step(action).text != "Nothing happens."
        world.reset(task)


def test_a_won_game_goes_on_and_stays_won(world: AlfWorld, task: HouseholdTask) -> None:
    world.reset(task)
    actions = Expert(world).actions(task)
    steps = [world.step(action) for action in actions]
    assert [step.score for step in steps] == [0.0] * (len(steps) - 1) + [1.0] and steps[-1].done
    undone = world.step(undoing(actions[-1]))
    assert undone.text.startswith("You pick up") and (undone.score, undone.done) == (1.0, True)
    assert world.reset(task).score == 0.0


@pytest.mark.parametrize(
    "text", ["__import__('os').system('true')", "o.__class__", "o.name()", "o.name * 9", "(1).real", "o[0]"]
)
def test_code_in_a_grammar_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it may hold texts, attributes"):
        parsed_expression(text)


def test_two_worlds_in_one_process_do_not_meet(world: AlfWorld, task: HouseholdTask) -> None:
    actions = Expert(world).actions(task)
    with load("synthetic") as other:
        world.reset(task)
        other.reset(other.tasks("train")[0])
        for action in actions:
            other.step(Random(action).choice(other.valid_actions()))
            step = world.step(action)
        assert step.score == 1.0


def test_a_tasks_problem_is_not_shown(task: HouseholdTask) -> None:
    assert "define" not in repr(task) and "(define" in task.problem


@pytest.mark.slow
def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    said = python("""
import sys
sys.modules["textworld"] = None
from stock_alfworld import load_stock
from worlds.alfworld import load
world = load("synthetic")
try:
    world.reset(world.tasks("train")[0])
except ImportError as error:
    print(error)
""")
    assert "'textworld'" in said and "python -m pip install -r requirements.txt" in said


@pytest.mark.slow
def test_an_import_leaves_no_folder_in_the_home_of_the_user(tmp_path: Path) -> None:
    python("from worlds.alfworld import load; load('synthetic').tasks('train')", HOME=str(tmp_path))
    assert not (tmp_path / ".cache" / "alfworld").exists()


@pytest.mark.slow
def test_many_games_leave_no_file_descriptor_or_temporary_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    descriptors = set()
    for _ in range(4):
        with load("synthetic", seed=5) as world:
            for task in world.tasks("valid_unseen")[:2]:
                Expert(world).actions(task)
                play(world, task, (), 10, Record())
        descriptors.add(len(os.listdir("/proc/self/fd")))
        assert list(tmp_path.iterdir()) == []
    assert len(descriptors) == 1


@pytest.mark.campaign
def test_both_engines_say_the_same(world: AlfWorld) -> None:
    fast, slow = Record(), Record()
    with load_stock("synthetic") as stock:
        for task in one_of_each_type(world.tasks("valid_unseen"))[::2]:
            actions = Expert(world).actions(task)
            play(world, task, actions, 10, fast)
            play(stock, task, actions, 10, slow)
    assert fast.said == slow.said


@pytest.mark.slow
def test_threads_that_open_games_at_once_do_not_disturb_each_others_grammar() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            compiled = list(pool.map(lambda number: wording(rules().grammar + "\n" * number), range(1, 5)))
    finally:
        sys.setswitchinterval(interval)
    assert [len(each.commands) for each in compiled] == [len(compiled[0].commands)] * 4 and compiled[0].commands
