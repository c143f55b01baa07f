"""The words of ALFWorld's six kinds of tasks, and of where things are."""

from __future__ import annotations

import re
from typing import NamedTuple

from statefactory.state import Attribute

AGENT, LAMP, HAND, NOTHING = "agent", "desklamp", "in hand", "nothing"
NAME = r"[a-z]+ \d+"  # as the text numbers things: "mug 2"
NAMES = re.compile(NAME)
# What holds things inside it. Sentences say "on the garbagecan 1" and tasks "in countertop", so that kinds decide.
HOLLOW = frozenset({
    "bathtub", "bathtubbasin", "box", "cabinet", "drawer", "fridge", "garbagecan", "laundryhamper", "microwave",
    "safe", "sink", "sinkbasin",
})  # fmt: skip


def placed(place: str) -> str:
    """In or on a piece of furniture, or a kind of it."""
    return f"{'in' if kind(place) in HOLLOW else 'on'} {place}"


def kind(name: str) -> str:
    """The kind of a numbered thing; a kind is its own."""
    return name.split(" ")[0]


class Task(NamedTuple):
    """What a task asks for. thing, place: kinds; place is "" where a thing is to be looked at under the lamp."""

    thing: str
    place: str
    treatment: Attribute | None
    copies: int


HOT, COOL = Attribute("temperature", "hot"), Attribute("temperature", "cool")
CLEAN = Attribute("cleanliness", "clean")
TREATMENTS = {"hot": HOT, "heat": HOT, "cool": COOL, "clean": CLEAN}
TOOLS: dict[Attribute | None, set[str]] = {HOT: {"microwave"}, COOL: {"fridge"}, CLEAN: {"sinkbasin", "sink"}}
TASKS = tuple(re.compile(words) for words in (
    r"put (?P<copies>two) (?P<thing>\w+) in (?P<place>\w+)",
    r"find (?P<copies>two) (?P<thing>\w+) and put them in (?P<place>\w+)",
    r"put a (?P<how>hot|cool|clean) (?P<thing>\w+) in (?P<place>\w+)",
    r"(?P<how>heat|cool|clean) some (?P<thing>\w+) and put it in (?P<place>\w+)",
    r"put a (?P<thing>\w+) in (?P<place>\w+)",
    r"put some (?P<thing>\w+) on (?P<place>\w+)",
    rf"look at (?P<thing>\w+) under the {LAMP}",
    rf"examine the (?P<thing>\w+) with the {LAMP}",
))  # fmt: skip


def parsed(goal: str) -> Task | None:
    """The task that a description states, or None for other words."""
    words = " ".join(goal.lower().split()).removeprefix("your task is to: ").removesuffix(".")
    match = next(filter(None, (form.fullmatch(words) for form in TASKS)), None)
    if match is None:
        return None
    found = match.groupdict()
    treatment = TREATMENTS.get(found.get("how") or "")
    return Task(found["thing"], found.get("place", ""), treatment, 2 if found.get("copies") else 1)
