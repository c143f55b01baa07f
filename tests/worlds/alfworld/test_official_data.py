"""ALFWorld's released games; skipped where `LAB_DATA` has none."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from household_games import Record, play
from stock_alfworld import load_stock
from worlds.alfworld import AlfWorld, HouseholdTask, load
from worlds.alfworld.expert import Expert, planned
from worlds.alfworld.official import SIZES, present
from worlds.alfworld.tasks import TASK_TYPES

DATA = Path(os.environ.get("LAB_DATA") or "nowhere")

pytestmark = [
    pytest.mark.official,
    pytest.mark.skipif(not present(DATA / "alfworld"), reason="LAB_DATA names no ALFWorld games"),
]

HEAT = "pick_heat_then_place_in_recep-Potato-None-DiningTable-11/trial_T20190909_101318_361403"
PLACE = "pick_and_place_simple-CD-None-Safe-317/trial_T20190918_155029_622888"
# What the paper prints of two games (Shen et al. 2026, Tables 4, 5, 20 and 21): actions, and observations up to "…".
TABLE_4 = (
    ("go to countertop 3", "You arrive at countertop 3. On the countertop 3, you see a bread 1, …"),
    ("take potato 1 from countertop 3", "You pick up the potato 1 from the countertop 3."),
    ("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed."),
    ("heat potato 1 with microwave 1", "You heat the potato 1 using the microwave 1."),
    ("go to diningtable 1", "You arrive at diningtable 1. On the diningtable 1, you see a bowl 3, …"),
    ("move potato 1 to diningtable 1", "You move the potato 1 to the diningtable 1."),
    ("go to toaster 1", "You arrive at toaster 1. On the toaster 1, you see nothing."),
)
TABLE_5 = (
    ("go to stoveburner 1", "You arrive at stoveburner 1. On the stoveburner 1, you see a pot 1."),
    ("go to cabinet 7", "You arrive at cabinet 7. The cabinet 7 is closed."),
    ("go to drawer 6", "You arrive at drawer 6. The drawer 6 is closed."),
    ("open drawer 6", "You open the drawer 6. The drawer 6 is open. In it, you see nothing."),
    ("go to cabinet 8", "You arrive at cabinet 8. The cabinet 8 is closed."),
    ("open cabinet 8", "You open the cabinet 8. The cabinet 8 is open. In it, you see nothing."),
    ("go to toaster 1", "You arrive at toaster 1. On the toaster 1, you see nothing."),
)
TABLE_20 = (
    ("go to dresser 1", "You arrive at dresser 1. On the dresser 1, you see a bowl 1, …"),
    ("take cd 2 from dresser 1", "You pick up the cd 2 from the dresser 1."),
    ("go to safe 1", "You arrive at safe 1. The safe 1 is closed."),
    ("open safe 1", "You open the safe 1. The safe 1 is open. In it, you see nothing."),
    ("move cd 2 to safe 1", "You move the cd 2 to the safe 1."),
)
TABLE_21 = (
    ("go to laundryhamper 1", "You arrive at laundryhamper 1. On the laundryhamper 1, you see nothing."),
    ("go to bed 1", "You arrive at bed 1. On the bed 1, you see a cellphone 2, …"),
    ("go to drawer 11", "You arrive at drawer 11. The drawer 11 is closed."),
    ("look", "You are facing the drawer 11. Next to it, you see nothing."),
    ("go to drawer 6", "You arrive at drawer 6. The drawer 6 is closed."),
)


@pytest.fixture(scope="module")
def world() -> Iterator[AlfWorld]:
    with load("official") as released:
        yield released


@pytest.fixture(scope="module")
def train(world: AlfWorld) -> dict[str, HouseholdTask]:
    """The train games by their folder and trial."""
    return {task.game: task for task in world.tasks("train")}


def sample(world: AlfWorld, games: int) -> list[HouseholdTask]:
    return Random(0).sample([*world.tasks("valid_seen"), *world.tasks("valid_unseen")], games)


@pytest.mark.slow
def test_the_splits_have_the_published_sizes_and_ids_in_order(world: AlfWorld) -> None:
    for split, size in SIZES.items():
        tasks = world.tasks(split)
        assert len(tasks) == size and [task.id for task in tasks] == sorted({task.id for task in tasks})
        assert [task.game for task in tasks] == sorted(task.game for task in tasks)
        assert {task.task_type for task in tasks} <= set(TASK_TYPES)
    assert world.tasks("valid_seen")[3].id == "alfworld-valid_seen-003"
    assert Counter(task.task_type for task in world.tasks("train"))["pick_two_obj_and_place"] == 813


@pytest.mark.slow
@pytest.mark.parametrize("game, goal, printed", [
    (HEAT, "put a hot potato in diningtable.", TABLE_4), (HEAT, "put a hot potato in diningtable.", TABLE_5),
    (PLACE, "put some cd on safe.", TABLE_20), (PLACE, "put some cd on safe.", TABLE_21),
])  # fmt: skip
def test_the_papers_games_give_the_printed_observations(
    world: AlfWorld, train: dict[str, HouseholdTask], game: str, goal: str, printed: tuple[tuple[str, str], ...]
) -> None:
    assert train[game].goal == goal
    world.reset(train[game])
    for action, observation in printed:
        said = world.step(action).text
        assert said.startswith(observation.removesuffix("…")) and (observation.endswith("…") or said == observation)


@pytest.mark.slow
def test_the_papers_experts_are_the_walkthroughs(world: AlfWorld, train: dict[str, HouseholdTask]) -> None:
    expert = Expert(world)
    assert expert.actions(train[HEAT]) == tuple(action for action, _ in TABLE_4[:6])
    assert expert.actions(train[PLACE]) == tuple(action for action, _ in TABLE_20)


@pytest.mark.campaign
def test_walkthroughs_win_a_sample_of_the_validation_games(world: AlfWorld) -> None:
    """All 274 are played by `benchmarks/campaign_worlds.py`."""
    expert = Expert(world)
    for task in sample(world, 20):
        first = world.reset(task)
        assert first.text.endswith(f"Your task is to: {task.goal}")
        assert [world.step(action).score for action in expert.actions(task)][-1] == 1.0, task.id


@pytest.mark.campaign
def test_the_planner_of_made_games_wins_released_ones_too(world: AlfWorld) -> None:
    for task in sample(world, 6):
        world.reset(task)
        assert [world.step(action).score for action in planned(world.games, task)][-1] == 1.0, task.id


@pytest.mark.campaign
def test_both_engines_say_the_same_in_released_games(world: AlfWorld) -> None:
    fast, slow = Record(), Record()
    expert = Expert(world)
    with load_stock("official") as stock:
        for task in sample(world, 2):
            play(world, task, expert.actions(task), 10, fast)
            play(stock, task, expert.actions(task), 10, slow)
    assert fast.said == slow.said
