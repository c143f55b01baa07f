"""TextWorld's quests in words: each instruction becomes the fact that it ends in.

    "recover the candy bar from the floor"     the candy bar: taken from the floor, and in the inventory
    "put it on the table"                      its location is on the table, from then on
    "make sure that the chest is ajar"         the chest's state is open; likewise unlocked, locked, closed, eaten
    "travel east"                              a room to the east, not yet known by name, is visited
    "check the cookbook", "enjoy your meal"    the cookbook is read, the meal is eaten

What was held and is then put elsewhere stays a milestone: having been taken from its place is true to the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from standins.statefactory.textworld.words import INVENTORY, named
from statefactory.state import Attribute

Fact = tuple[str, Attribute]
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
COOKING_QUEST = re.compile(
    r"you are hungry! .*check the (?P<book>[\w ]+) in the .* for the recipe.*enjoy your meal", re.DOTALL
)
# What stands before an instruction: "Once you have opened the box, recover ...".
_LEAD = re.compile(
    r"(?:first (?:off|of all|stop|step)|then|next|following that|that done|and then|okay|having [^,]+|after [^,]+|"
    r"once [^,]+|if [^,]+|with [^,]+|you could|like|first)\b,\s*"
)
_OPENING = re.compile(
    r"(?:your first objective is|first thing i need you to do is|i need you|your task for today is) to |"
    r"your objective is to |"
    r"it would be (?:good|great|fantastic|a great idea) if you could |please |you can |"
    r"(?:try|attempt|make an (?:effort|attempt)) to "
)
_ROOM = r"(?: (?:in|within|inside) the (?P<room>[^,]+?))?"
_SURE = r"(?:ensure|check|make sure|assure|make it so|doublecheck|look and see|make absolutely sure)(?: that)?"
_TAKE = r"(?:take|retrieve|recover|pick-up|pick up|lift) the (?P<thing>.+?) (?:from|(?:that's )?in) "
_PUT = r"(?:insert|put|place|deposit|sit|rest)"
_LOCKABLE = rf"the (?P<thing>.+?){_ROOM}"


def _taken(thing: str, holder: str, **_: str) -> Iterator[Fact]:
    yield thing, Attribute("origin", f"the {holder}")
    yield thing, Attribute("location", INVENTORY)


def _is(name: str, value: str) -> Callable[..., Iterator[Fact]]:
    def facts(thing: str, **_: str) -> Iterator[Fact]:
        yield thing, Attribute(name, value)

    return facts


def _placed(thing: str, where: str, holder: str, **_: str) -> Iterator[Fact]:
    yield thing, Attribute("location", f"{'on' if where == 'on' else 'in'} the {holder}")


def _dropped(thing: str, room: str, **_: str) -> Iterator[Fact]:
    yield thing, Attribute("location", f"on the floor of the {room}")


INSTRUCTIONS: tuple[tuple[re.Pattern[str], Callable[..., Iterator[Fact]]], ...] = tuple(
    (re.compile(form), facts)
    for form, facts in (
        (rf"insert the .+ into {_LOCKABLE}(?:'s lock)? to unlock it", _is("lock", "unlocked")),
        (rf"{_PUT} the .+ into {_LOCKABLE}(?:'s lock)? to lock it", _is("lock", "locked")),
        (rf"{_TAKE}the (?P<holder>floor) of the .+", _taken),
        (rf"{_TAKE}the (?P<holder>.+?){_ROOM}", _taken),
        (r"(?:place|drop|ditch|throw|toss|deposit) the (?P<thing>.+?) on the floor of the (?P<room>.+)", _dropped),
        (rf"{_PUT} the (?P<thing>.+?) (?P<where>into|inside|on) the (?P<holder>.+?){_ROOM}", _placed),
        (rf"unlock {_LOCKABLE}(?: with the .+)?", _is("lock", "unlocked")),
        (rf"{_SURE} {_LOCKABLE} is unlocked(?: with the .+)?", _is("lock", "unlocked")),
        (rf"lock {_LOCKABLE}(?: with the .+)?", _is("lock", "locked")),
        (rf"{_SURE} {_LOCKABLE} is locked(?: with the .+)?", _is("lock", "locked")),
        (rf"open {_LOCKABLE}", _is("state", "open")),
        (rf"{_SURE} {_LOCKABLE} is (?:opened|open|wide open|ajar)", _is("state", "open")),
        (rf"close {_LOCKABLE}", _is("state", "closed")),
        (rf"{_SURE} {_LOCKABLE} is (?:closed|shut)", _is("state", "closed")),
        (r"eat the (?P<thing>.+)", _is("consumption", "eaten")),
    )
)  # fmt: skip
_GO = re.compile(
    r"(?:go to the|take a trip|go|head|venture|travel|move)(?: to the| through the)? "
    r"(?P<direction>north|south|east|west)\b.*"
)


def is_quest(goal: str) -> bool:
    """Whether a task description is one of TextWorld's: its greeting and an instruction, or the cooking quest."""
    text = " ".join(goal.lower().split())
    greeted = "textworld" in text or text.startswith("your objective is to ")
    return bool(COOKING_QUEST.search(text)) or greeted and any(milestones(goal))


def milestones(goal: str) -> Iterator[list[Fact]]:
    """The facts of each instruction, in order."""
    text = " ".join(goal.lower().split())
    if cooking := COOKING_QUEST.search(text):
        yield [(cooking["book"], Attribute("status", "read"))]
        yield [("meal", Attribute("preparation", "prepared")), ("meal", Attribute("consumption", "eaten"))]
        return
    moves = 0
    for sentence in instructions(text):
        if move := _GO.fullmatch(sentence):
            yield [(unknown_room(moves, move["direction"]), Attribute("visited", "yes"))]
            moves += 1
        elif facts := _instructed(sentence):
            yield facts


def instructions(text: str) -> Iterator[str]:
    """The sentences of a quest, without what leads up to their instruction; some are a greeting and have none."""
    for sentence in re.split(r"[.!?]+\s*", text):
        before = None
        while before != sentence:
            before, sentence = sentence, _OPENING.sub("", _LEAD.sub("", sentence.strip(), count=1).strip(), count=1)
        if sentence:
            yield sentence


def unknown_room(number: int, direction: str) -> str:
    """What to call the room that the number-th move leads to, as long as its name is not known."""
    return f"{ORDINALS[min(number, len(ORDINALS) - 1)]} room, to the {direction}"


def _instructed(sentence: str) -> list[Fact]:
    for form, facts in INSTRUCTIONS:
        if match := form.fullmatch(sentence):
            return [(named(thing), fact) for thing, fact in facts(**match.groupdict())]
    return []
