"""A pool of worlds: whatever node is asked for, it answers as a replay would, and a world that dies is replayed."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worlds import blocksworld
from worlds.base import Step, WorldDied
from worlds.blocksworld.expert import Expert
from worlds.pool import Pool

BLOCKS = blocksworld.load("synthetic")
TASK = BLOCKS.tasks("test")[3]
open_blocks = partial(blocksworld.load, "synthetic")


def walk(choices: list[int]) -> tuple[str, ...]:
    """Some valid actions of TASK."""
    step, actions = BLOCKS.reset(TASK), list[str]()
    for choice in choices:
        if not step.done:
            actions.append(step.actions[choice % len(step.actions)])
            step = BLOCKS.step(actions[-1])
    return tuple(actions)


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=8), st.integers(1, 3))
@settings(max_examples=40)
def test_any_order_of_nodes_is_answered_as_a_replay_would(nodes: list[list[int]], size: int) -> None:
    pool = Pool(open_blocks, TASK, size)
    for actions in map(walk, nodes):
        assert pool.at(actions) == BLOCKS.replay(TASK, actions)[-1]
        assert pool.valid_actions(actions) == (() if BLOCKS.replay(TASK, actions)[-1].done else BLOCKS.valid_actions())


def test_what_lies_ahead_of_a_node_is_played_there_and_what_is_known_not_at_all() -> None:
    pool, actions = Pool(open_blocks, TASK, size=2), walk([0, 0, 0])
    pool.at(actions[:2])
    pool.at(actions)
    assert (pool.resets, pool.steps) == (1, 3)
    pool.at(actions)
    assert (pool.resets, pool.steps) == (1, 3)
    other = next(each for each in BLOCKS.replay(TASK, ())[-1].actions if each != actions[0])
    pool.at((other,))
    assert (pool.resets, pool.steps) == (2, 4)


def test_past_the_end_the_last_answer_stands_and_costs_nothing() -> None:
    plan = Expert(BLOCKS).actions(TASK)
    pool = Pool(open_blocks, TASK, size=1)
    assert pool.at(plan).done and pool.valid_actions(plan) == ()
    steps = pool.steps
    assert pool.at((*plan, "pick up the red block")) == pool.at(plan) and pool.steps == steps


class Dying(blocksworld.BlocksWorld):
    """Dies at its second step; no real one can be killed at a step of choice."""

    taken = 0

    def step(self, action: str) -> Step:
        self.taken += 1
        if self.taken == 2:
            raise WorldDied("gone")
        return super().step(action)


def test_a_second_death_comes_through_and_the_next_question_starts_afresh() -> None:
    pool, actions = Pool(lambda: Dying(BLOCKS.problems), TASK, size=1), walk([0, 0])
    with pytest.raises(WorldDied, match="gone"):
        pool.at(actions)
    assert pool.at(actions) == BLOCKS.replay(TASK, actions)[-1]  # by the world whose bad step is behind it


def test_another_task_is_played_in_the_same_worlds() -> None:
    pool, other = Pool(open_blocks, TASK), BLOCKS.tasks("test")[5]
    pool.at(walk([0, 0]))
    assert pool.on(other).at(()) == BLOCKS.reset(other)
    assert len(pool._worlds) == 1


def test_a_pool_has_at_least_one_world() -> None:
    with pytest.raises(ValueError, match="size=0"):
        Pool(open_blocks, TASK, 0)
