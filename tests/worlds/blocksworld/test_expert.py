"""BlocksWorld's expert: plans reach the goal, are shortest, and are the same everywhere."""

from __future__ import annotations

import sys
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towers import score, states
from worlds.base import NoSolution
from worlds.blocksworld import BlocksTask, from_pddl, load
from worlds.blocksworld.expert import Expert, check, lengths, planned, shortest_plan
from worlds.blocksworld.problem import BlocksProblem
from worlds.blocksworld.state import Action, State


def distances(start: State) -> dict[State, int]:
    """How many actions each state is away, by breadth-first search."""
    found, queue = {start: 0}, deque([start])
    while queue:
        state = queue.popleft()
        for action in state.actions():
            after = state.after(action)
            if after not in found:
                found[after] = found[state] + 1
                queue.append(after)
    return found


def test_every_made_problem_is_solved() -> None:
    world = load("synthetic", seed=6, count=32)
    expert = Expert(world)
    for split in world.splits:
        assert all(score(world, task, expert.actions(task)) == 1.0 for task in world.tasks(split))


@given(st.data())
@settings(max_examples=60)
def test_plans_are_shortest_for_every_kind_of_goal_and_start(data: st.DataObject) -> None:
    start = data.draw(states(largest=4))
    away = distances(start)
    end = data.draw(st.sampled_from(sorted(away, key=repr)))
    goal = tuple(data.draw(st.lists(st.sampled_from(sorted(end.facts())), min_size=1, unique=True)))
    problem = BlocksProblem(start, goal)
    shortest = min(steps for state, steps in away.items() if problem.solved_by(state))
    plan = shortest_plan(problem)
    assert plan is not None and len(plan) == shortest
    check(BlocksTask("blocksworld-any", problem.goal_text, problem), plan)


@given(states(largest=5))
@settings(max_examples=30)
def test_nothing_is_done_where_the_goal_holds(state: State) -> None:
    assert shortest_plan(BlocksProblem(state, tuple(sorted(state.facts())))) == ()


def contradiction() -> BlocksTask:
    problem = from_pddl(
        "(define (problem x) (:domain blocksworld-4ops) (:objects a b c) (:init (handempty) (ontable a) (on b a) "
        "(on c b) (clear c)) (:goal (and (on a b) (on b a))))"
    )
    return BlocksTask("blocksworld-contradiction", problem.goal_text, problem)


def test_a_problem_without_a_solution_is_named() -> None:
    with pytest.raises(NoSolution, match="blocksworld-contradiction has no plan"):
        Expert(load("synthetic")).actions(contradiction())


def test_a_plan_that_fails_or_falls_short_is_never_handed_out() -> None:
    task = load("synthetic").tasks("test")[0]
    with pytest.raises(NoSolution, match="without its goal"):
        check(task, ())
    with pytest.raises(NoSolution, match="is not possible"):
        check(task, (Action("put-down", "a"),))


def test_the_lower_bound_counts_blocks_that_must_move() -> None:
    buried = from_pddl(
        "(define (problem x) (:objects a b c d) (:init (handempty) (ontable a) (on b a) (on c b) (clear c) (ontable d) "
        "(clear d)) (:goal (and (on b d))))"
    )
    assert lengths(buried)[0] == 4 and len(shortest_plan(buried) or ()) == 4


def test_a_missing_planner_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    world = load("synthetic")
    task = world.tasks("test")[0]
    monkeypatch.setitem(sys.modules, "clingo", None)
    planned.cache_clear()  # another test may have planned it
    with pytest.raises(ImportError, match=r"pip install -r requirements\.txt"):
        Expert(world).actions(task)


def test_unknown_plans_are_refused() -> None:
    with pytest.raises(ValueError, match="choose one of reference, planner"):
        Expert(load("synthetic"), plans="best")
