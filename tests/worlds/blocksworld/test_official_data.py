"""PlanBench's 501 problems; skipped where `LAB_DATA` has them not."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from towers import score
from worlds.blocksworld import BlocksWorld, load, official
from worlds.blocksworld.expert import Expert
from worlds.blocksworld.state import ACTIONS, PREDICATES, block_name

FOLDER = Path(os.environ.get("LAB_DATA") or "nowhere") / "blocksworld"

pytestmark = [
    pytest.mark.official,
    pytest.mark.skipif(not official.present(FOLDER), reason="LAB_DATA names no BlocksWorld data"),
]


@pytest.fixture(scope="module")
def world() -> BlocksWorld:
    return load("official")


def test_all_problems_are_there_in_order(world: BlocksWorld) -> None:
    tasks = world.tasks("test")
    assert [task.id for task in tasks] == sorted(f"blocksworld-{number:03}" for number in range(1, 502))
    assert sorted({task.blocks for task in tasks}) == [4, 5] and sum(task.blocks == 5 for task in tasks) == 55
    assert official.digest(task.problem for task in tasks) == official.DIGEST
    assert not any(task.problem.solved_by(task.problem.start) for task in tasks)


@pytest.mark.slow
@pytest.mark.parametrize("plans", ["reference", "planner"])
def test_all_plans_win_and_are_as_short_as_the_shortest(world: BlocksWorld, plans: str) -> None:
    expert = Expert(world, plans)
    for task, row in zip(world.tasks("test"), official.rows(FOLDER), strict=True):
        actions = expert.actions(task)
        assert score(world, task, actions) == 1.0
        assert len(actions) == len(row["optimal_plan"])


def test_the_reference_plans_are_planbenchs_where_it_has_one(world: BlocksWorld) -> None:
    known = world.problems.plans()
    for task, row in zip(world.tasks("test"), official.rows(FOLDER), strict=True):
        assert [str(action) for action in known.get(task.id, ())] == (row["reference_plan"] or [])
    assert len(known) == 500


# Python 3.11.2 and 3.11.3 have no filters yet.
SAFELY: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def test_our_words_are_planbenchs() -> None:
    words = json.loads((FOLDER / "translation.json").read_text(encoding="utf-8"))
    assert words["actions"] == ACTIONS and words["predicates"] == PREDICATES
    assert {block: block_name(block) for block in words["encoded_objects"]} == words["encoded_objects"]


def test_the_raw_files_convert_to_the_same_problems(world: BlocksWorld, tmp_path: Path) -> None:
    with tarfile.open(FOLDER / "planbench_pddl.tar.gz") as archive:
        archive.extractall(tmp_path, **SAFELY)
    rows = official.converted(tmp_path / "blocksworld" / "generated_basic")
    assert [official.problem_in(row) for row in rows] == [task.problem for task in world.tasks("test")]
