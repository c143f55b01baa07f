"""Synthetic games: ALFWorld's six task types on AI2-THOR's floor plans, with things placed at random from a seed.

They need no download. What is where is our own random choice, not ALFRED's, so results on them say that the code
works and nothing about ALFWorld. As in ALFRED, the two splits are on different floor plans.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from random import Random
from typing import NamedTuple

from worlds.alfworld import package_files
from worlds.alfworld.package_files import constants, floor_plan
from worlds.alfworld.tasks import TASK_TYPES, HouseholdTask, Rules, packed, task_id

# Receptacles that a floor plan names without saying where they stand, and how many of them a scene gets: what the
# released games mostly have.
UNPLACED = {
    "ArmChair": 1, "Bed": 1, "CoffeeMachine": 1, "CoffeeTable": 1, "CounterTop": 1, "Desk": 1, "DiningTable": 1,
    "Dresser": 1, "GarbageCan": 1, "HandTowelHolder": 2, "LaundryHamper": 1, "Ottoman": 1, "Safe": 1, "Shelf": 2,
    "SideTable": 1, "Sofa": 1, "StoveBurner": 4, "Toaster": 1, "Toilet": 1, "ToiletPaperHanger": 1, "TowelHolder": 1,
}  # fmt: skip
LAMP = "DeskLamp"
LAMP_STANDS_ON = ("Desk", "Dresser", "Shelf", "SideTable")  # as in the released games
MOST_OF_A_KIND = 3
AGENT = "agent1"
START = "loc|start"
# The domain names these types, so that they have to be declared in every problem.
NAMED_BY_DOMAIN = {"receptacles": ("Fridge", "Microwave", "SinkBasin"), "things": ("ButterKnife", "Knife")}
# PDDL has no such characters in names; ALFWorld reads them back from these words.
SPELT = {"-": "_minus_", "|": "_bar_", "+": "_plus_", ".": "_dot_"}
ABILITIES = {"cleanable": "Cleanable", "coolable": "Coolable", "heatable": "Heatable", "sliceable": "Sliceable"}
GAMES_OF_A_TYPE = {"train": 10, "valid_unseen": 6}
# What a task does to a thing on its way: the table of things that it can be done with, and the receptacle for it.
TREATMENTS = {
    "pick_clean_then_place_in_recep": ("Cleanable", "SinkBasin"),
    "pick_cool_then_place_in_recep": ("Coolable", "Fridge"),
    "pick_heat_then_place_in_recep": ("Heatable", "Microwave"),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """receptacles: their ids; places: the id of the receptacle that each thing is in, by the thing's id.

    An id is AI2-THOR's: the kind and a position, "Apple|+01.20|+00.95|-00.31".
    """

    floor_plan: int
    receptacles: tuple[str, ...]
    places: dict[str, str]

    def receptacle_kinds(self) -> list[str]:
        return sorted({kind(receptacle) for receptacle in self.receptacles})

    def kinds(self) -> list[str]:
        """The kinds of things that lie in it."""
        return sorted({kind(thing) for thing in self.places})

    def of_kind(self, wanted: str) -> list[str]:
        """The things of one kind."""
        return [thing for thing in self.places if kind(thing) == wanted]


def kind(thing: str) -> str:
    """The kind of a thing by its id. Basins are named at the end, "Sink|-01.90|+00.97|-01.50|SinkBasin"."""
    return thing.split("|")[-1] if thing.endswith("Basin") else thing.split("|")[0]


def synthetic_scene(number: int, rng: Random) -> Scene:
    """A scene on a floor plan, with one to three things of each kind that the plan names and a receptacle can hold.

    It has the receptacles that the floor plan places, and the unplaced ones that it names.
    """
    kinds, placed = floor_plan(number)
    receptacles = [receptacle for receptacle in placed if kind(receptacle) in standing()]
    there = {kind(receptacle) for receptacle in receptacles}
    receptacles += [
        missing + position(rng) for missing in kinds if missing not in there for _ in range(UNPLACED.get(missing, 0))
    ]
    places: dict[str, str] = {}
    for thing_kind in kinds:
        holders = [receptacle for receptacle in receptacles if holds(kind(receptacle), thing_kind)]
        if holders:
            for _ in range(1 if thing_kind == LAMP else rng.randint(1, MOST_OF_A_KIND)):
                places[thing_kind + position(rng)] = rng.choice(holders)
    return Scene(number, tuple(receptacles), places)


@cache
def standing() -> frozenset[str]:
    """The kinds of receptacles that stay where they are; bowls and the like are things here."""
    return frozenset(constants().VAL_RECEPTACLE_OBJECTS) - frozenset(constants().MOVABLE_RECEPTACLES_SET)


def holds(receptacle_kind: str, thing_kind: str) -> bool:
    """Whether a receptacle can hold a thing."""
    if thing_kind == LAMP:
        return receptacle_kind in LAMP_STANDS_ON
    return thing_kind in constants().VAL_RECEPTACLE_OBJECTS[receptacle_kind]


def position(rng: Random) -> str:
    """The end of an id: a place in the room, in metres."""
    return "".join(f"|{metres:+06.2f}" for metres in (rng.uniform(-3, 3), rng.uniform(0, 2), rng.uniform(-3, 3)))


def problem_text(scene: Scene, goal: str) -> str:
    """The PDDL problem. goal: its "(:goal ...)". The planning library wants the sections in this order."""
    lines = (
        "(define (problem plan)", "(:domain alfred)", "(:objects", *objects(scene), ")", "(:init",
        "(= (total-cost) 0)", *facts(scene), ")", goal, "(:metric minimize (total-cost))", ")",
    )  # fmt: skip
    return "\n".join(lines)


def objects(scene: Scene) -> Iterator[str]:
    """Every name with its PDDL type."""
    yield f"{AGENT} - agent"
    for name in sorted({*scene.kinds(), *NAMED_BY_DOMAIN["things"]}):
        yield f"{name}Type - otype"
    for name in sorted({*scene.receptacle_kinds(), *NAMED_BY_DOMAIN["receptacles"]}):
        yield f"{name}Type - rtype"
    yield from (f"{spelt(thing)} - object" for thing in scene.places)
    yield from (f"{spelt(receptacle)} - receptacle" for receptacle in scene.receptacles)
    yield from (f"{spelt(place)} - location" for place in (*locations(scene).values(), START))


def facts(scene: Scene) -> Iterator[str]:
    """What is true at first."""
    yield f"(atLocation {AGENT} {spelt(START)})"
    where = locations(scene)
    for receptacle in scene.receptacles:
        yield f"(receptacleType {spelt(receptacle)} {kind(receptacle)}Type)"
        yield f"(receptacleAtLocation {spelt(receptacle)} {spelt(where[receptacle])})"
        if kind(receptacle) in constants().OPENABLE_CLASS_SET:
            yield f"(openable {spelt(receptacle)})"
    for thing, receptacle in scene.places.items():
        yield f"(objectType {spelt(thing)} {kind(thing)}Type)"
        yield f"(inReceptacle {spelt(thing)} {spelt(receptacle)})"
        yield f"(objectAtLocation {spelt(thing)} {spelt(where[receptacle])})"
        yield from (f"({ability} {spelt(thing)})" for ability in abilities(kind(thing)))
    for receptacle_kind in scene.receptacle_kinds():
        for thing_kind in scene.kinds():
            if holds(receptacle_kind, thing_kind):
                yield f"(canContain {receptacle_kind}Type {thing_kind}Type)"


def abilities(thing_kind: str) -> Iterator[str]:
    """What can be done with a thing."""
    yield "toggleable" if thing_kind == LAMP else "pickupable"
    tables = constants().VAL_ACTION_OBJECTS
    yield from (ability for ability, table in ABILITIES.items() if thing_kind in tables[table])
    if thing_kind in constants().MOVABLE_RECEPTACLES_SET:
        yield "isReceptacleObject"


def locations(scene: Scene) -> dict[str, str]:
    """Each receptacle is approached from a place of its own."""
    return {receptacle: f"loc|{number}" for number, receptacle in enumerate(scene.receptacles)}


def spelt(name: str) -> str:
    for character, word in SPELT.items():
        name = name.replace(character, word)
    return name


class Goal(NamedTuple):
    """What a task asks for, as kinds: a thing, and where it goes or, for "look at", under which lamp."""

    thing: str
    place: str


class SyntheticGames:
    """The games of a seed; each split is made when it is first asked for."""

    data = "synthetic"
    splits = tuple(GAMES_OF_A_TYPE)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def rules(self) -> Rules:
        return package_files.rules()

    def tasks(self, split: str) -> tuple[HouseholdTask, ...]:
        return synthetic_tasks(self._seed, split)


@lru_cache(maxsize=8)
def synthetic_tasks(seed: int, split: str) -> tuple[HouseholdTask, ...]:
    """The tasks of a split, the six types in turn."""
    size = GAMES_OF_A_TYPE[split] * len(TASK_TYPES)
    return tuple(synthetic_task(seed, split, position, size) for position in range(size))


def synthetic_task(seed: int, split: str, position: int, size: int) -> HouseholdTask:
    task_type = TASK_TYPES[position % len(TASK_TYPES)]
    rng = Random(f"alfworld {seed} {split} {position}")
    scene, wanted = scene_for(task_type, split, rng)
    words = {"obj": wanted.thing, "recep": wanted.place, "toggle": wanted.place}
    sentence = rng.choice(package_files.goals()[task_type]["templates"])
    return HouseholdTask(
        id=task_id("synthetic", split, position, size),
        goal=sentence.format(**{key: word.lower() for key, word in words.items()}) + ".",
        task_type=task_type,
        game=f"{task_type}-{wanted.thing}-None-{wanted.place}-{scene.floor_plan}/made_{seed}_{position:03}",
        packed_problem=packed(problem_text(scene, goal_text(task_type, words))),
    )


def scene_for(task_type: str, split: str, rng: Random) -> tuple[Scene, Goal]:
    """A scene on a floor plan of the split in which a task of this type can be set, and such a task."""
    tables = constants()
    of_split = set(tables.TRAIN_SCENE_NUMBERS if split == "train" else tables.TEST_SCENE_NUMBERS)
    # The package has a set of rooms; without sorting, the draw would depend on the process's hash seed.
    rooms = sorted(tables.GOALS_VALID[task_type])
    numbers = [number for room in rooms for number in tables.SCENE_TYPE[room] if number in of_split]
    while True:
        scene = synthetic_scene(rng.choice(numbers), rng)
        if possible := list(candidates(task_type, scene)):
            return scene, rng.choice(possible)


def candidates(task_type: str, scene: Scene) -> Iterator[Goal]:
    """What a task of a type could ask for in a scene, and what is not so already."""
    if task_type == "look_at_obj_in_light":
        yield from (Goal(thing, LAMP) for thing in scene.kinds() if thing != LAMP and LAMP in scene.kinds())
        return
    table, tool = TREATMENTS.get(task_type, ("", ""))
    treatable = constants().VAL_ACTION_OBJECTS[table] if tool in scene.receptacle_kinds() else ()
    enough = 2 if task_type == "pick_two_obj_and_place" else 1
    for thing in scene.kinds():
        if thing not in treatable if tool else thing == LAMP:
            continue
        own = scene.of_kind(thing)
        for place in scene.receptacle_kinds():
            # A thing to clean, heat or cool may lie in the right place at first: it is to leave it and come back.
            unsolved = place != tool if tool else not any(kind(scene.places[one]) == place for one in own)
            if holds(place, thing) and unsolved and len(own) >= enough:
                yield Goal(thing, place)


def goal_text(task_type: str, words: dict[str, str]) -> str:
    """The goal in PDDL. The package writes "#" for "-" there, and closes the whole problem with the last bracket."""
    goal = package_files.goals()[task_type]["pddl"].format(**words).replace("#", "-")
    return goal.rstrip().removesuffix(")")
