"""Synthetic games: ALFWorld's six task types on AI2-THOR's floor plans, with things placed at random from a seed.

They need no download. The positions are our own random choice, not ALFRED's, so results on these games show that the
code works and say nothing about ALFWorld. As in ALFRED, the two splits are on different floor plans.
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

# Receptacles that a floor plan names without a position, and how many of them a scene gets: as in most released games.
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
# The domain names these types, so every problem has to declare them.
NAMED_BY_DOMAIN = {"receptacles": ("Fridge", "Microwave", "SinkBasin"), "things": ("ButterKnife", "Knife")}
# PDDL names cannot have these characters; ALFWorld converts the words back.
SPELT = {"-": "_minus_", "|": "_bar_", "+": "_plus_", ".": "_dot_"}
ABILITIES = {"cleanable": "Cleanable", "coolable": "Coolable", "heatable": "Heatable", "sliceable": "Sliceable"}
GAMES_OF_A_TYPE = {"train": 10, "valid_unseen": 6}
# The treatment of a thing by task type: ALFRED's table of things that allow it, and the receptacle that does it.
TREATMENTS = {
    "pick_clean_then_place_in_recep": ("Cleanable", "SinkBasin"),
    "pick_cool_then_place_in_recep": ("Coolable", "Fridge"),
    "pick_heat_then_place_in_recep": ("Heatable", "Microwave"),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A room. receptacles: their ids; places: the id of each thing's receptacle, by the thing's id.

    An id is AI2-THOR's: the kind and a position, "Apple|+01.20|+00.95|-00.31".
    """

    floor_plan: int
    receptacles: tuple[str, ...]
    places: dict[str, str]

    def receptacle_kinds(self) -> list[str]:
        return sorted({kind(receptacle) for receptacle in self.receptacles})

    def kinds(self) -> list[str]:
        """The kinds of things in the scene, sorted."""
        return sorted({kind(thing) for thing in self.places})

    def of_kind(self, wanted: str) -> list[str]:
        """The ids of the things of one kind."""
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
    placed_kinds = {kind(receptacle) for receptacle in receptacles}
    receptacles += [
        name + position(rng) for name in kinds if name not in placed_kinds for _ in range(UNPLACED.get(name, 0))
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
    """The kinds of receptacles that cannot be moved; bowls and the like are things here."""
    return frozenset(constants().VAL_RECEPTACLE_OBJECTS) - frozenset(constants().MOVABLE_RECEPTACLES_SET)


def holds(receptacle_kind: str, thing_kind: str) -> bool:
    """Whether a kind of receptacle can hold a kind of thing."""
    if thing_kind == LAMP:
        return receptacle_kind in LAMP_STANDS_ON
    return thing_kind in constants().VAL_RECEPTACLE_OBJECTS[receptacle_kind]


def position(rng: Random) -> str:
    """A random position in the room, in metres, written as the end of an id."""
    return "".join(f"|{metres:+06.2f}" for metres in (rng.uniform(-3, 3), rng.uniform(0, 2), rng.uniform(-3, 3)))


def problem_text(scene: Scene, goal: str) -> str:
    """The PDDL problem. goal: its "(:goal ...)". The planning library requires the sections in this order."""
    lines = (
        "(define (problem plan)", "(:domain alfred)", "(:objects", *objects(scene), ")", "(:init",
        "(= (total-cost) 0)", *facts(scene), ")", goal, "(:metric minimize (total-cost))", ")",
    )  # fmt: skip
    return "\n".join(lines)


def objects(scene: Scene) -> Iterator[str]:
    """All names with their PDDL types."""
    yield f"{AGENT} - agent"
    for name in sorted({*scene.kinds(), *NAMED_BY_DOMAIN["things"]}):
        yield f"{name}Type - otype"
    for name in sorted({*scene.receptacle_kinds(), *NAMED_BY_DOMAIN["receptacles"]}):
        yield f"{name}Type - rtype"
    yield from (f"{spelt(thing)} - object" for thing in scene.places)
    yield from (f"{spelt(receptacle)} - receptacle" for receptacle in scene.receptacles)
    yield from (f"{spelt(location)} - location" for location in (*locations(scene).values(), START))


def facts(scene: Scene) -> Iterator[str]:
    """The initial facts."""
    yield f"(atLocation {AGENT} {spelt(START)})"
    location_of = locations(scene)
    for receptacle in scene.receptacles:
        yield f"(receptacleType {spelt(receptacle)} {kind(receptacle)}Type)"
        yield f"(receptacleAtLocation {spelt(receptacle)} {spelt(location_of[receptacle])})"
        if kind(receptacle) in constants().OPENABLE_CLASS_SET:
            yield f"(openable {spelt(receptacle)})"
    for thing, receptacle in scene.places.items():
        yield f"(objectType {spelt(thing)} {kind(thing)}Type)"
        yield f"(inReceptacle {spelt(thing)} {spelt(receptacle)})"
        yield f"(objectAtLocation {spelt(thing)} {spelt(location_of[receptacle])})"
        yield from (f"({ability} {spelt(thing)})" for ability in abilities(kind(thing)))
    for receptacle_kind in scene.receptacle_kinds():
        for thing_kind in scene.kinds():
            if holds(receptacle_kind, thing_kind):
                yield f"(canContain {receptacle_kind}Type {thing_kind}Type)"


def abilities(thing_kind: str) -> Iterator[str]:
    """The PDDL predicates that say what can be done with a kind of thing."""
    yield "toggleable" if thing_kind == LAMP else "pickupable"
    tables = constants().VAL_ACTION_OBJECTS
    yield from (ability for ability, table in ABILITIES.items() if thing_kind in tables[table])
    if thing_kind in constants().MOVABLE_RECEPTACLES_SET:
        yield "isReceptacleObject"


def locations(scene: Scene) -> dict[str, str]:
    """The location from which each receptacle is approached; no two share one."""
    return {receptacle: f"loc|{number}" for number, receptacle in enumerate(scene.receptacles)}


def spelt(name: str) -> str:
    for character, word in SPELT.items():
        name = name.replace(character, word)
    return name


class Goal(NamedTuple):
    """A task's goal as kinds: a thing, and the receptacle it goes to or, for "look at", the lamp."""

    thing: str
    place: str


class SyntheticGames:
    """The synthetic games of a seed; a split is generated at its first use."""

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
    scene, goal = scene_for(task_type, split, rng)
    words = {"obj": goal.thing, "recep": goal.place, "toggle": goal.place}
    sentence = rng.choice(package_files.goals()[task_type]["templates"])
    return HouseholdTask(
        id=task_id("synthetic", split, position, size),
        goal=sentence.format(**{key: word.lower() for key, word in words.items()}) + ".",
        task_type=task_type,
        game=f"{task_type}-{goal.thing}-None-{goal.place}-{scene.floor_plan}/made_{seed}_{position:03}",
        packed_problem=packed(problem_text(scene, goal_text(task_type, words))),
    )


def scene_for(task_type: str, split: str, rng: Random) -> tuple[Scene, Goal]:
    """A random scene on a floor plan of the split that allows a task of this type, and the goal of such a task."""
    tables = constants()
    split_plans = set(tables.TRAIN_SCENE_NUMBERS if split == "train" else tables.TEST_SCENE_NUMBERS)
    # The package has a set of rooms; without sorting, the choice would depend on the process's hash seed.
    rooms = sorted(tables.GOALS_VALID[task_type])
    numbers = [number for room in rooms for number in tables.SCENE_TYPE[room] if number in split_plans]
    while True:
        scene = synthetic_scene(rng.choice(numbers), rng)
        if possible := list(candidates(task_type, scene)):
            return scene, rng.choice(possible)


def candidates(task_type: str, scene: Scene) -> Iterator[Goal]:
    """The possible goals of a task type in a scene that are not fulfilled at the start."""
    if task_type == "look_at_obj_in_light":
        yield from (Goal(thing, LAMP) for thing in scene.kinds() if thing != LAMP and LAMP in scene.kinds())
        return
    table, tool = TREATMENTS.get(task_type, ("", ""))
    treatable = constants().VAL_ACTION_OBJECTS[table] if tool in scene.receptacle_kinds() else ()
    needed = 2 if task_type == "pick_two_obj_and_place" else 1
    for thing in scene.kinds():
        if thing not in treatable if tool else thing == LAMP:
            continue
        same_kind = scene.of_kind(thing)
        for receptacle in scene.receptacle_kinds():
            # A thing to clean, heat or cool may start in its target receptacle: it has to leave and come back.
            unsolved = (
                receptacle != tool if tool else not any(kind(scene.places[item]) == receptacle for item in same_kind)
            )
            if holds(receptacle, thing) and unsolved and len(same_kind) >= needed:
                yield Goal(thing, receptacle)


def goal_text(task_type: str, words: dict[str, str]) -> str:
    """The goal in PDDL. The package writes "#" for "-" there, and closes the whole problem with the last bracket."""
    goal = package_files.goals()[task_type]["pddl"].format(**words).replace("#", "-")
    return goal.rstrip().removesuffix(")")
