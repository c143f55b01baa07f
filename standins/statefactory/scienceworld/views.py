"""ScienceWorld's views: a room, the inside of a thing, the inventory, one thing looked at."""

from __future__ import annotations

import re

from standins.statefactory.scienceworld.descriptions import NoDescription, Thing, thing, things
from standins.statefactory.scienceworld.memory import AGENT, CARRIED, ROOMS, Memory, Path

_ROOM = re.compile(
    r"This (?:room|outside location) is called the (.+?)\. (?:In it, you|Here you) see: ?\n(.*?)"
    r"(?:\n ?You also see:\s*(.*))?",
    re.DOTALL,
)
_INSIDE = re.compile(r"Inside the (.+?) is: ?\n(.*?)(?:\n? ?You also see:? ?(.*))?", re.DOTALL)
_CARRIED = re.compile(r"In your inventory, you see:\s*\n?(.*)", re.DOTALL)
_EMPTY = re.compile(r"There is nothing in the (.+?)\.(?:\s*You also see:? ?(.*))?", re.DOTALL)
_DOOR = re.compile(r"A door to the ([a-z ]+?) \(that is (open|closed)\)", re.IGNORECASE)


def describe(memory: Memory, action: str, text: str) -> list[str] | None:
    """Note what a description says and return the lines that are not understood; None if it is no description."""
    room, inside = _ROOM.fullmatch(text), _INSIDE.fullmatch(text)
    carried, empty = _CARRIED.fullmatch(text), _EMPTY.fullmatch(text)
    if room:
        # A room may be described from elsewhere: the agent is in the one whose list has it.
        if re.search(r"\bthe agent\b", room[2]):
            memory.enter(room[1])
        return [*_see(memory, room[2], (), room[1]), *_doors(memory, room[3] or "", room[1])]
    if carried:
        return _see(memory, carried[1], (("in", CARRIED),), memory.room)
    if empty:
        return _see_inside(memory, empty[1], "nothing", empty[2] or "", action)
    if inside:
        return _see_inside(memory, inside[1], inside[2], inside[3] or "", action)
    return _see_one(memory, action, text)


def _see_inside(memory: Memory, name: str, lines: str, also: str, action: str) -> list[str]:
    if name == CARRIED:
        return _see(memory, lines, (("in", CARRIED),), memory.room)
    if name in ROOMS:
        return [*_see(memory, lines, (), name), *_doors(memory, also, name)]
    identity = memory.here(memory.known(name, action))
    drain = re.search(r"drain, which is (open|closed)", also)
    if drain:
        memory.facts[identity]["drain"] = drain[1]
    if lines.strip(" .\n\t") == "nothing":
        memory.facts[identity]["contents"] = "nothing"
    return _see(memory, lines, memory.within(identity), memory.room_of(identity))


def _see(memory: Memory, lines: str, path: Path, room: str | None) -> list[str]:
    """Things, one a line. What cannot be told apart is not read: which of the lines a holder among them holds."""
    whole = re.sub(r"(On|In) the ([^\n:]+) is: ?\n\s*nothing(?=\n|$)", r"\1 the \2 is: nothing.", lines)
    listed = [line.strip() for line in whole.split("\n") if line.strip()]
    seen: list[tuple[str, Thing]] = []
    unread: list[str] = []
    for number, line in enumerate(listed):
        if line.endswith(" is:"):
            unread = listed[number:]
            break
        try:
            seen += [(path[0][0] if path else "in", item) for _, item in things(line)]
        except NoDescription:
            unread.append(line)
    memory.see(seen, path, room, all_of_it=not unread)
    return unread


def _doors(memory: Memory, text: str, room: str) -> list[str]:
    for door in _DOOR.finditer(text):
        memory.see_door(door[1], door[2], room)
    rest = _DOOR.sub("", text).strip(" ,.\n\t")
    return [rest] if rest else []


def _see_one(memory: Memory, action: str, text: str) -> list[str] | None:
    """One thing, as "look at" and "examine" describe it."""
    door = _DOOR.fullmatch(text.strip(" ."))
    if door:
        if memory.room:
            memory.see_door(door[1], door[2], memory.room)
        return []
    if not (action.isdigit() or action.startswith(("look at", "look on", "examine", "look in"))):
        return None
    holder, *held = re.split(r"\n\t", text)
    if held and holder.endswith(": "):  # what it holds stands in lines of their own; among others it is on one line
        text = f"{holder} {', '.join(line.strip(' .') for line in held)}."
    try:
        item = thing(text)
    except NoDescription:
        return None
    if item.name == CARRIED:
        memory.see([("in", inside) for _, inside in item.inside or ()], (("in", CARRIED),), memory.room)
    elif item.name == AGENT or item.name.startswith(("terminal ", "anode", "cathode")):
        pass
    else:
        called = re.sub(r"(look at|look on|look in|examine) ", "", action)
        memory.describe(memory.here(memory.known(item.name, called)), item)
    return []
