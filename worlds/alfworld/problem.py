"""A scene and a goal as the PDDL problem that the text engine plays."""

from __future__ import annotations

from collections.abc import Iterator

from worlds.alfworld.package_files import constants
from worlds.alfworld.scenes import LAMP, Scene, holds, kind

AGENT = "agent1"
START = "loc|start"
# The domain names these types, so that they have to be declared in every problem.
NAMED_BY_DOMAIN = {"receptacles": ("Fridge", "Microwave", "SinkBasin"), "things": ("ButterKnife", "Knife")}
# PDDL has no such characters in names; ALFWorld reads them back from these words.
SPELT = {"-": "_minus_", "|": "_bar_", "+": "_plus_", ".": "_dot_"}
ABILITIES = {"cleanable": "Cleanable", "coolable": "Coolable", "heatable": "Heatable", "sliceable": "Sliceable"}


def problem_text(scene: Scene, goal: str) -> str:
    """The PDDL problem. goal: its "(:goal ...)". The planning library wants the sections in this order."""
    lines = (
        "(define (problem plan)",
        "(:domain alfred)",
        "(:objects",
        *objects(scene),
        ")",
        "(:init",
        "(= (total-cost) 0)",
        *facts(scene),
        ")",
        goal,
        "(:metric minimize (total-cost))",
        ")",
    )
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
