"""The world model by rules: what it foresees is what the world answers, or less where nobody can know."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.experiments.acting_worlds import AlfWorld, BlocksWorld
from lab.models.connect import connected
from standins.statefactory import alfworld
from statefactory.planning.lookahead import Outcome, Prompted
from statefactory.predictors import Path

BLOCKS, HOUSEHOLDS = (of(data="synthetic", engine="oracle", limit=6).resolved() for of in (BlocksWorld, AlfWorld))


def foreseen(setup: Any, path: Path, action: str, engine: str = "rules") -> Outcome:
    (outcome,) = Prompted(connected(engine), setup.package, "").outcomes(path, [action])
    return outcome


def walk(setup: Any, task: str, actions: list[str | int]) -> list[tuple[Path, str, Outcome, Any]]:
    """Along some actions, those that are numbers being valid ones: where they start, what is foreseen, what comes."""
    world, given = setup.world(), setup.named(task)
    step, found = world.reset(given), []
    path = Path(given.goal, step.text)
    for each in actions:
        if step.done:
            break
        action = each if isinstance(each, str) else step.actions[each % len(step.actions)]
        expected, step = foreseen(setup, path, action), world.step(action)
        found.append((path, action, expected, step))
        path = path.then(action, step.text)
    return found


@given(
    st.lists(st.integers(0, 99) | st.sampled_from(["pick up the red block", "dance"]), max_size=12), st.integers(0, 5)
)
@settings(max_examples=30)
def test_blocks_are_foreseen_to_the_letter(actions: list[str | int], number: int) -> None:
    for _, _, expected, step in walk(BLOCKS, BLOCKS.tasks()[number], actions):
        assert expected == Outcome(step.text, step.done)


@pytest.mark.slow
def test_the_end_of_a_plan_is_foreseen_as_the_end() -> None:
    for setup in (BLOCKS, HOUSEHOLDS):
        for task in setup.tasks():
            ends = [(expected.done, step.done) for _, _, expected, step in walk(setup, task, setup.solution(task))]
            assert ends == [(False, False)] * (len(ends) - 1) + [(True, True)]


@pytest.mark.slow
def test_a_household_is_foreseen_where_it_was_seen_and_nothing_is_made_up() -> None:
    random, alike = Random(1), 0
    for task in HOUSEHOLDS.tasks():
        steps = walk(HOUSEHOLDS, task, [*HOUSEHOLDS.solution(task)[:3], *(random.randrange(99) for _ in range(40))])
        for path, action, expected, step in steps:
            alike += expected.observation == step.text
            known: Any = ()
            for before, text in (("", path.first), *path.steps):
                known = alfworld.read(known, before, text).known
            said, true = (
                {
                    (one.identity, a.name, a.value)
                    for one in alfworld.read(known, action, text).known
                    for a in one.attributes
                }
                for text in (expected.observation, step.text)
            )
            # Whether a held thing comes under a lamp cannot be known where nobody has looked.
            assert not {one for one in said - true if not one[2].startswith("in hand")}, (action, expected, step.text)
            if action.startswith(("take", "move", "use", "close", "inventory", "clean", "heat", "cool")):
                assert expected.observation == step.text
    assert alike > 100


def test_two_things_are_where_the_task_wants_them_only_in_the_same_place() -> None:
    around = "Looking quickly around you, you see a drawer 2, and a drawer 1."
    room = Path("put two mug in drawer.", f"You are in the middle of a room. {around}")
    shut = room.then("go to drawer 1", "You arrive at drawer 1. The drawer 1 is open. In it, you see a mug 1.")
    held = shut.then("inventory", "You are carrying: a mug 2.")
    assert foreseen(HOUSEHOLDS, held, "move mug 2 to drawer 1").done
    apart = held.then("go to drawer 2", "You arrive at drawer 2. The drawer 2 is open. In it, you see nothing.")
    assert foreseen(HOUSEHOLDS, apart, "move mug 2 to drawer 2") == Outcome("You move the mug 2 to the drawer 2.")


def test_furniture_that_was_seen_to_share_a_place_is_within_reach_together() -> None:
    near = seen(AT_FRIDGE, OPENED).then("go to microwave 1", "You arrive at microwave 1. The microwave 1 is closed.")
    assert foreseen(HOUSEHOLDS, near, TAKEN[0]).observation == "Nothing happens."
    faced = near.then("look", "You are facing the microwave 1, and fridge 1. Next to it, you see nothing.")
    assert foreseen(HOUSEHOLDS, faced, TAKEN[0]).observation == TAKEN[1]
    assert foreseen(HOUSEHOLDS, faced, "look").observation == faced.observation
    taken = near.then(*TAKEN)  # the game allowed it
    assert foreseen(HOUSEHOLDS, taken, "move mug 1 to fridge 1").observation == "You move the mug 1 to the fridge 1."
    assert foreseen(HOUSEHOLDS, taken, "go to fridge 1").observation == "Nothing happens."


def seen(*steps: tuple[str, str]) -> Path:
    around = "Looking quickly around you, you see a drawer 1, a fridge 1, and a microwave 1."
    path = Path("put a cool mug in microwave.", f"You are in the middle of a room. {around}")
    for step in steps:
        path = path.then(*step)
    return path


AT_FRIDGE = ("go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed.")
OPENED = ("open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see a mug 1, and an egg 2.")
TAKEN = ("take mug 1 from fridge 1", "You pick up the mug 1 from the fridge 1.")


@pytest.mark.parametrize(("steps", "action", "expected"), [
    ((), "go to drawer 1", "You arrive at drawer 1."),
    ((), "go to attic 1", "Nothing happens."),
    ((AT_FRIDGE, OPENED), "go to mug 1", "Nothing happens."),
    ((AT_FRIDGE, OPENED, ("close fridge 1", "You close the fridge 1.")), "examine egg 2", "Nothing happens."),
    ((AT_FRIDGE, OPENED, TAKEN, ("cool mug 1 with fridge 1", "You cool the mug 1 using the fridge 1.")),
     "examine mug 1", "This is a cold mug 1."),
    ((), "take mug 1 from fridge 1", "Nothing happens."),
    ((), "look", "You are in the middle of a room. Looking quickly around you, you see nothing."),
    ((AT_FRIDGE,), "open fridge 1", "You open the fridge 1."),
    ((AT_FRIDGE,), "go to fridge 1", "Nothing happens."),
    ((AT_FRIDGE, OPENED), "close fridge 1", "You close the fridge 1."),
    ((AT_FRIDGE, OPENED), "open fridge 1", "Nothing happens."),
    ((AT_FRIDGE, OPENED), "examine egg 2", "There's nothing special about egg 2."),
    ((AT_FRIDGE, OPENED, TAKEN), "examine fridge 1", "The fridge 1 is open. In it, you see a egg 2."),
    ((AT_FRIDGE, OPENED, TAKEN), "take egg 2 from fridge 1", "Nothing happens."),
    ((AT_FRIDGE, OPENED, TAKEN), "cool mug 1 with fridge 1", "You cool the mug 1 using the fridge 1."),
    ((AT_FRIDGE, OPENED, TAKEN), "heat mug 1 with fridge 1", "Nothing happens."),
    ((AT_FRIDGE, OPENED, TAKEN), "move mug 1 to fridge 1", "You move the mug 1 to the fridge 1."),
    ((AT_FRIDGE, OPENED, TAKEN), "slice egg 2 with mug 1", "Nothing happens."),
    ((AT_FRIDGE, OPENED, ("take knife 1 from fridge 1", "You pick up the knife 1 from the fridge 1.")),
     "slice egg 2 with knife 1", "You sliced the egg 2 with the knife 1."),
    ((AT_FRIDGE, OPENED, TAKEN), "inventory", "You are carrying: a mug 1."),
    ((AT_FRIDGE, OPENED, TAKEN), "dance", "Nothing happens."),
])  # fmt: skip
def test_what_a_household_answers(steps: tuple[tuple[str, str], ...], action: str, expected: str) -> None:
    assert foreseen(HOUSEHOLDS, seen(*steps), action) == Outcome(expected)


def test_with_noise_nothing_is_thought_to_change() -> None:
    assert foreseen(HOUSEHOLDS, seen(AT_FRIDGE), "open fridge 1", "rules@0") == Outcome(AT_FRIDGE[1])


def test_where_no_text_tells_a_state_the_last_text_is_what_is_left() -> None:
    lost = Path("the red block is clear", "It is dark.").then("pick up the red block", "Still dark.")
    assert foreseen(BLOCKS, lost, "put down the red block") == Outcome("Still dark.")
