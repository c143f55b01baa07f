"""What the expert does after a random beginning, in the worlds where its plan does not survive one."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statefactory.benchmark.domains import BACK, from_the_search_page, shortest, unmoved
from statefactory.benchmark.trajectories import random_walk
from worlds import blocksworld, webshop
from worlds.base import NoSolution
from worlds.blocksworld.expert import Expert
from worlds.webshop.expert import Expert as Shopper

pytest.importorskip("clingo")
BLOCKS = blocksworld.load("synthetic", count=12, list_actions=False)
SHOP = webshop.load("synthetic", list_actions=False)
TASKS = list(BLOCKS.tasks("test"))


@settings(max_examples=40)
@given(st.sampled_from(TASKS), st.integers(1, 3), st.integers(0, 10_000))
def test_blocks_are_planned_from_where_the_beginning_led(task: blocksworld.BlocksTask, steps: int, seed: int) -> None:
    usual = Expert(BLOCKS).actions(task)
    BLOCKS.reset(task)
    begun = [move.action for move in random_walk(BLOCKS, Random(seed), steps)]
    plan = shortest(BLOCKS, task, usual, begun)
    last = [BLOCKS.step(action) for action in plan]
    assert not plan or last[-1].score == 1.0
    assert len(usual) - steps <= len(plan) <= len(usual) + steps  # each step can be taken back by one


def test_a_problem_without_a_plan_is_an_error_that_names_it() -> None:
    task = TASKS[0]
    first, second, *_ = task.problem.start.blocks
    impossible = (("on", first, second), ("on", second, first))
    problem = blocksworld.BlocksProblem(task.problem.start, impossible)
    with pytest.raises(NoSolution, match="blocksworld-odd"):
        shortest(BLOCKS, SimpleNamespace(id="blocksworld-odd", problem=problem), (), ())


@settings(max_examples=40)
@given(st.integers(0, 59), st.integers(1, 3), st.integers(0, 10_000))
def test_a_shopper_goes_back_to_the_search_page_first(number: int, steps: int, seed: int) -> None:
    task = SHOP.tasks("test")[number]
    usual = Shopper(SHOP).actions(task)
    SHOP.reset(task)
    begun = list(random_walk(SHOP, Random(seed), steps))
    plan = from_the_search_page(SHOP, task, usual, [move.action for move in begun])
    assert plan in (usual, (BACK, *usual))
    if not begun[-1].over:
        assert [SHOP.step(action) for action in plan][-1].score == 1.0


def test_other_experts_stick_to_their_plan() -> None:
    assert unmoved(SHOP, None, ("a", "b"), ("c",)) == ("a", "b")
