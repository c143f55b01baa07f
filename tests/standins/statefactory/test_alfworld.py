"""ALFWorld's language: what sentences say, what tasks ask for, and how close the reading is to the simulator."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standins.statefactory import alfworld as language
from standins.statefactory.fidelity import Compared, fidelity
from standins.statefactory.fidelity import compared as compared_world
from standins.statefactory.fidelity.alfworld import Simulator, compared, unseen
from standins.statefactory.languages import Reading, language_of
from statefactory.state import Entity, entity
from worlds.alfworld import load
from worlds.alfworld.official import present

DATA = Path(os.environ.get("LAB_DATA") or "nowhere")
official = pytest.mark.skipif(not present(DATA / "alfworld"), reason="LAB_DATA names no ALFWorld games")
ENOUGH = 0.95  # F1 on unseen games

ROOM = "You are in the middle of a room. Looking quickly around you, you see a cabinet 1, a desk 1, and a fridge 1."
HOT_MUG = "put a hot mug in cabinet."
LOOK = "look at cd under the desklamp."
TWO = "find two mug and put them in cabinet."
GOALS = {
    "put a mug in cabinet.": {"mug": {"location": "in cabinet"}},
    "put some mug on countertop.": {"mug": {"location": "on countertop"}},
    "put a apple in countertop.": {"apple": {"location": "on countertop"}},
    HOT_MUG: {"mug": {"location": "in cabinet", "temperature": "hot"}},
    "heat some egg and put it in fridge.": {"egg": {"location": "in fridge", "temperature": "hot"}},
    "put a cool pan in stoveburner.": {"pan": {"location": "on stoveburner", "temperature": "cool"}},
    "cool some mug and put it in shelf.": {"mug": {"location": "on shelf", "temperature": "cool"}},
    "put a clean cloth in bathtubbasin.": {"cloth": {"location": "in bathtubbasin", "cleanliness": "clean"}},
    "clean some knife and put it in drawer.": {"knife": {"location": "in drawer", "cleanliness": "clean"}},
    "put two mug in cabinet.": {"first mug": {"location": "in cabinet"}, "second mug": {"location": "in cabinet"}},
    TWO: {"first mug": {"location": "in cabinet"}, "second mug": {"location": "in cabinet"}},
    LOOK: {"cd": {"location": "in hand under desklamp"}, "desklamp": {"power": "on"}},
    "examine the pen with the desklamp.": {
        "pen": {"location": "in hand under desklamp"}, "desklamp": {"power": "on"},
    },
}  # fmt: skip

# Observations from nothing, and facts that they say.
SAID = [
    (ROOM, [("agent", "location", "in the middle of the room"), ("fridge 1", "location", "in the room")]),
    ("You arrive at cabinet 13. The cabinet 13 is closed.",
     [("agent", "location", "at cabinet 13"), ("cabinet 13", "door", "closed")]),
    ("You arrive at desk 2. On the desk 2, you see a cd 1, and a pen 3.",
     [("cd 1", "location", "on desk 2"), ("pen 3", "location", "on desk 2")]),
    ("On the garbagecan 1, you see a egg 1.", [("egg 1", "location", "in garbagecan 1")]),
    ("On the shelf 1, you see a box 1, a cd 2, a cd 1, and a pen 1.", [("cd 1", "location", "on shelf 1")]),
    ("You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.",
     [("fridge 1", "door", "open"), ("egg 1", "location", "in fridge 1"), ("agent", "location", "at fridge 1")]),
    ("You close the safe 1.", [("safe 1", "door", "closed")]),
    ("You pick up the mug 2 from the coffeemachine 1.",
     [("mug 2", "location", "in hand at coffeemachine 1"), ("agent", "holding", "mug 2")]),
    ("You move the mug 2 to the cabinet 4.", [("mug 2", "location", "in cabinet 4"), ("agent", "holding", "nothing")]),
    ("You heat the egg 1 using the microwave 1.", [("egg 1", "temperature", "hot")]),
    ("You cool the egg 1 using the fridge 1.", [("egg 1", "temperature", "cool")]),
    ("You clean the fork 1 using the sinkbasin 1.", [("fork 1", "cleanliness", "clean")]),
    ("You sliced the bread 1 with the knife 1.", [("bread 1", "shape", "sliced")]),
    ("You turn on the desklamp 1.", [("desklamp 1", "power", "on")]),
    ("This desklamp 1 is off.", [("desklamp 1", "power", "off")]),
    ("This is a hot and clean sliced potato 1.",
     [("potato 1", "temperature", "hot"), ("potato 1", "cleanliness", "clean"), ("potato 1", "shape", "sliced")]),
    ("This is a cool sliced apple 1.", [("apple 1", "temperature", "cool"), ("apple 1", "shape", "sliced")]),
    ("This is a cold mug 1.", [("mug 1", "temperature", "cool")]),
    ("This is a clean mug 1.", [("mug 1", "cleanliness", "clean")]),
    ("This is a sliced lettuce 1.", [("lettuce 1", "shape", "sliced")]),
    ("This is a normal bowl 1. In it, you see a egg 1.", [("egg 1", "location", "in bowl 1")]),
    ("You are carrying: a mug 1.", [("agent", "holding", "mug 1"), ("mug 1", "location", "in hand")]),
    ("You are not carrying anything.", [("agent", "holding", "nothing")]),
    ("You are facing the drawer 2, and drawer 1. Next to it, you see a pen 1.",
     [("agent", "location", "at drawer 2"), ("pen 1", "location", "next to drawer 2")]),
]  # fmt: skip
SAYS_NOTHING = [
    "Nothing happens.", "There's nothing special about mug 1.", "You don't see any switch on the mug 1.", "",
    "-= Welcome to TextWorld, ALFRED! =-\n\nYour task is to: put a hot mug in cabinet.",
    "\nAvailable commands:\n  look:             look around\n  go to (receptacle):   move to a receptacle\n",
]  # fmt: skip


def told(*observations: str, goal: str = "") -> tuple[Entity, ...]:
    """What is known after observations that all are understood; goal: filter at each step by relevance."""
    known: tuple[Entity, ...] = ()
    for observation in observations:
        reading = language.read(known, "", observation)
        assert reading.unparsed == ()
        known = language.relevant(goal, reading.known) if goal else reading.known
    return known


def value(known: tuple[Entity, ...], identity: str, name: str) -> str | None:
    return next((item.value(name) for item in known if item.identity == identity), None)


def goal_after(goal: str, *observations: str) -> tuple[Entity, ...]:
    """The goal state after observations, as the modules make it: filtered states, the goal carried on."""
    known, wanted = (), language.blueprint(goal)
    for observation in observations:
        known = language.relevant(goal, language.read(known, "", observation).known)
        wanted = language.anchored(goal, wanted, known, observation)
    return wanted


def plain(known: tuple[Entity, ...]) -> dict[str, dict[str, str]]:
    return {item.identity: {a.name: a.value for a in item.attributes} for item in known}


# Sentences.


@pytest.mark.parametrize(("observation", "facts"), SAID, ids=[text[:40] for text, _ in SAID])
def test_a_sentence_says_its_facts(observation: str, facts: list[tuple[str, str, str]]) -> None:
    known = told(observation)
    assert [(identity, name, value(known, identity, name)) for identity, name, _ in facts] == facts


@pytest.mark.parametrize("observation", SAYS_NOTHING)
def test_some_sentences_are_understood_and_say_no_fact(observation: str) -> None:
    assert language.read((), "look", observation) == Reading(())


def test_a_held_thing_goes_where_the_agent_goes_and_under_its_lamp() -> None:
    known = told("You pick up the cd 1 from the drawer 2.", "You arrive at bed 1. On the bed 1, you see nothing.")
    assert value(known, "cd 1", "location") == "in hand at bed 1"
    known = language.read(known, "", "You arrive at desk 1. On the desk 1, you see a desklamp 1.").known
    assert value(known, "cd 1", "location") == "in hand under desklamp 1"
    known = language.read(known, "", "You arrive at bed 1. On the bed 1, you see nothing.").known
    assert value(known, "cd 1", "location") == "in hand at bed 1"


def test_what_is_out_of_sight_stays_as_it_was_and_what_is_seen_again_is_renewed() -> None:
    known = told("On the desk 1, you see a pen 1.", "You arrive at bed 1. On the bed 1, you see nothing.")
    assert value(known, "pen 1", "location") == "on desk 1"
    known = told("You heat the egg 1 using the microwave 1.", "You cool the egg 1 using the fridge 1.")
    assert value(known, "egg 1", "temperature") == "cool"


def test_a_known_place_is_kept_where_a_vaguer_one_is_told() -> None:
    known = told("On the desk 1, you see a bowl 1, and a pen 1.", "This is a normal bowl 1. In it, you see a pen 1.")
    assert value(known, "pen 1", "location") == "on desk 1"
    known = told("You arrive at drawer 1. The drawer 1 is closed.",
                 "You are facing the drawer 2, and drawer 1. Next to it, you see nothing.")  # fmt: skip
    assert value(known, "agent", "location") == "at drawer 1"


@pytest.mark.parametrize("sentence", [
    "The red block is on the table.", "You open the big fridge.", "You feel tired.", "On the desk 1, you see two pens.",
])  # fmt: skip
def test_a_sentence_that_is_not_of_the_grammar_is_reported_and_the_rest_is_read(sentence: str) -> None:
    reading = language.read((), "look", f"You arrive at desk 1. {sentence} You are not carrying anything.")
    assert reading.unparsed == (sentence,)
    assert plain(reading.known) == {"agent": {"location": "at desk 1", "holding": "nothing"}}


def test_nothing_is_read_from_the_task() -> None:
    known = told(f"-= Welcome to TextWorld, ALFRED! =-\n\n{ROOM}\n\nYour task is to: put a hot mug in microwave.")
    assert {item.identity for item in known} == {"agent", "cabinet 1", "desk 1", "fridge 1"}


# Goals.


@pytest.mark.parametrize("goal", GOALS)
def test_the_goal_of_every_kind_of_task(goal: str) -> None:
    assert language_of(goal) is language
    assert plain(language.blueprint(goal)) == GOALS[goal]
    assert language.blueprint(f"Your task is to: {goal}") == language.blueprint(goal)


def test_every_task_of_made_games_is_a_goal() -> None:
    with load("synthetic", seed=3) as world:
        assert all(language.is_goal(task.goal) for split in world.splits for task in world.tasks(split))


@pytest.mark.slow
@official
@pytest.mark.official
def test_every_task_of_the_released_validation_games_is_a_goal() -> None:
    with load("official") as world:
        for split in ("valid_seen", "valid_unseen"):
            assert all(language.is_goal(task.goal) for task in world.tasks(split))


def test_a_kind_becomes_the_first_thing_of_it_that_is_seen_and_stays_so() -> None:
    shelf = "On the shelf 1, you see a mug 2, and a mug 1."
    assert plain(goal_after(HOT_MUG, shelf)) == {"mug 2": {"location": "in cabinet", "temperature": "hot"}}
    again = goal_after(HOT_MUG, shelf, "On the shelf 2, you see a mug 3.", "You open the cabinet 1.")
    assert plain(again) == {"mug 2": {"location": "in cabinet", "temperature": "hot"}}


def test_a_thing_once_anchored_stays_whatever_is_taken_and_treated_later() -> None:
    seen = "On the shelf 1, you see a mug 2, and a mug 1."
    others = ["You pick up the mug 1 from the shelf 1.", "You heat the mug 1 using the microwave 1.",
              "You move the mug 1 to the cabinet 2."]  # fmt: skip
    assert goal_after(HOT_MUG, seen, *others) == goal_after(HOT_MUG, seen)


def test_the_goal_is_the_same_before_and_after_it_is_fulfilled() -> None:
    """Places stay kinds: to name the one where the thing lies would tell the goal how far the task is."""
    arrived = "You arrive at cabinet 2. The cabinet 2 is open. In it, you see nothing."
    taken, put = "You pick up the mug 1 from the shelf 1.", "You move the mug 1 to the cabinet 2."
    expected = {"mug 1": {"location": "in cabinet"}}
    for steps in ([taken], [taken, arrived], [taken, arrived, put]):
        assert plain(goal_after("put a mug in cabinet.", *steps)) == expected


@given(st.sampled_from(list(GOALS)), st.lists(st.sampled_from([text for text, _ in SAID]), max_size=8))
def test_observations_change_no_fact_of_a_goal_but_names(goal: str, texts: list[str]) -> None:
    wanted, first = goal_after(goal, *texts), language.blueprint(goal)
    assert [item.attributes for item in wanted] == [item.attributes for item in first]


def test_two_things_are_never_the_same_one() -> None:
    one = goal_after(TWO, "On the shelf 1, you see a mug 1.", "On the shelf 1, you see a mug 1.")
    assert [item.identity for item in one] == ["mug 1", "second mug"]
    put = "You move the mug 1 to the cabinet 2."
    two = goal_after(TWO, "On the shelf 1, you see a mug 1.", put, "You pick up the mug 3 from the desk 1.")
    assert plain(two) == {"mug 1": {"location": "in cabinet"}, "mug 3": {"location": "in cabinet"}}


def test_a_look_is_anchored_to_its_thing_and_its_lamp() -> None:
    lamp = "On the desk 1, you see a cd 2, and a desklamp 1."
    assert plain(goal_after(LOOK, lamp)) == {
        "cd 2": {"location": "in hand under desklamp"}, "desklamp 1": {"power": "on"},
    }  # fmt: skip


# Relevance.


def test_relevant_are_the_agent_the_kinds_of_the_task_and_what_it_implies() -> None:
    names = ["agent", "mug 1", "mug 2", "cabinet 3", "microwave 1", "fridge 1", "pen 1", "mugshot 1", "desklamp 1"]
    known = tuple(entity(name, {"location": "somewhere"}) for name in names)
    assert [item.identity for item in language.relevant(HOT_MUG, known)] == names[:5]
    assert language.relevant("put a pen in fridge.", known) == (known[0], known[5], known[6])
    assert language.relevant("examine the pen with the desklamp.", known) == (known[0], known[6], known[8])


@pytest.mark.slow
def test_reading_on_from_the_relevant_state_loses_nothing_relevant() -> None:
    with load("synthetic", seed=11) as world:
        for task in unseen(world, 2, seed=1):
            texts, chance = [world.reset(task).text], Random(task.id)
            texts += [world.step(chance.choice(world.valid_actions())).text for _ in range(60)]
            assert told(*texts, goal=task.goal) == _as_filtered(language.relevant(task.goal, told(*texts)), task.goal)


def _as_filtered(known: tuple[Entity, ...], goal: str) -> tuple[Entity, ...]:
    """A lamp is no part of most tasks: there, what is held under it is held where it stands."""
    if "desklamp" in goal:
        return known
    here = value(known, "agent", "location")
    return tuple(
        entity(item.identity, {
            a.name: f"in hand {here}" if a.value.startswith("in hand under") else a.value for a in item.attributes
        })
        for item in known
    )  # fmt: skip


# Fidelity.


@pytest.fixture(scope="module")
def synthetic_steps() -> list[Compared]:
    return list(compared(2, seed=21, data="synthetic"))


@pytest.mark.slow
@official
@pytest.mark.official
@pytest.mark.parametrize("games", [2, pytest.param(20, marks=pytest.mark.campaign)])
def test_the_reading_of_released_unseen_games_is_faithful(games: int) -> None:
    score = fidelity(list(compared_world("alfworld", games, seed=games)))
    assert score.f1 >= ENOUGH
    assert score.unparsed == 0


@pytest.mark.slow
def test_the_comparison_notices_a_reader_that_misses_what_was_taken(
    synthetic_steps: list[Compared], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    read = language.read

    def blind(known: tuple[Entity, ...], action: str, observation: str) -> Reading:
        return read(known, action, "" if action.startswith("take") else observation)

    monkeypatch.setattr(language, "read", blind)
    poor = list(compared(1, seed=21, data="synthetic"))
    held = {fact for step in poor for fact in step.true - step.read}
    assert any(fact[:2] == ("agent", "holding") for fact in held)
    assert fidelity(poor).f1 < fidelity(synthetic_steps[: len(poor)]).f1


def test_the_games_of_a_seed_are_the_same_and_of_both_splits_where_there_are_two() -> None:
    with load("synthetic", seed=2) as world:
        assert unseen(world, 5, seed=2) == unseen(world, 5, seed=2) != unseen(world, 5, seed=3)
        assert {task.id.split("-")[2] for task in unseen(world, 5, seed=2)} == {"valid_unseen"}


def test_the_truth_is_the_planning_librarys_own_state() -> None:
    """The fidelity's simulator is asked through the engine's record of the atoms."""
    import fast_downward

    from worlds.alfworld import engine as engines
    from worlds.alfworld.world import fast_game

    with load("synthetic", seed=21) as world:
        task, rules = unseen(world, 1, seed=21)[0], world.games.rules()
        engine, chance = engines.FastPddlEnv(), Random(4)
        engine.load(fast_game(rules, task))
        state = engine.reset()
        for _ in range(30):
            state, _, _ = engine.step(chance.choice(state["admissible_commands"]))
        listed = (fast_downward.Atom * engine.downward_lib.get_state_size())()
        engine.downward_lib.get_state(listed)
        atoms = {engines.change(atom.name)[0] for atom in listed if atom.name.startswith("Atom ")}
        simulator = Simulator(engine, rules, task)
        for predicate in ("inreceptacle", "holds", "opened", "atlocation", "ishot", "isclean"):
            found = [fact for fact in atoms if fact[0] == predicate]
            assert len(simulator.held(predicate)) == len(found), predicate
        engine.close()
