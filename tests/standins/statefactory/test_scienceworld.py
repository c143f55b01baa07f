"""The rules that read ScienceWorld's text: its descriptions, its sentences, its tasks."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lab import connect
from lab.machine import yaml12
from plain_routing import HashedEmbedder
from standins.statefactory.fidelity import SAMPLES
from standins.statefactory.scienceworld import anchored, blueprint, read, relevant
from standins.statefactory.scienceworld.descriptions import NoDescription, thing
from statefactory.predictors.factored import StateFactory
from statefactory.state import Entity, entity
from worlds.scienceworld import task_id
from worlds.scienceworld.paths import synthetic_paths

SAMPLE = SAMPLES / "scienceworld_checked.jsonl"
BENCHMARK = Path(os.environ.get("LAB_DATA") or "nowhere") / "rewardprediction" / "scienceworld_191.json"

MELT = (
    "Your task is to melt lead. First, focus on the substance. Then, take actions that will cause it to change its "
    "state of matter."
)
FIND = "Your task is to find a(n) {}. First, focus on the thing. Then, move it to the blue box in the living room."
THERMOMETER = (
    "Your task is to measure the temperature of unknown substance B, which is located around the bedroom. First, focus "
    "on the thermometer. Next, focus on the unknown substance B. If the unknown substance B temperature is above 50.0 "
    "degrees celsius, place it in the red box. If the unknown substance B temperature is below 50.0 degrees celsius, "
    "place it in the green box. The boxes are located around the kitchen."
)
MELTING = (
    "Your task is to measure the melting point of tin, which is located around the kitchen. First, focus on the "
    "thermometer. Next, focus on the tin. If the melting point of tin is above 50.0 degrees celsius, focus on the red "
    "box. If the melting point of tin is below 50.0 degrees celsius, focus on the green box. The boxes are located "
    "around the kitchen."
)
CIRCUIT = (
    "Your task is to turn on the electric motor by powering it using a renewable power source. First, focus on the "
    "electric motor. Then, create an electrical circuit that powers it on."
)
SPANS = (
    "Your task is to find the animal with the longest life span, then the shortest life span. First, focus on the "
    "animal with the longest life span.  Then, focus on the animal with the shortest life span. The animals are in the "
    "'outside' location."
)
LANGUAGES = Path(__file__).with_name("languages.yaml")  # goals, and texts that are cut up in any way
GOALS = yaml12.load(LANGUAGES.read_text(encoding="utf-8"))["scienceworld"]["goals"]  # of the thirty types of tasks
NAMED = (  # an identity that the goal of each names
    "lead", "lead", "tin", "thermometer", "red box or green box", "renewable power source", "red light bulb", "tin",
    "living thing", "non-living thing", "plant", "animal", "salt water", "green paint",
    "intermediate secondary color paint", "animal with the longest life span", "animal with the shortest life span",
    "turtle in life stage 4", "turtle in life stage 7", "apple plant in life stage 4", "apple tree", "apple",
    "inclined plane with the steepest angle", "red box or green box",
)  # fmt: skip


def told(*steps: tuple[str, str], known: tuple[Entity, ...] = ()) -> dict[str, dict[str, str]]:
    """What is known after actions and observations; every sentence must be understood."""
    for action, observation in steps:
        reading = read(known, action, observation)
        assert not reading.unparsed
        known = reading.known
    return {e.identity: {a.name: a.value for a in e.attributes} for e in known}


ROOM = (
    "This room is called the kitchen. In it, you see: \n\tthe agent\n\ta substance called air\n\ta counter. On the "
    "counter is: a bowl (containing a red apple, a potato), a drawer.\n\ta metal pot (containing nothing)\n\ta stove, "
    "which is turned off. On the stove is: nothing.\nYou also see:\n\tA door to the hallway (that is closed)"
)
LOOK = ("look around", ROOM)


# --- descriptions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "facts"),
    [
        ("a substance called liquid tin", "tin", {"phase": "liquid"}),
        ("a substance called ice", "water", {"phase": "solid"}),
        ("a stove, which is turned on. On the stove is: nothing.", "stove", {"power": "on"}),
        ("a stopwatch, which is activated. The time reads 7 ticks.", "stopwatch", {"power": "on", "time": "7 ticks"}),
        ("a freezer. The freezer door is open. In the freezer is: nothing.", "freezer", {"openness": "open"}),
        ("a thermometer, currently reading a temperature of -3 degrees celsius", "thermometer",
         {"reading": "-3 degrees celsius"}),
        ("a blue wireits terminal 1 is connected to: nothing. its terminal 2 is connected to: a anode on battery.",
         "blue wire", {"terminal-1": "unconnected", "terminal-2": "connected to anode on battery"}),
        ("a painting of the moon. The artist is listed as Bob. ", "painting", {"subject": "the moon", "artist": "Bob"}),
        ("a pea plant in the adult stage with a tall height", "pea plant",
         {"stage": "adult", "trait": "tall height"}),
        ("a bee 2 (that looks unwell)", "bee 2", {"condition": "unwell"}),
        ("A recipe titled instructions to make rust", "recipe", {"title": "instructions to make rust"}),
    ],
)  # fmt: skip
def test_a_description_tells_a_name_and_facts(text: str, name: str, facts: dict[str, str]) -> None:
    found = thing(text)
    assert (found.name, found.facts) == (name, facts)


def test_lists_within_lists_end_where_the_text_ends_them() -> None:
    bed = thing("a bed. On the bed is: a mattress. On the mattress is: a table. On the table is: nothing.., a pillow.")
    (_, mattress), (_, pillow) = bed.inside or ()
    assert [held.name for _, held in mattress.inside or ()] == ["table"]
    assert pillow.name == "pillow"


def test_text_that_is_no_description_is_refused() -> None:
    with pytest.raises(NoDescription):
        thing("a bowl (containing a red apple")
    with pytest.raises(NoDescription):
        thing("a bowl (" * 500)


# --- reading ----------------------------------------------------------------------------------------------------


def test_what_is_carried_comes_along_with_what_it_holds() -> None:
    known = told(
        LOOK,
        ("move apple to metal pot", "You move the apple to the metal pot."),
        ("pick up metal pot", "You move the metal pot to the inventory."),
        ("go to hallway", "You move to the hallway."),
    )
    assert known["red apple"] == {"location": "in metal pot in inventory", "room": "hallway"}
    assert known["potato"]["room"] == "kitchen"
    assert "contents" not in known["metal pot"]


def test_things_of_one_name_are_told_apart() -> None:
    cups = "a wood cup (containing red paint)\n\ta wood cup (containing blue paint)"
    known = told(
        ("look around", f"This room is called the art studio. In it, you see: \n\tthe agent\n\t{cups}\nYou also see:"),
        ("pour cup containing blue paint in bowl", "You pour the contents of the wood cup into the bowl."),
    )
    assert known["blue paint"]["location"] == "in bowl"
    assert known["red paint"]["location"] == "in wood cup"
    assert known["second wood cup"]["contents"] == "nothing"


def test_things_of_one_name_in_holders_of_one_name_are_two() -> None:
    text = (
        "This room is called the art studio. In it, you see: \n\tthe agent\n\ta desk. On the desk is: a bowl "
        "(containing red paint).\n\ta bowl (containing red paint)\nYou also see:"
    )
    known = told(("look around", text))
    assert known["red paint"]["location"] == "in bowl on desk"
    assert known["red paint in bowl"]["location"] == "in bowl"


def test_what_was_created_in_an_unseen_bowl_is_known_again_in_it() -> None:
    seen = "This room is called the kitchen. In it, you see: \n\tthe agent\n\ta desk. On the desk is: {}.\n"
    known = told(
        ("go to kitchen", "You move to the kitchen."),
        ("mix bowl", "Flour and water mix to produce dough."),
        ("look around", seen.format("a bowl (containing dough)")),
    )
    assert known["dough"] == {"location": "in bowl on desk", "room": "kitchen", "origin": "created by mixing"}


def test_what_is_no_longer_listed_is_no_longer_there() -> None:
    egg = "This outside location is called the outside. Here you see: \n\tthe agent\n\ta {}\nYou also see:"
    known = told(
        ("look around", egg.format("frog egg")),
        ("focus on egg frog", "You focus on the frog egg."),
        ("look around", egg.format("tadpole")),
    )
    assert "location" not in known["frog egg"]
    assert known["frog egg"]["focus"] == "focused on"
    assert known["tadpole"]["stage"] == "tadpole"


def test_an_animal_is_known_by_the_name_of_the_action_too() -> None:
    known = told(
        ("go to outside", "You move to the outside."),
        ("focus on common toad", "You focus on the frog egg."),
        ("pick up common toad", "You move the common toad to the inventory."),
    )
    assert known["frog egg"]["location"] == "in inventory"


@pytest.mark.parametrize(
    "refusal",
    [
        "No known action matches that input.",
        "The kitchen is not moveable.",
        "That container is empty, so there are no items to mix.",
        "Ambiguous request: Please enter the number for the action you intended (or blank to cancel):\n0:\teat apple",
        f"Task description:\n{MELT}",
        "You decide to wait for 10 iterations.",
        "",
    ],
)
def test_refusals_and_questions_back_change_nothing(refusal: str) -> None:
    before = read((), *LOOK).known
    assert read(before, "task", refusal) == (before, ())


def test_what_cannot_be_told_apart_is_reported() -> None:
    carried = "In your inventory, you see:\n\tan orange\n\ta cupboard. In the cupboard is: \n\ta drawer\n\ta pot"
    reading = read((), "inventory", carried)
    assert [e.identity for e in reading.known] == ["orange"]
    assert reading.unparsed == ("a cupboard. In the cupboard is:", "a drawer", "a pot")


@pytest.mark.parametrize("text", ["You arrive at loc 1. On the shelf 2, you see a mug 1.", "Das Wasser kocht.", "{}"])
def test_foreign_text_is_reported_and_not_guessed(text: str) -> None:
    assert read((), "go", text) == ((), (text,))


# --- relevance --------------------------------------------------------------------------------------------------


def test_relevance_keeps_what_the_task_names_and_what_it_is_in() -> None:
    lead = ROOM.replace("a potato", "a substance called lead")
    kept = {e.identity for e in relevant(MELT, read((), "look around", lead).known)}
    assert kept == {"agent", "lead", "bowl", "counter", "stove"}


def test_reading_goes_on_from_what_relevance_kept() -> None:
    known = relevant(FIND.format("animal"), read((), "look around", ROOM.replace("a potato", "a dove egg")).known)
    known = read(known, "pick up dove egg", "You move the dove to the inventory.").known
    known = relevant(FIND.format("animal"), read(known, "go to hallway", "You move to the hallway.").known)
    (egg,) = (e for e in known if e.identity == "dove egg")
    assert (egg.value("location"), egg.value("room")) == ("in inventory", "hallway")


# --- goals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("goal", "identity"), [*zip(GOALS, NAMED, strict=True)])
def test_every_type_of_task_has_a_goal_state(goal: str, identity: str) -> None:
    assert identity in {e.identity for e in blueprint(goal)}


def test_the_goal_is_no_source_of_what_is_known() -> None:
    assert "lead" not in told(("task", f"Task description:\n{MELT}"))


def test_a_kind_becomes_what_the_agent_focuses_on_and_stays_so() -> None:
    goal = FIND.format("animal")
    known = read((), "focus on dove egg", "You focus on the dove egg.").known
    wanted = anchored(goal, blueprint(goal), known, "You focus on the dove egg.")
    assert [e.identity for e in wanted] == ["dove egg"]
    assert wanted[0].attributes == blueprint(goal)[0].attributes
    later = read(known, "focus on bee 1", "You focus on the bee 1.").known
    assert anchored(goal, wanted, later, "You focus on the bee 1.") == wanted


STAGES = "Your task is to focus on the 4 life stages of the turtle, starting from earliest to latest."
PLANE = (
    "Your task is to determine which of the two inclined planes (B, E) has the steepest angle. After completing your "
    "experiment, focus on the inclined plane with the steepest angle."
)
TRAIT = (
    "Your task is to determine whether tall plant height is a dominant or recessive trait in the pea plant. If the "
    "trait is dominant, focus on the red box. If the trait is recessive, focus on the green box."
)
PAINT = (
    "Your task is to use chemistry to create violet-red paint. When you are part-way done, focus on the intermediate "
    "(secondary color) paint you created.  When you are completely done, focus on the violet-red paint."
)


def wanted_after_focus(goal: str, *names: str, known: tuple[Entity, ...] = ()) -> list[str]:
    """What the goal names once the agent focused on things, one after the other."""
    wanted = blueprint(goal)
    for name in names:
        known = read(known, "focus on it", f"You focus on the {name}.").known
        wanted = anchored(goal, wanted, relevant(goal, known), f"You focus on the {name}.")
    return [e.identity for e in wanted]


@pytest.mark.parametrize(
    ("goal", "choices"),
    [
        (SPANS, ("baby mouse", "baby elephant")),
        (SPANS.replace(", then the shortest life span", ""), ("giant tortoise egg", "baby hedgehog")),
        (PLANE, ("inclined plane B", "inclined plane E")),
        (TRAIT, ("red box", "green box")),
    ],
)
def test_a_choice_that_no_text_decides_is_never_taken_for_the_right_one(goal: str, choices: tuple[str, str]) -> None:
    asked = [e.identity for e in blueprint(goal)]
    assert [wanted_after_focus(goal, name) for name in choices] == [asked, asked]
    method = StateFactory(connect("rules"), HashedEmbedder())
    for name in choices:  # whichever is right, neither is paid as if it were known to be
        assert method.predict(goal, [f"focus on {name}"], [f"You focus on the {name}."])[0] < 0.9


@pytest.mark.parametrize(
    ("goal", "kind", "another", "right"),
    [
        (FIND.format("living thing"), "living thing", "table", "apple tree"),
        (FIND.format("living thing"), "living thing", "dead wolf", "bear"),
        (FIND.format("animal"), "animal", "apple tree", "bee 2"),
        (FIND.format("animal"), "animal", "bee hive", "chameleon egg"),
        (FIND.format("plant"), "plant", "flower pot 3", "apple seed"),
        (FIND.format("non-living thing"), "non-living thing", "baby wolf", "table"),
        (FIND.format("non-living thing"), "non-living thing", "kitchen", "air"),
        (STAGES, "turtle in life stage 1", "dove egg", "turtle egg"),
        (STAGES, "turtle in life stage 1", "turtle shell", "turtle egg"),
        (STAGES, "turtle in life stage 1", "hatchling turtle", "turtle egg"),
        (STAGES.replace("4", "3"), "turtle in life stage 1", "juvenile turtle", "baby turtle"),
        (STAGES.replace("turtle", "ant"), "ant in life stage 1", "baby elephant", "ant egg"),
    ],
)
def test_only_a_thing_that_can_be_of_the_kind_is_taken_for_it(goal: str, kind: str, another: str, right: str) -> None:
    assert wanted_after_focus(goal, another)[0] == kind
    assert wanted_after_focus(goal, another, right)[0] == right


def test_an_intermediate_paint_is_one_that_was_created() -> None:
    bought = read((), "look around", ROOM.replace("a potato", "violet paint")).known
    mixed = read((), "mix bowl", "Red paint and blue paint mix to produce violet paint.").known
    assert wanted_after_focus(PAINT, "violet paint", known=bought)[0] == "intermediate secondary color paint"
    assert wanted_after_focus(PAINT, "violet paint", known=mixed)[0] == "violet paint"
    other = read((), "mix bowl", "Yellow paint and blue paint mix to produce green paint.").known
    assert wanted_after_focus(PAINT, "green paint", known=other)[0] == "intermediate secondary color paint"


def test_life_stages_are_anchored_from_the_earliest_to_the_latest() -> None:
    butterfly = STAGES.replace("turtle", "butterfly")
    stages = ["butterfly egg", "caterpillar", "butterfly pupa", "adult butterfly"]
    assert wanted_after_focus(butterfly, *stages) == stages
    late = [f"butterfly in life stage {number}" for number in (2, 3, 4)]
    assert wanted_after_focus(butterfly, "butterfly egg", "adult butterfly") == ["butterfly egg", *late]


def test_plants_of_one_name_are_anchored_each_in_turn() -> None:
    goal = next(goal for goal in GOALS if "life stages of the apple plant" in goal)
    grown = ("apple seed in the seed stage", "apple tree in the seedling stage", "apple tree in the adult stage")
    pots = "".join(f"\n\ta flower pot {number} (containing a {plant})" for number, plant in enumerate(grown))
    room = f"This room is called the greenhouse. In it, you see: \n\tthe agent{pots}\nYou also see:"
    known, wanted = read((), "look around", room).known, blueprint(goal)
    for number, name in enumerate(("apple seed", "apple tree", "apple tree")):
        known = read(known, f"focus on {name} in flower pot {number}", f"You focus on the {name}.").known
        wanted = anchored(goal, wanted, relevant(goal, known), f"You focus on the {name}.")
    found = ["apple seed", "apple tree", "apple tree in flower pot 2"]
    assert [e.identity for e in wanted] == [*found, "apple plant in life stage 4", "agent"]


def test_goals_say_what_the_task_says_and_no_plan() -> None:
    def facts(goal: str) -> dict[str, dict[str, str]]:
        return {e.identity: {a.name: a.value for a in e.attributes} for e in blueprint(goal)}

    focus = {"focus": "focused on"}
    assert facts(CIRCUIT) == {"electric motor": focus | {"power": "on"}, "renewable power source": {"power": "on"}}
    assert facts(MELT) == {"lead": focus | {"phase": "liquid"}}
    assert facts(MELT.replace("melt", "change the state of matter of")) == {"lead": focus}
    assert facts(STAGES) == {f"turtle in life stage {number}": focus for number in (1, 2, 3, 4)}
    grown = next(goal for goal in GOALS if "plant from seed" in goal)
    assert facts(grown)["apple tree"] == {"stage": "reproduction"}


def test_a_recipe_is_not_taken_for_what_it_makes() -> None:
    titled = "recipe titled instructions to make sugar water"
    known = told(
        ("look around", ROOM.replace("a potato", f"a {titled}")),
        ("pick up recipe", f"You move the {titled} to the inventory."),
        ("read recipe", f"The {titled} reads: \nTo make sugar water, you need to mix sugar, water."),
        ("focus on sugar water", "You focus on the sugar water."),
    )
    assert known["recipe"]["location"] == "in inventory"
    assert (known["recipe"]["product"], known["recipe"]["ingredients"]) == ("sugar water", "sugar, water")
    assert known["sugar water"] == {"focus": "focused on"}
    assert [name for name in known if "titled" in name] == []


def test_an_unread_title_is_no_name_of_a_thing() -> None:
    paper = (entity("memo titled instructions to make sugar water", {"location": "in kitchen", "room": "kitchen"}),)
    assert told(("focus on sugar water", "You focus on the sugar water."), known=paper)["sugar water"]


def test_focus_on_a_thing_that_the_task_names_anchors_nothing() -> None:
    known = read((), "focus on thermometer", "You focus on the thermometer.").known
    wanted = blueprint(THERMOMETER)
    assert anchored(THERMOMETER, wanted, known, "You focus on the thermometer.") == wanted


@pytest.mark.parametrize(("degrees", "box"), [(12, "in green box"), (120, "in red box")])
def test_a_measurement_decides_between_two_boxes(degrees: int, box: str) -> None:
    seen = f"the thermometer measures a temperature of {degrees} degrees celsius"
    known = read((), "use thermometer in inventory on unknown substance B", seen).known
    before, after = (
        {e.identity: e.value("location") for e in wanted}
        for wanted in (blueprint(THERMOMETER), anchored(THERMOMETER, blueprint(THERMOMETER), known, seen))
    )
    assert before["unknown substance B"] == "in red box or green box"
    assert after["unknown substance B"] == box


@pytest.mark.parametrize(
    ("seen", "degrees", "box"),
    [
        ("tin", 213, "red box"),
        ("tin", 20, "red box or green box"),  # solid below the limit: it may melt above or below it
        ("liquid tin", 368, "red box or green box"),
        ("liquid tin", 20, "green box"),
    ],
)
def test_a_melting_point_decides_between_two_boxes(seen: str, degrees: int, box: str) -> None:
    known = read((), "examine substance in metal pot", f"a substance called {seen}").known
    said = f"the thermometer measures a temperature of {degrees} degrees celsius"
    known = read(known, f"use thermometer in inventory on {seen}", said).known
    wanted = anchored(MELTING, blueprint(MELTING), relevant(MELTING, known), said)
    assert wanted[-1].identity == box and wanted_after_focus(MELTING, "green box")[-1] == "red box or green box"


def test_a_power_source_of_a_kind_becomes_the_one_that_is_seen() -> None:
    known = (entity("gas generator", {"power": "off"}), entity("solar panel", {"power": "off"}))
    wanted = anchored(CIRCUIT, blueprint(CIRCUIT), known, "")
    assert [e.identity for e in wanted] == ["electric motor", "solar panel"]


# --- fidelity ---------------------------------------------------------------------------------------------------


def _sampled() -> set[str]:
    return {json.loads(line)["task"] for line in SAMPLE.read_text(encoding="utf-8").splitlines()}


def test_the_sample_is_small_and_of_no_made_pair() -> None:
    assert SAMPLE.stat().st_size < 80_000
    assert not _sampled() & set(synthetic_paths())


@pytest.mark.official
@pytest.mark.skipif(not BENCHMARK.exists(), reason="LAB_DATA names no RewardPrediction data")
def test_the_sample_is_of_tasks_outside_the_benchmark() -> None:
    listed = json.loads(BENCHMARK.read_text(encoding="utf-8"))
    assert not _sampled() & {task_id(task["task"], task["variation"]) for task in listed}
