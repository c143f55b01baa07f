"""Synthetic household games: the same from the same seed, as told, and solved by the planner."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textworld.logic import GameLogic, Placeholder, Predicate, Proposition, Rule, State, Type, Variable

from household_games import one_of_each_type
from worlds.alfworld import AlfWorld, HouseholdTask, load
from worlds.alfworld.engine import FactBase, change
from worlds.alfworld.expert import Expert, next_command, steps_left
from worlds.alfworld.synthetic import SyntheticGames, synthetic_tasks
from worlds.alfworld.tasks import TASK_TYPES, packed
from worlds.alfworld.wording import Condition, matches
from worlds.base import NoSolution


@pytest.fixture(scope="module")
def world() -> Iterator[AlfWorld]:
    with load("synthetic", seed=1) as made:
        yield made


def wins(world: AlfWorld, task: HouseholdTask) -> bool:
    step = world.reset(task)
    assert step.score == 0.0
    for action in Expert(world).actions(task):
        assert action in world.valid_actions()
        step = world.step(action)
    return step.score == 1.0 and step.done


@pytest.mark.slow
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_the_games_of_a_seed_are_always_the_same_and_draw_on_no_shared_randomness(seed: int) -> None:
    before = random.getstate()
    first = synthetic_tasks.__wrapped__(seed, "valid_unseen")
    assert synthetic_tasks.__wrapped__(seed, "valid_unseen") == first != synthetic_tasks(seed + 1, "valid_unseen")
    assert random.getstate() == before


@pytest.mark.slow
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6))
def test_every_type_has_as_many_games_and_each_says_what_its_folder_names(seed: int) -> None:
    games = SyntheticGames(seed)
    for split, each in (("train", 10), ("valid_unseen", 6)):
        tasks = games.tasks(split)
        assert Counter(task.task_type for task in tasks) == dict.fromkeys(TASK_TYPES, each)
        assert [task.id for task in tasks] == sorted({task.id for task in tasks})
        for task in tasks:
            _, thing, _, place, _ = task.game.split("/")[0].split("-")
            assert thing.lower() in task.goal and place.lower() in task.goal and task.goal.endswith(".")


@pytest.mark.slow
def test_the_splits_are_on_different_floor_plans() -> None:
    plans = [
        {
            task.game.split("/")[0].split("-")[-1]
            for task in chain(*(SyntheticGames(seed).tasks(split) for seed in range(3)))
        }
        for split in ("train", "valid_unseen")
    ]
    assert plans[0] and plans[1] and not plans[0] & plans[1]


@pytest.mark.slow
def test_the_planner_wins_one_game_of_each_type(world: AlfWorld) -> None:
    assert all(wins(world, task) for task in one_of_each_type(world.tasks("valid_unseen")))


@pytest.mark.campaign
def test_the_planner_wins_all_validation_games_of_a_seed() -> None:
    with load("synthetic", seed=0) as world:
        won = Counter(task.task_type for task in world.tasks("valid_unseen") if wins(world, task))
    assert won == dict.fromkeys(TASK_TYPES, 6)


def test_what_cannot_be_solved_is_named(world: AlfWorld) -> None:
    task = world.tasks("valid_unseen")[1]
    stuck = re.sub(r"\(pickupable \S+\)", "", task.problem)
    with pytest.raises(NoSolution, match=task.id):
        Expert(world).actions(replace(task, packed_problem=packed(stuck)))
    wanting = task.problem.replace(
        f"(objectType ?o {task.game.split('-')[1]}Type)", "(objectType ?o KnifeType) (objectType ?o ButterKnifeType)"
    )
    with pytest.raises(NoSolution, match=task.id):
        Expert(world).actions(replace(task, packed_problem=packed(wanting)))


@given(effect=st.sampled_from(["Atom opened(fridge)", "NegatedAtom opened(fridge)"]))
def test_a_change_makes_a_fact_true_and_its_opposite_false(effect: str) -> None:
    facts = FactBase([("opened", ("fridge",))])
    facts.apply([change(effect)])
    opened, closed = facts.sorted("opened"), facts.sorted("not_opened")
    assert (opened, closed) == (([("fridge",)], []) if effect.startswith("Atom") else ([], [("fridge",)]))


names = st.sampled_from("abcd")
placeholders = st.sampled_from("wxyz")
true_facts = st.sets(st.tuples(st.sampled_from("pq"), names, names))
conditions = st.lists(st.tuples(st.sampled_from("pq"), placeholders, placeholders), min_size=1, max_size=3)


@given(facts=true_facts, query=conditions, bound=st.dictionaries(placeholders, names, max_size=2))
def test_queries_have_the_matches_that_textworld_finds_in_its_order(
    facts: set[tuple[str, str, str]], query: list[tuple[str, str, str]], bound: dict[str, str]
) -> None:
    logic = GameLogic()
    logic.types.add(Type("object", []))
    state = State(logic, [Proposition(name, [thing(first), thing(second)]) for name, first, second in facts])
    wanted = [Predicate(name, [placeholder(first), placeholder(second)]) for name, first, second in query]
    rule = Rule("query", wanted, [])
    found = state.all_assignments(rule, {placeholder(name): thing(entity) for name, entity in bound.items()})
    expected = [{key.name: entity.name for key, entity in match.items()} for match in map(dict, found)]
    ours = matches(
        tuple(Condition(name, (first, second)) for name, first, second in query),
        FactBase((name, (first, second)) for name, first, second in facts),
        bound,
    )
    assert list(ours) == expected


def thing(name: str) -> Variable:
    return Variable(name, "object")


def placeholder(name: str) -> Placeholder:
    return Placeholder(name, "object")


@pytest.mark.slow
@pytest.mark.parametrize("astray", [0, 4, 12])
def test_from_wherever_a_game_stands_each_command_of_the_shortest_way_leaves_one_step_fewer(
    world: AlfWorld, astray: int
) -> None:
    for task in one_of_each_type(world.tasks("valid_unseen")):
        world.reset(task)
        chance = random.Random(task.id)
        # What is taken on the way need not be what is wanted.
        picking = [str(chance.randrange(10)) for _ in range(astray)]
        for number in picking:
            taking = [action for action in world.valid_actions() if action.startswith("take ")]
            world.step(chance.choice(taking if taking and number < "5" else world.valid_actions()))
        left = [steps_left(world, task)]
        while (command := next_command(world, task)) and len(left) < 40:
            step = world.step(command)
            left.append(0 if step.done else steps_left(world, task))
        assert step.done and None not in left, (task.id, left)
        falls = [before - after for before, after in zip(left, left[1:], strict=False)]
        assert all(fall == 1 for fall in falls[:-1]) and falls[-1] >= 1, (task.id, left)


def test_a_game_starts_alike_again_after_an_episode_another_game_and_a_closed_engine() -> None:
    world = load("synthetic")
    task, other = world.tasks("valid_unseen")[:2]
    first, actions = world.reset(task), world.valid_actions()
    world.step(actions[0])
    assert (world.reset(task), world.valid_actions()) == (first, actions)
    assert world.reset(other) != first
    assert world.reset(task) == first
    world.close()
    assert (world.reset(task), world.valid_actions()) == (first, actions)
    world.close()
