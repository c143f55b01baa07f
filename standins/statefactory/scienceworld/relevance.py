"""What of ScienceWorld's things bears on a task, decided from the words of the task."""

from __future__ import annotations

import re
from collections.abc import Sequence

from standins.statefactory.scienceworld.memory import AGENT, ROOMS, Memory, plain
from statefactory.state import Attribute, Entity

ANIMALS = re.compile(
    r"(?:egg|baby|hatchling|juvenile|adult|dead)\b|\b(?:egg|pupa|tadpole|caterpillar|bee|butterfly|moth|ant|wolf|bear|"
    r"frog|toad|tortoise|turtle|crocodile|parrot|dove|jay|beaver|mouse|rabbit|chipmunk|hedgehog|elephant|dragonfly)\b"
)
PLANTS = re.compile(r"\b(?:tree|plant|seed|flower)\b")
CIRCUIT = re.compile(r"\b(?:wire|battery|light bulb|motor|buzzer|generator|solar panel|switch)\b")
HEAT = re.compile(r"\b(?:stove|oven|blast furnace|hot plate|fire pit|lighter|freezer|fridge|thermometer)\b")
PAINT = re.compile(r"\bpaint\b")
KINDS = (  # (words of a task, the things that they clearly imply)
    (re.compile(r"\b(?:animal|living thing)\b"), ANIMALS),
    (re.compile(r"\b(?:plant|living thing)\b"), PLANTS),
    (re.compile(r"electrical"), CIRCUIT),
    (re.compile(r"\b(?:boil|melt|freeze|state of matter|temperature|melting point)\b"), HEAT),
    (re.compile(r"create .* paint\b"), PAINT),
    (re.compile(r"life stages of the"), ANIMALS),
    (re.compile(r"\brecipe\b"), re.compile(r"\brecipe\b")),
    (re.compile(r"inclined plane"), re.compile(r"\binclined plane\b")),
)
POINTS = ("terminal-1", "terminal-2", "anode", "cathode")


def kept(goal: str, known: Sequence[Entity]) -> tuple[Entity, ...]:
    """The entities that matter, without their terminals where no task is about electricity."""
    memory = Memory(known)
    kinds = [things for words, things in KINDS if words.search(goal)]
    ingredients = ", ".join(filter(None, (entity.value("ingredients") for entity in known)))
    words = f" {goal.lower()} "
    chosen = {e.identity for e in known if _matters(e, words, kinds, ingredients)}
    # What a thing is in tells where it is: a holder is kept with it.
    chosen |= {holder for identity in tuple(chosen) for holder in memory.holders(identity)}
    left = (_without_points(e, goal) for e in known if e.identity in chosen)
    return tuple(entity for entity in left if entity.attributes)


def _matters(entity: Entity, goal: str, kinds: list[re.Pattern[str]], ingredients: str) -> bool:
    name = plain(entity.identity)
    if name == AGENT or entity.value("focus") or entity.value("origin"):
        return True
    # Rooms and doors are ways there, and no part of what a task asks for (Table 10: plans are no goals).
    if name in ROOMS or name.startswith("door to "):
        return False
    named = re.search(rf"\b{re.escape(name.lower())}s?\b", goal) is not None
    if named or any(kind.search(name) for kind in kinds):
        return True
    return any(re.search(rf"\b{re.escape(i)}\b", name) for i in ingredients.split(", ") if i)


def _without_points(entity: Entity, goal: str) -> Entity:
    if "electrical" in goal:
        return entity
    left: tuple[Attribute, ...] = tuple(a for a in entity.attributes if a.name not in POINTS)
    return entity if len(left) == len(entity.attributes) else Entity(entity.identity, left)
