"""The rules that read TextWorld's rooms, answers and quests."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standins.statefactory import textworld
from standins.statefactory.fidelity import facts
from standins.statefactory.languages import language_of
from standins.statefactory.textworld import milestones
from statefactory.state import Entity, entity
from worlds.textworld import load

QUEST = (
    "Welcome to TextWorld! Here is your task for today. First of all, you could, like, pick-up the type 4 key from "
    "the floor of the attic. If you can get your hands on the type 4 key, insert the type 4 key into the type 4 chest"
    " inside the attic's lock to unlock it. Once you have unlocked the type 4 chest, make absolutely sure that the "
    "type 4 chest is ajar. Then, recover the cd from the type 4 chest within the attic. With the cd, you can deposit "
    "the cd inside the trunk. Got that? Good!"
)
HUNT = (
    "Hey, thanks for coming over to the TextWorld today, there is something I need you to do for me. First off, make "
    "an attempt to take a trip south. After that, doublecheck that the gate is opened. Okay, and then, try to go to "
    "the south. Next, pick up the mop from the floor of the sauna. That's it!"
)
COOKING = (
    "You are hungry! Let's cook a delicious meal. Check the cookbook in the kitchen for the recipe. Once done, enjoy "
    "your meal!"
)
ROOM = """-= Attic =-
You've just walked into an attic. A typical kind of place. Let's see what's in here.

You can see a locked type 4 chest close by. An opened ordinary looking trunk is in the corner. The trunk contains a\
 hat, some water and a nest of bugs. Look out! It's a- oh, never mind, it's just a safe. The safe is empty! What a \
waste of a day! You scan the room for a shelf, and you find a shelf. Wow, isn't TextWorld just the best? The shelf \
is usual. On the shelf you can make out a cd. A shelf... Is that really what you were looking for? Hm. Oh well You \
see a desk. However, the desk, like an empty desk, has nothing on it. You check the price tag on the desk. A \
hundred bucks?! That's ridiculous!

There is a closed gate leading east. There is an open hatch leading west. You need an unguarded exit? You should \
try going north. There is an unblocked exit to the south.

There is a type 4 key and a half-eaten pear on the floor."""
RECIPE = """You open the copy of "Cooking: A Modern Approach (3rd Ed.)" and start reading:

Recipe #1
---------
Gather all following ingredients and follow the directions to prepare this tasty meal.

Ingredients:
carrot
red onion

Directions:
chop the carrot
slice the red onion
fry the red onion
prepare meal"""


def after(*steps: tuple[str, str], goal: str = "", known: Iterable[Entity] = ()) -> dict[str, Entity]:
    """What is known after actions and answers; with a goal, of what is relevant to it, as the modules keep it."""
    known = tuple(known)
    for action, observation in steps:
        reading = textworld.read(known, action, observation)
        known = textworld.relevant(goal, reading.known) if goal else reading.known
    return {entity.identity: entity for entity in known}


def test_a_room_is_read_whole() -> None:
    known = after(("look", ROOM))
    assert known["you"] == entity("you", {"location": "in the attic"})
    assert known["attic"] == entity("attic", {"visited": "yes", "exits": "north, south"})
    assert known["type 4 chest"] == entity(
        "type 4 chest", {"location": "in the attic", "state": "closed", "lock": "locked"}
    )
    assert known["trunk"] == entity("trunk", {"location": "in the attic", "state": "open"})
    assert known["safe"].value("state") == "open"
    assert known["shelf"] == entity("shelf", {"location": "in the attic"})
    assert known["gate"] == entity("gate", {"location": "east of the attic", "state": "closed"})
    assert known["hatch"].value("state") == "open"
    places = {name: known[name].value("location") for name in ("hat", "water", "nest of bugs", "cd", "type 4 key")}
    assert places == {
        "hat": "in the trunk", "water": "in the trunk", "nest of bugs": "in the trunk", "cd": "on the shelf",
        "type 4 key": "on the floor of the attic",
    }  # fmt: skip
    assert known["half-eaten pear"].value("location") == "on the floor of the attic"
    assert len(known) == 15


@pytest.mark.parametrize(
    ("action", "answer", "expected"),
    [
        ("take key", "You pick up the key from the ground.", ("key", "location", "in your inventory")),
        ("take key", "(the key)\nYou pick up the key from the ground.", ("key", "origin", "the floor")),
        ("take cd from box", "You take the cd from the type 4 box.", ("cd", "origin", "the type 4 box")),
        ("drop cd", "You drop the cd on the ground.", ("cd", "location", "on the floor")),
        ("put cd on shelf", "You put the cd on the shelf.", ("cd", "location", "on the shelf")),
        ("insert cd into box", "You put the cd into the box.", ("cd", "location", "in the box")),
        ("open box", "You open the box.", ("box", "state", "open")),
        ("open box", "You open the box, revealing a pen and a cd.", ("cd", "location", "in the box")),
        ("open gate", "You open gate.", ("gate", "state", "open")),
        ("close box", "You close the box.", ("box", "state", "closed")),
        ("unlock box with key", "You unlock the box.", ("box", "lock", "unlocked")),
        ("unlock box with key", "You unlock the box.", ("box", "state", "closed")),
        ("lock box with key", "You lock the box.", ("box", "lock", "locked")),
        ("eat pear", "You eat the pear. Not bad.", ("pear", "consumption", "eaten")),
        ("drink water", "You drink the water. Not bad.", ("water", "consumption", "eaten")),
        ("examine box", "The box looks strong, and impossible to break. It is open.", ("box", "state", "open")),
        ("examine gate", "it's an ominous gate You can see inside it.", ("gate", "state", "open")),
        (
            "examine box",
            "The box looks strong, and impossible to crack. You can't see inside it because the lid's in your way.",
            ("box", "state", "closed"),
        ),
        ("examine bed", "The bed is wobbly.\n\nOn the bed are a cd and a pen.", ("pen", "location", "on the bed")),
        ("inventory", "You are carrying: a cd, some water and a key.", ("water", "location", "in your inventory")),
        ("cook onion with oven", "You roasted the onion.", ("onion", "cooking", "roasted")),
        ("cook onion with oven", "You burned the onion!\n\n*** You lost! ***", ("onion", "cooking", "burned")),
        ("dice onion with knife", "You dice the onion.", ("onion", "cut", "diced")),
        ("examine onion", "The diced fried onion looks tasty.", ("onion", "cut", "diced")),
        ("inventory", "You are carrying: a raw potato.", ("potato", "cooking", "raw")),
        ("prepare meal", "Adding the meal to your inventory.", ("meal", "preparation", "prepared")),
        ("examine cookbook", RECIPE, ("recipe", "ingredients", "carrot, red onion")),
        ("examine cookbook", RECIPE, ("cookbook", "status", "read")),
    ],
)  # fmt: skip
def test_answers_to_actions(action: str, answer: str, expected: tuple[str, str, str]) -> None:
    assert expected in facts(after((action, answer)).values())


@pytest.mark.parametrize(
    "answer",
    ["You can't see any such thing.", "That's already open.", "The knife looks to fit in here",
     "Useful for frying things.",
     "Your score has just gone up by one point.\n\n*** The End ***\n\nYou scored 1 out of a possible 1, in 8 turns.",
     "You need to take the cd first.", "Which do you mean, the box or the type 4 box?",
     "You still miss something.",
     "That's not a verb I recognise.", "You have to open the gate first.", "that's an ordinary pear!"],
)  # fmt: skip
def test_refusals_points_and_looks_state_nothing(answer: str) -> None:
    assert textworld.read((), "wait", answer).known == ()


def test_a_sentence_in_no_form_is_reported_and_the_others_are_read() -> None:
    reading = textworld.read((), "look", ROOM + " The ceiling sheds purple snow.\nGlorp.")
    assert {"the ceiling sheds purple snow", "glorp"} <= set(reading.unparsed)
    assert facts(reading.known) == facts(after(("look", ROOM)).values())
    assert textworld.read((), "go", "You arrive at fridge 1. The fridge 1 is closed.").unparsed


# Each begins as a sentence of the game does.
FOREIGN = [
    "You are drowning; the red chest is now on fire.", "The door has already been eaten by a bear.",
    "No apples are left on the table.", "It is raining.", "Why not dance with the troll?", "You are in a great hurry.",
    "Nothing is left of the bridge.", "You must flee before dawn.", "A bear is eating the red chest.",
    "The chest is on fire.", "The chest looks like a troll ate it.", "You open the chest and die.",
    "You have been robbed.", "Oh, the key just melted.", "That's a bear on your roof.", "Sorry, the gate is gone.",
    "You can't stop the flood.", "Of course the key is gone.", "Wow, the desk burns.", "Hmm, the safe is gone.",
    "Ah, the king is dead.", "Welcome to hell.", "Time passes and the key rusts.", "There is nothing left alive.",
    "On the desk a bear is dancing.", "There are two wolves leading south.",
    "Something is coming and it is open.", "You don't like doors that burn.",
    "You lock the gate behind the bear that is here.",
]  # fmt: skip


@pytest.mark.parametrize("sentence", FOREIGN)
@pytest.mark.parametrize("action", ["wait", "examine chest"])
def test_a_sentence_that_only_begins_like_the_games_is_not_understood(sentence: str, action: str) -> None:
    unread = sentence.lower().rstrip(".?")
    assert textworld.read((), action, sentence) == ((), (unread,))
    before = textworld.read((), "look", ROOM)
    assert textworld.read((), "look", ROOM + " " + sentence) == (before.known, (*before.unparsed, unread))


@given(
    st.sampled_from(FOREIGN + ["The goat sings.", "You are", "It is"]), st.sampled_from(["goat", "troll", "volcano"])
)
def test_words_after_a_sentence_of_the_game_make_it_another(sentence: str, word: str) -> None:
    text = f"{sentence.rstrip('.?')} because the {word} is angry."
    assert textworld.read((), "wait", text).unparsed


@pytest.mark.parametrize(
    ("sentence", "name", "value"),
    [
        ("The chest is currently open.", "state", "open"), ("The chest is already closed.", "state", "closed"),
        ("The chest is locked.", "lock", "locked"), ("The chest is locked.", "state", "closed"),
        ("The chest is already unlocked.", "lock", "unlocked"), ("The onion is already sliced.", "cut", "sliced"),
    ],
)  # fmt: skip
def test_what_a_thing_is_already_is_a_fact(sentence: str, name: str, value: str) -> None:
    thing = sentence.split(" ")[1]
    assert (thing, name, value) in facts(after(("wait", sentence)).values())
    in_room = ROOM.replace("What a waste of a day!", "What a waste of a day! The safe is currently closed.")
    assert after(("look", in_room))["safe"].value("state") == "closed"


def test_nothing_is_read_from_the_quest_before_the_first_room() -> None:
    for goal in (QUEST, HUNT):
        assert textworld.read((), "", f"{goal}\n\n{ROOM}") == textworld.read((), "", ROOM)


def test_what_was_left_behind_stays_where_it_was() -> None:
    hall = "-= Hall =-\nYou are in a hall.\n\n\n\nThere is an exit to the west."
    known = after(("look", ROOM), ("take cd from shelf", "You take the cd from the shelf."), ("go east", hall))
    assert known["hat"].value("location") == "in the trunk"
    assert known["cd"].value("location") == "in your inventory"
    assert known["hall"].value("location") == "east of the attic"
    assert after(("drop cd", "You drop the cd on the ground."), known=known.values())["cd"].value("location") == (
        "on the floor of the hall"
    )


def test_an_inventory_tells_what_is_no_longer_carried() -> None:
    known = after(("take key", "You pick up the key from the ground."), ("inventory", "You are carrying nothing."))
    assert known["key"] == entity("key", {"origin": "the floor"})


def test_a_quest_is_its_instructions_final_facts() -> None:
    assert textworld.blueprint(QUEST) == (
        entity("type 4 key", {"origin": "the floor", "location": "in your inventory"}),
        entity("type 4 chest", {"lock": "unlocked", "state": "open"}),
        entity("cd", {"origin": "the type 4 chest", "location": "in the trunk"}),
    )
    assert textworld.blueprint(COOKING) == (
        entity("cookbook", {"status": "read"}),
        entity("meal", {"preparation": "prepared", "consumption": "eaten"}),
    )
    assert textworld.blueprint(HUNT) == (
        entity("first room, to the south", {"visited": "yes"}),
        entity("gate", {"state": "open"}),
        entity("second room, to the south", {"visited": "yes"}),
        entity("mop", {"origin": "the floor", "location": "in your inventory"}),
    )


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("take the pen that's in the attic", ("pen", "location", "in your inventory")),
        ("retrieve the pen from the desk in the attic", ("pen", "origin", "the desk")),
        ("rest the pen on the table within the attic", ("pen", "location", "on the table")),
        ("toss the pen on the floor of the attic", ("pen", "location", "on the floor of the attic")),
        ("check that the safe in the attic is unlocked with the key", ("safe", "lock", "unlocked")),
        ("look and see that the safe is locked", ("safe", "lock", "locked")),
        ("make sure that the safe inside the attic is wide open", ("safe", "state", "open")),
        ("doublecheck that the gate is shut", ("gate", "state", "closed")),
        ("unlock the safe within the attic with the key", ("safe", "lock", "unlocked")),
        ("eat the pear", ("pear", "consumption", "eaten")),
        ("head through the north gate", ("first room, to the north", "visited", "yes")),
    ],
)
def test_instructions(instruction: str, expected: tuple[str, str, str]) -> None:
    assert expected in facts(
        textworld.blueprint(f"Welcome to TextWorld! Your task for today is to {instruction}. That's it!")
    )


def test_rooms_of_moves_get_their_names_in_order_and_keep_them() -> None:
    hall = "-= Hall =-\nYou are in a hall.\n\n\n\nThere is an exit to the south."
    sauna = "-= Sauna =-\nYou are in a sauna.\n\n\n\nThere is an exit to the north."
    wanted, known, seen = textworld.blueprint(HUNT), (), []
    for action, observation in (("go east", hall), ("go south", sauna), ("go north", hall), ("go south", sauna),
                                ("go south", ROOM)):  # fmt: skip
        known = textworld.relevant(HUNT, textworld.read(known, action, observation).known)
        wanted = textworld.anchored(HUNT, wanted, known, observation)
        seen.append([entity.identity for entity in wanted if entity.value("visited")])
    unknown = ["first room, to the south", "second room, to the south"]
    assert seen == [unknown, ["sauna", unknown[1]], ["sauna", unknown[1]], ["sauna", unknown[1]], ["sauna", "attic"]]
    assert {entity.identity for entity in wanted} == {"sauna", "gate", "attic", "mop"}


def test_the_recipe_adds_nothing_to_the_goal() -> None:
    first = textworld.blueprint(COOKING)
    assert textworld.anchored(COOKING, first, (), RECIPE) == first


def test_what_the_quest_names_is_relevant() -> None:
    known = after(("look", ROOM)).values()
    assert {e.identity for e in textworld.relevant(QUEST, known)} == {
        "you",
        "type 4 chest",
        "trunk",
        "cd",
        "type 4 key",
    }
    hunt = {e.identity: e for e in textworld.relevant(HUNT, known)}
    assert set(hunt) == {"you", "attic", "gate"}
    assert hunt["attic"] == entity("attic", {"visited": "yes"})
    assert {"hat", "shelf"} <= {e.identity for e in textworld.relevant(COOKING, known)}


def test_reading_on_from_the_kept_state_gives_the_same_of_what_matters() -> None:
    steps = (
        ("look", ROOM), ("take type 4 key", "You pick up the type 4 key from the ground."),
        ("unlock", "You unlock the type 4 chest."), ("open", "You open the type 4 chest, revealing a lamp."),
        ("take cd from shelf", "You take the cd from the shelf."),
        ("insert cd into trunk", "You put the cd into the trunk."),
    )  # fmt: skip
    kept = after(*steps, goal=QUEST)
    assert set(kept.values()) == set(textworld.relevant(QUEST, after(*steps).values()))


@pytest.mark.slow
def test_every_instruction_of_generated_quests_is_understood() -> None:
    for task in load("synthetic", seed=78, games={"test": 8}).tasks("test"):
        parts = list(milestones(task.goal))
        assert textworld.is_goal(task.goal)
        assert language_of(task.goal) is textworld
        assert task.kind != "lock-and-key" or len(parts) == 5
        assert task.kind != "treasure-hunt" or ("location", "in your inventory") in [
            (a.name, a.value) for _, a in parts[-1]
        ]


@pytest.mark.slow
def test_the_goal_of_a_lock_and_key_quest_is_in_the_state_when_it_is_won() -> None:
    from worlds.textworld.expert import Expert

    with load("synthetic", seed=78, games={"test": 1}) as world:
        task = world.tasks("test")[0]
        step, known = world.reset(task), ()
        for action in Expert(world).actions(task):
            assert not facts(textworld.blueprint(task.goal)) <= facts(known)
            step = world.step(action)
            known = textworld.read(known, action, step.text).known
        assert step.done
        assert facts(textworld.blueprint(task.goal)) <= facts(known)
