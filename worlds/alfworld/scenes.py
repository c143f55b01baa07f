"""A household scene: a floor plan of AI2-THOR with things put into its receptacles at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from worlds.alfworld.package_files import constants, floor_plan

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

    def lying_in(self, thing_kind: str, receptacle_kind: str) -> list[str]:
        """The things of one kind that are in a receptacle of another."""
        return [thing for thing in self.of_kind(thing_kind) if kind(self.places[thing]) == receptacle_kind]


def kind(thing: str) -> str:
    """The kind of a thing by its id. Basins are named at the end, "Sink|-01.90|+00.97|-01.50|SinkBasin"."""
    return thing.split("|")[-1] if thing.endswith("Basin") else thing.split("|")[0]


def synthetic_scene(number: int, rng: Random) -> Scene:
    """A scene on a floor plan, with one to three things of each kind that the plan names and a receptacle can hold."""
    kinds, _ = floor_plan(number)
    receptacles = receptacles_of(number, rng)
    places: dict[str, str] = {}
    for thing_kind in kinds:
        holders = [receptacle for receptacle in receptacles if holds(kind(receptacle), thing_kind)]
        if holders:
            for _ in range(1 if thing_kind == LAMP else rng.randint(1, MOST_OF_A_KIND)):
                places[thing_kind + position(rng)] = rng.choice(holders)
    return Scene(number, receptacles, places)


def receptacles_of(number: int, rng: Random) -> tuple[str, ...]:
    """Those that the floor plan places, and the unplaced ones that it names."""
    kinds, placed = floor_plan(number)
    receptacles = [receptacle for receptacle in placed if kind(receptacle) in standing()]
    there = {kind(receptacle) for receptacle in receptacles}
    receptacles += [
        missing + position(rng) for missing in kinds if missing not in there for _ in range(UNPLACED.get(missing, 0))
    ]
    return tuple(receptacles)


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
