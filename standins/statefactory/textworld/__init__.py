"""TextWorld's language: quests, rooms and answers of the "house" theme and of the cooking challenge.

chest    location "in the attic", state "open" or "closed", lock "locked" or "unlocked"
portal   location "south of the attic", state, lock
key      location "on the floor of the attic", "on the table", "in the chest" or "in your inventory"; origin "the
         chest" or "the floor", where it was last taken from; foods also cooking, cut and consumption
attic    visited "yes", location "south of the hall" (how it was first entered), exits "east, north" (without doors)
you      location "in the attic"
recipe   ingredients, directions; and of a cookbook: status "read"

Written on the package's own text grammars and sources, and on synthetic games outside the benchmark's pairs:
lock-and-key quests, treasure hunts and cooking of the training split. The pairs served one purpose: to see that no
sentence of the game's was left unread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from standins.statefactory.languages import Entities, Reading
from standins.statefactory.textworld.goals import COOKING_QUEST, ORDINALS, is_quest, milestones
from standins.statefactory.textworld.outcomes import read_outcome
from standins.statefactory.textworld.rooms import OPPOSITE, TITLE, read_room
from standins.statefactory.textworld.words import YOU, Knowledge
from statefactory.state import Attribute, Entity, from_facts

_UNKNOWN = re.compile(rf"(?:{'|'.join(ORDINALS)}) room, to the ({'|'.join(OPPOSITE)})")
_ENDING = re.compile(r"(?=\n(?:Your score|\*\*\*))")


def is_goal(goal: str) -> bool:
    """Whether the task is a quest of TextWorld's."""
    return is_quest(goal)


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """What is known after an answer. A quest that stands before the first room is not read."""
    knowledge = Knowledge(known)
    unread = []
    # Split at rooms' titles: what stands before the first, then a title and the text below it by turns.
    first, *rest = TITLE.split(observation)
    parts = [("", first)] if first.strip() or not rest else []
    parts += zip(rest[::2], rest[1::2], strict=True)
    for title, text in parts:
        if title:
            body = _ENDING.split(text, maxsplit=1)[0]  # points and the end follow
            unread += read_room(knowledge, title, body, action) + read_outcome(knowledge, action, text[len(body) :])
        elif not (len(parts) > 1 and is_goal(text)):
            unread += read_outcome(knowledge, action, text)
    return Reading(knowledge.entities(), tuple(unread))


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The things that the quest names; of a cooking quest all things; the rooms of a quest with moves; and you."""
    text = f" {re.sub(r'[^a-z0-9-]+', ' ', goal.lower())} "
    # A cooking quest names no ingredient: only the cookbook does, so every thing may matter.
    cooking = bool(COOKING_QUEST.search(goal.lower()))
    moves = any(_UNKNOWN.fullmatch(identity) for facts in milestones(goal) for identity, _ in facts)
    kept = []
    for entity in known:
        visited = entity.value("visited") is not None
        named = f" {re.sub(r'[^a-z0-9-]+', ' ', entity.identity)} " in text
        if entity.identity == YOU or (moves if visited else cooking or named):
            kept.append(Entity(entity.identity, tuple(a for a in entity.attributes if a.name != "exits")))
    return tuple(entity for entity in kept if entity.attributes)


def blueprint(goal: str) -> Entities:
    """Every instruction's fact; a later one of the same property of a thing replaces the earlier."""
    # "take the key, put it on the table": where the key is at last is the goal.
    facts = {(thing, fact.name): fact.value for milestone in milestones(goal) for thing, fact in milestone}
    return from_facts((thing, Attribute(name, value)) for (thing, name), value in facts.items())


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal, with a room that a move was to lead to by its name, once one is there.

    Rooms are named in the order of the quest's moves, each when it is seen to lie that way from the one before. What
    a recipe asks of the ingredients is no part of the goal: the task does not say it (Table 10).
    """
    if titles := TITLE.findall(observation):
        return _with_room(wanted, titles[-1].lower(), {entity.identity: entity for entity in state})
    return tuple(wanted)


def _with_room(wanted: Sequence[Entity], room: str, known: dict[str, Entity]) -> Entities:
    """The first room that is still unknown gets this room's name, if this room lies where that one should."""
    unknown = (
        (place, match[1]) for place, entity in enumerate(wanted) if (match := _UNKNOWN.fullmatch(entity.identity))
    )
    place, direction = next(unknown, (None, ""))
    if place is None or room not in known or any(entity.identity == room for entity in wanted):
        return tuple(wanted)
    before = [entity.identity for entity in wanted[:place] if entity.value("visited")]
    location = known[room].value("location") or ""
    if before and location != f"{direction} of the {before[-1]}":
        return tuple(wanted)
    if not location.startswith((f"{direction} of", f"to the {direction}")):
        return tuple(wanted)
    return (*wanted[:place], Entity(room, wanted[place].attributes), *wanted[place + 1 :])
