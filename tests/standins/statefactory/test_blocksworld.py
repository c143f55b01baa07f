"""The rules that read BlocksWorld's clauses."""

from __future__ import annotations

import pytest

from standins.statefactory import blocksworld
from statefactory.experiments import scoring
from statefactory.state import Entity, at_level, entity
from worlds.blocksworld import load

START = (
    "the blue block is clear, the orange block is clear, the hand is empty, the blue block is on top of the red "
    "block, the red block is on the table, the orange block is on the table"
)
HOLDING = (
    "the red block is clear, the orange block is clear, the hand is currently holding blue block, the red block is on"
    " the table, the orange block is on the table"
)
GOAL = (
    "the red block is on top of the blue block, the blue block is on top of the orange block and the black block is "
    "clear"
)


def known_of(text: str) -> dict[str, Entity]:
    return {entity.identity: entity for entity in blocksworld.read((), "", text).known}


def test_a_new_observation_replaces_the_old_whatever_was_kept_of_it() -> None:
    everything = blocksworld.read((), "", START).known
    kept = blocksworld.relevant("the red block is on top of the blue block", everything)
    assert len(kept) < len(everything)
    readings = [blocksworld.read(known, "unstack", HOLDING).known for known in (everything, kept, ())]
    assert readings[0] == readings[1] == readings[2]


def test_foreign_text_is_reported_and_keeps_what_was_known() -> None:
    known = blocksworld.read((), "", START).known
    assert blocksworld.read(known, "", "You arrive at fridge 1.") == (known, ("you arrive at fridge 1",))


def test_a_clause_in_no_form_is_reported_beside_those_that_are_read() -> None:
    reading = blocksworld.read((), "", "the red block is clear, the red block is very heavy")
    assert reading.unparsed == ("the red block is very heavy",)
    assert reading.known[0] == entity("red block", {"top": "clear"})


def test_each_clause_of_the_goal_is_a_fact_in_the_words_of_the_state() -> None:
    assert blocksworld.blueprint(GOAL) == (
        entity("red block", {"position": "on top of the blue block"}),
        entity("blue block", {"position": "on top of the orange block"}),
        entity("black block", {"top": "clear"}),
    )


def test_only_named_blocks_and_the_hand_are_relevant() -> None:
    known = blocksworld.read((), "", START).known
    kept = blocksworld.relevant("the red block is on top of the orange block", known)
    assert {entity.identity for entity in kept} == {"red block", "orange block", "hand"}
    assert blocksworld.relevant("the red block is on top of the orange block", kept) == kept


def test_numbered_blocks_are_blocks_of_their_own() -> None:
    known = known_of(
        "the red block 2 is clear, the red block 2 is on top of the red block, the red block is on the table"
    )
    assert known["red block 2"].value("position") == "on top of the red block"
    assert set(blocksworld.relevant("the red block is on top of the blue block", tuple(known.values()))) == {
        known["red block"]
    }


def test_the_goal_is_in_the_state_exactly_when_the_world_says_that_it_holds() -> None:
    world = load("synthetic", seed=77, count=8)
    from worlds.blocksworld.expert import Expert

    for task in world.tasks("test"):
        step = world.reset(task)
        for action in Expert(world).actions(task):
            step = world.step(action)
            known = {(e.identity, a) for e in blocksworld.read((), action, step.text).known for a in e.attributes}
            wanted = {(e.identity, a) for e in blocksworld.blueprint(task.goal) for a in e.attributes}
            assert (wanted <= known) == step.done


@pytest.mark.parametrize(
    ("wording", "position"),
    [("observed", "on top of the blue block"), ("short", "on blue block"), ("searched", "red 2 on blue")],
)
def test_a_position_is_said_in_other_words_and_all_else_stays(wording: str, position: str) -> None:
    known = blocksworld.read((), "", "the red block 2 is clear, the red block 2 is on top of the blue block").known
    (block,) = scoring.reworded(known, wording)
    assert block == entity("red block 2", {"top": "clear", "position": position})
    (said,) = scoring.reworded(at_level(known, "object_attribute", "sentences"), wording)
    assert said == at_level((block,), "object_attribute", "sentences")[0]


@pytest.mark.parametrize("wording", scoring.WORDINGS)
def test_no_wording_joins_facts_that_differ(wording: str) -> None:
    everything = blocksworld.read((), "", START).known + blocksworld.read((), "", HOLDING).known
    said = {(e.identity, a) for e in everything for a in e.attributes}
    assert len({(e.identity, a) for e in scoring.reworded(everything, wording) for a in e.attributes}) == len(said)


@pytest.mark.official
def test_planbench_goals_and_states_are_read_whole() -> None:
    from lab.machine.paths import official_data
    from worlds.blocksworld.official import present

    if not present(official_data() / "blocksworld"):
        pytest.skip("PlanBench's problems are not there: python -m lab data fetch blocksworld")
    world = load("official")
    for task in world.tasks("test")[:100]:
        assert blocksworld.is_goal(task.goal)
        assert sum(len(e.attributes) for e in blocksworld.blueprint(task.goal)) == len(task.problem.goal)
        assert not blocksworld.read((), "", world.reset(task).text).unparsed
