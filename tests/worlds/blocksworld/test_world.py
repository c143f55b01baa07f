"""BlocksWorld's rules and words: what may be done, what it does, and that text is read back as what it says."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towers import states
from worlds.blocksworld import BlocksTask, BlocksWorld, from_pddl, load
from worlds.blocksworld.problem import BlocksProblem, problem_of
from worlds.blocksworld.state import (
    COLOURS,
    Action,
    ImpossibleAction,
    NoState,
    State,
    action_text,
    block_name,
    block_of,
    facts_of,
    goal_text,
    in_order,
    letters,
    observation,
    read_action,
    state_of,
)
from worlds.blocksworld.world import REFUSAL

INVERSES = {"pick-up": "put-down", "put-down": "pick-up", "stack": "unstack", "unstack": "stack"}


def all_actions(state: State) -> list[Action]:
    """Everything that can be said about the blocks, possible or not, two different ones or the same twice."""
    blocks = state.blocks
    return [
        *(Action(name, block) for name in ("pick-up", "put-down") for block in blocks),
        *(Action(name, upper, lower) for name in ("stack", "unstack") for upper in blocks for lower in blocks),
    ]


@given(states())
def test_every_listed_action_works_keeps_all_blocks_and_can_be_taken_back(state: State) -> None:
    for action in state.actions():
        after = state.after(action)
        assert after != state and after.blocks == state.blocks
        assert after.after(Action(INVERSES[action.name], action.block, action.under)) == state


@given(states(), st.integers(0, 2000))
def test_an_observation_is_read_back_as_what_it_says(state: State, index: int) -> None:
    assert frozenset(facts_of(observation(state)) or ()) == state.facts()
    assert facts_of(goal_text(sorted(state.facts()))) == tuple(sorted(state.facts()))
    assert block_of(block_name(letters(index % 702))) == letters(index % 702) and block_of("b1 block") == "b1"
    assert facts_of(REFUSAL) is None and facts_of("") is None


@given(states(largest=5))
def test_every_other_action_is_impossible(state: State) -> None:
    for action in set(all_actions(state)) - set(state.actions()):
        with pytest.raises(ImpossibleAction, match=action.name):
            state.after(action)


@given(states())
def test_each_block_is_in_one_place_and_the_facts_give_the_state_back(state: State) -> None:
    facts = state.facts()
    places = [fact[1] for fact in facts if fact[0] in ("on", "ontable", "holding")]
    assert sorted(places) == sorted(state.blocks)
    assert state_of(facts, state.blocks) == state
    assert observation(state).count(",") == len(facts) - 1


@given(states(), st.randoms(use_true_random=False))
def test_leaving_out_or_adding_a_fact_describes_no_state(state: State, random: Random) -> None:
    facts = sorted(state.facts())
    dropped = random.choice(facts)
    with pytest.raises(NoState):
        state_of(set(facts) - {dropped}, state.blocks)
    with pytest.raises(NoState):
        state_of({*facts, ("on", state.blocks[0], state.blocks[0])}, state.blocks)


@given(states(), st.text(" \t", max_size=3), st.sampled_from(["", ".", " ."]), st.sampled_from([str.upper, str.title]))
def test_actions_are_read_back_whatever_their_case_spaces_and_full_stop(state, space, stop, case) -> None:  # noqa: ANN001
    for action in all_actions(state):
        text = action_text(action)
        assert read_action(text, state.blocks) == action
        assert read_action(f"{space}{case(text).replace(' ', '  ')}{stop}{space}", state.blocks) == action


@given(states(), st.data())
def test_no_text_raises_or_moves_a_block_unless_it_is_valid(state: State, data: st.DataObject) -> None:
    said = st.sampled_from(all_actions(state)).map(action_text)
    text = data.draw(said | st.text() | st.text("pickuptheblockredonfm ", max_size=40))
    world, task = solved_world(state)
    before = world.reset(task)
    valid = world.valid_actions()
    step = world.step(text)
    if " ".join(text.split()).lower().removesuffix(".") in valid:
        assert step.text not in (REFUSAL, before.text)
    else:
        assert (step.text, step.score, step.done, step.actions) == (REFUSAL, before.score, before.done, before.actions)
        assert world.valid_actions() == valid


def solved_world(state: State) -> tuple[BlocksWorld, BlocksTask]:
    """A world, and a task whose goal one block's place already fulfils."""
    problem = BlocksProblem(state, (sorted(state.facts())[0],))
    return load("synthetic"), BlocksTask("blocksworld-solved", problem.goal_text, problem)


@given(states(), st.data())
def test_a_problem_survives_pddl(state: State, data: st.DataObject) -> None:
    goal = tuple(data.draw(st.permutations(sorted(state.facts()))))
    problem = BlocksProblem(state, goal)
    assert from_pddl(problem.to_pddl()) == problem


SUSSMAN = """
; C stands on A, and all shall be one tower
(define (problem Sussman) (:domain blocksworld-4ops)
  (:objects a b c)
  (:init (handempty) (ontable a) (ontable b) (on c a) (clear b) (clear C))
  (:goal (AND (on a b) (on b c))))
"""


@pytest.fixture
def sussman() -> BlocksTask:
    problem = from_pddl(SUSSMAN)
    return BlocksTask("blocksworld-sussman", problem.goal_text, problem)


def test_states_and_goals_read_as_planbench_words_them(sussman: BlocksTask) -> None:
    assert sussman.goal == "the red block is on top of the blue block and the blue block is on top of the orange block"
    with load("synthetic") as world:
        assert world.reset(sussman).text == (
            "the blue block is clear, the orange block is clear, the hand is empty, the orange block is on top of the "
            "red block, the red block is on the table, the blue block is on the table"
        )
        assert world.valid_actions() == (
            "pick up the blue block", "unstack the orange block from on top of the red block",
        )  # fmt: skip
        assert world.step("Unstack the orange block from on top of the red block.").text == (
            "the red block is clear, the blue block is clear, the hand is currently holding orange block, the red "
            "block is on the table, the blue block is on the table"
        )


def test_the_score_is_one_exactly_while_the_goal_holds_and_the_episode_goes_on(sussman: BlocksTask) -> None:
    world = load("synthetic")
    world.reset(sussman)
    plan = [
        "unstack the orange block from on top of the red block", "put down the orange block", "pick up the blue block",
        "stack the blue block on top of the orange block", "pick up the red block",
        "stack the red block on top of the blue block",
    ]  # fmt: skip
    scores = [(step.score, step.done) for step in map(world.step, plan)]
    assert scores == [(0.0, False)] * 5 + [(1.0, True)]
    refused = world.step("pick up the blue block")
    assert (refused.text, refused.score, refused.done) == (REFUSAL, 1.0, True)
    left = world.step("unstack the red block from on top of the blue block")
    assert (left.score, left.done) == (0.0, False)
    assert world.step("stack the red block on top of the blue block").score == 1.0


def test_names_of_blocks_never_run_out_or_repeat() -> None:
    blocks = [letters(index) for index in range(26 + 26 * 26)]
    assert blocks[25:28] == ["z", "aa", "ab"] and sorted(blocks, key=in_order) == blocks
    assert len({block_name(block) for block in blocks}) == len(blocks)
    assert block_name(letters(len(COLOURS))) == "red block 2" and block_name("b1") == "b1 block"
    assert len(set(COLOURS)) == len(COLOURS)


DOMAIN = """(define (domain blocksworld-4ops)
  (:requirements :strips)
  (:predicates (clear ?x) (ontable ?x) (handempty) (holding ?x) (on ?x ?y))
  (:action pick-up
    :parameters (?x)
    :precondition (and (clear ?x) (ontable ?x) (handempty))
    :effect (and (holding ?x) (not (clear ?x)) (not (ontable ?x)) (not (handempty))))
  (:action put-down
    :parameters (?x)
    :precondition (holding ?x)
    :effect (and (clear ?x) (handempty) (ontable ?x) (not (holding ?x))))
  (:action stack
    :parameters (?x ?y)
    :precondition (and (clear ?y) (holding ?x))
    :effect (and (handempty) (clear ?x) (on ?x ?y) (not (clear ?y)) (not (holding ?x))))
  (:action unstack
    :parameters (?x ?y)
    :precondition (and (on ?x ?y) (clear ?x) (handempty))
    :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (handempty)))))
"""


@pytest.mark.slow
def test_our_steps_are_those_of_an_independent_simulator() -> None:
    from unified_planning.io import PDDLReader
    from unified_planning.shortcuts import SequentialSimulator, get_environment

    get_environment().credits_stream = None
    random = Random(11)
    for task in load("synthetic", seed=8, count=4).tasks("test"):
        problem = PDDLReader().parse_problem_string(DOMAIN, task.problem.to_pddl())
        with SequentialSimulator(problem) as simulator:
            theirs, ours = simulator.get_initial_state(), task.problem.start
            for _ in range(12):
                possible = {
                    Action(action.name, *map(str, blocks)): (action, blocks)
                    for action, blocks in simulator.get_applicable_actions(theirs)
                }
                assert tuple(sorted(possible)) == ours.actions()
                chosen = random.choice(ours.actions())
                theirs, ours = simulator.apply(theirs, *possible[chosen]), ours.after(chosen)
                assert simulator.is_goal(theirs) == task.problem.solved_by(ours)


def test_problems_say_what_is_wrong_with_them() -> None:
    start = [("handempty",), ("ontable", "a"), ("clear", "a")]
    for goal, message in (
        ([], "no fact"), ([("on", "a", "b")], "names 'b'"), ([("on", "a")], "no fact of this domain"),
        ([("beside", "a", "a")], "no fact of this domain"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            problem_of("a", start, goal)
    with pytest.raises(ValueError, match="not a state of the blocks a, b"):
        problem_of("ab", start, [("clear", "a")])


@pytest.mark.parametrize("text, message", [
    ("(define (problem x)", "matching brackets"),
    ("(define (problem x)))", "never opened"),
    ("", "matching brackets"),
    ("a b", "matching brackets"),
    ("(define (problem x) (:objects a) (:init (handempty)))", "needs :objects, :init and one :goal"),
    ("(define (:objects a) (:init (handempty) (not (clear a))) (:goal (clear a)))", "is no fact"),
])  # fmt: skip
def test_text_that_is_no_problem_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_pddl(text)
