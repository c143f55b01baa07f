"""ScienceWorld's task descriptions as goal states: what must hold in the end, and each milestone that a task names."""

from __future__ import annotations

import re
from collections.abc import Callable

from standins.statefactory.scienceworld.descriptions import substance
from standins.statefactory.scienceworld.memory import AGENT
from standins.statefactory.scienceworld.sentences import CREATED, FOCUSED
from statefactory.state import Entity, entity, from_facts

Goal = tuple[Entity, ...]
GOALS: list[tuple[re.Pattern[str], Callable[[re.Match[str], str], Goal]]] = []

FOCUS = {"focus": FOCUSED}
MEASURED = "measured in degrees celsius"
ON = {"power": "on"}
SUBSTANCE_STATES = {"boil": "gas", "melt": "liquid", "freeze": "solid"}  # "change" names none
PLANT_STAGES = 4  # the task gives no number: a seed, a seedling, a grown plant, one that bears flowers


def _goal(pattern: str) -> Callable[[Callable[[re.Match[str], str], Goal]], Callable[[re.Match[str], str], Goal]]:
    def register(words: Callable[[re.Match[str], str], Goal]) -> Callable[[re.Match[str], str], Goal]:
        GOALS.append((re.compile(f"Your task is to {pattern}"), words))
        return words

    return register


def goal_of(text: str) -> Goal | None:
    """The goal state of a task description; None if it is not in ScienceWorld's words."""
    for pattern, words in GOALS:
        # match, not fullmatch: a description goes on with hints, which are plans and no goals.
        match = pattern.match(text)
        if match:
            # One entity a thing.
            return from_facts((e.identity, attribute) for e in words(match, text) for attribute in e.attributes)
    return None


@_goal(r"(boil|melt|freeze|change the state of matter of) (.+?)\. ")
def _changed_substance(match: re.Match[str], text: str) -> Goal:
    phase = SUBSTANCE_STATES.get(match[1])
    return (entity(match[2], FOCUS | ({"phase": phase} if phase else {})),)


@_goal(r"find a\(n\) (.+?)\. .*?move it to the (.+?) in the (.+?)\.")
def _found_thing(match: re.Match[str], text: str) -> Goal:
    return (entity(match[1], FOCUS), entity(match[1], {"location": f"in {match[2]}", "room": match[3]}))


@_goal(r"measure the temperature of (.+?), which.*? place it in the (.+?)\. .*? place it in the (.+?)\.(.*)")
def _measured_thing(match: re.Match[str], text: str) -> Goal:
    boxes = {"location": f"in {match[2]} or {match[3]}"}
    if room := re.search(r"boxes are located around the (.+?)\.", match[4]):
        boxes["room"] = room[1]
    return (
        entity("thermometer", FOCUS),
        entity(substance(match[1])[0], FOCUS | {"temperature": MEASURED}),
        entity(match[1], boxes),
    )


@_goal(r"measure the melting point of (.+?), which.*?, focus on the ([a-z ]+ box)\. .*?, focus on the ([a-z ]+ box)\.")
def _measured_melting_point(match: re.Match[str], text: str) -> Goal:
    return (
        entity("thermometer", FOCUS),
        entity(substance(match[1])[0], FOCUS | {"temperature": MEASURED}),
        entity(f"{match[2]} or {match[3]}", FOCUS),
    )


@_goal(r"determine if (.+?) is electrically conductive\..*? place it in the (.+?)\. .*? place it in the (.+?)\.")
def _tested_conductor(match: re.Match[str], text: str) -> Goal:
    # Either box: no sentence tells the outcome of the experiment.
    return (entity(match[1], FOCUS), entity(match[1], {"location": f"in {match[2]} or {match[3]}"}))


@_goal(r"turn on the (.+?)(?: by powering it using a (.+?))?\. First")
def _powered_component(match: re.Match[str], text: str) -> Goal:
    """Powered by a source, which is then on as well. How a circuit is wired is a plan, and no goal."""
    powered = entity(match[1], FOCUS | ON)
    return (powered, entity(match[2], ON)) if match[2] else (powered,)


@_goal(r"use chemistry to create the substance '(.+?)'")
def _made_substance(match: re.Match[str], text: str) -> Goal:
    return (entity(match[1], {"origin": CREATED}), entity(match[1], FOCUS))


@_goal(r"use chemistry to create (.+? paint)\.(.*)")
def _made_paint(match: re.Match[str], text: str) -> Goal:
    final = (entity(match[1], {"origin": CREATED}), entity(match[1], FOCUS))
    return (entity("intermediate secondary color paint", FOCUS), *final) if "part-way" in match[2] else final


@_goal(r"find the animal with the (longest|shortest) life span(?:, then the (longest|shortest))?.*?'(.+?)' location")
def _found_animal(match: re.Match[str], text: str) -> Goal:
    wanted = [f"animal with the {which} life span" for which in filter(None, match.group(1, 2))]
    return (*(entity(which, FOCUS) for which in wanted), entity(AGENT, {"location": f"in {match[3]}"}))


@_goal(r"focus on the (\d+) life stages of the (.+?), starting")
def _animal_stages(match: re.Match[str], text: str) -> Goal:
    return _stages(match[2], int(match[1]))


def _stages(kind: str, count: int) -> Goal:
    return tuple(entity(f"{kind} in life stage {number + 1}", FOCUS) for number in range(count))


@_goal(r"focus on the life stages of the (.+?) plant, starting.*? located (.+?)\.")
def _plant_stages(match: re.Match[str], text: str) -> Goal:
    return (*_stages(f"{match[1]} plant", PLANT_STAGES), entity(AGENT, {"location": f"in {match[2]}"}))


@_goal(r"grow an? (.+?) plant from seed\..* reaches the (.+?) life stage")
def _grown_plant(match: re.Match[str], text: str) -> Goal:
    return (entity(f"{match[1]} seed", FOCUS), entity(f"{match[1]} tree", {"stage": match[2]}))


@_goal(r"grow an? (.+?)\. .*focus on the grown (.+?)\.")
def _grown_fruit(match: re.Match[str], text: str) -> Goal:
    return (entity(match[2], FOCUS),)


@_goal(r"determine which of the two inclined planes \(.+?\) has the (.+?)\.")
def _compared_planes(match: re.Match[str], text: str) -> Goal:
    return (entity(f"inclined plane with the {match[1]}", FOCUS),)


@_goal(r"determine whether .*?If the trait is dominant, focus on the (.+?)\..*?recessive, focus on the (.+?)\.")
def _determined_trait(match: re.Match[str], text: str) -> Goal:
    return (entity(f"{match[1]} or {match[2]}", FOCUS),)
