"""Synthetic games: ALFWorld's six task types on AI2-THOR's floor plans, with things placed at random from a seed.

They need no download. What is where is our own random choice, not ALFRED's, so results on them say that the code
works and nothing about ALFWorld. As in ALFRED, the two splits are on different floor plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from random import Random
from typing import NamedTuple

from worlds.alfworld import package_files
from worlds.alfworld.problem import problem_text
from worlds.alfworld.scenes import LAMP, Scene, holds, synthetic_scene
from worlds.alfworld.tasks import TASK_TYPES, HouseholdTask, Rules, packed, task_id

GAMES_OF_A_TYPE = {"train": 10, "valid_unseen": 6}
# What a task does to a thing on its way: the table of things that it can be done with, and the receptacle for it.
TREATMENTS = {
    "pick_clean_then_place_in_recep": ("Cleanable", "SinkBasin"),
    "pick_cool_then_place_in_recep": ("Coolable", "Fridge"),
    "pick_heat_then_place_in_recep": ("Heatable", "Microwave"),
}


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
    """A scene in which a task of this type can be set, and such a task."""
    numbers = floor_plans(task_type, split)
    while True:
        scene = synthetic_scene(rng.choice(numbers), rng)
        if possible := list(candidates(task_type, scene)):
            return scene, rng.choice(possible)


def floor_plans(task_type: str, split: str) -> list[int]:
    """The floor plans of a split that are rooms for the task."""
    constants = package_files.constants()
    # The package has a set there; without sorting, the draw would depend on the process's hash seed.
    rooms = sorted(constants.GOALS_VALID[task_type])
    of_split = set(constants.TRAIN_SCENE_NUMBERS if split == "train" else constants.TEST_SCENE_NUMBERS)
    return [number for room in rooms for number in constants.SCENE_TYPE[room] if number in of_split]


def candidates(task_type: str, scene: Scene) -> Iterator[Goal]:
    """What a task of a type could ask for in a scene, and what is not so already."""
    if task_type == "look_at_obj_in_light":
        yield from (Goal(thing, LAMP) for thing in scene.kinds() if thing != LAMP and LAMP in scene.kinds())
        return
    for thing in filter(treatable(task_type, scene), scene.kinds()):
        for place in scene.receptacle_kinds():
            if holds(place, thing) and unsolved(task_type, scene, Goal(thing, place)):
                yield Goal(thing, place)


def treatable(task_type: str, scene: Scene) -> Callable[[str], bool]:
    """Whether what the task does to a thing on its way can be done to one of this kind here."""
    if task_type not in TREATMENTS:
        return lambda thing: thing != LAMP
    table, tool = TREATMENTS[task_type]
    able = package_files.constants().VAL_ACTION_OBJECTS[table] if tool in scene.receptacle_kinds() else ()
    return lambda thing: thing in able


def unsolved(task_type: str, scene: Scene, wanted: Goal) -> bool:
    """Whether there is something to do: for a treated thing to leave its tool, for others to be elsewhere at first."""
    thing, place = wanted
    # A thing to clean, heat or cool may lie in the right place from the start: it is to leave it and come back.
    if task_type in TREATMENTS:
        return place != TREATMENTS[task_type][1]
    enough = 2 if task_type == "pick_two_obj_and_place" else 1
    return len(scene.of_kind(thing)) >= enough and not scene.lying_in(thing, place)


def goal_text(task_type: str, words: dict[str, str]) -> str:
    """The goal in PDDL. The package writes "#" for "-" there, and closes the whole problem with the last bracket."""
    goal = package_files.goals()[task_type]["pddl"].format(**words).replace("#", "-")
    return goal.rstrip().removesuffix(")")
