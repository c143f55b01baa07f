"""ScienceWorld's texts. Sentences: the rules of forms in `forms.yaml` whose meaning facts alone do not express.

Views: a room, the inside of a thing, the inventory, a single thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from standins.statefactory.forms import first, forms, note
from standins.statefactory.scienceworld.descriptions import (
    FILE,
    NoDescription,
    Thing,
    life_stage,
    substance,
    thing,
    things,
)
from standins.statefactory.scienceworld.memory import AGENT, CARRIED, ROOMS, Memory, Path

Groups = dict[str, str]
CREATED = "created by mixing"
FOCUSED = "focused on"
_TARGET = re.compile(r" (?:in|on|to|into|from) .*")
_SMALL = frozenset({"in", "on", "the", "a", "of", "stage"})


def say(memory: Memory, action: str, text: str) -> bool:
    """Set what a sentence says; False if its form is unknown."""
    reading = first(forms(FILE, "sentences"), text)
    if reading is None:
        return False
    form, groups = reading
    identities = dict(groups)
    for group, name in groups.items():
        if group == "thing":
            identities[group] = memory.known(name, action)
        elif group == "meant":
            identities[group] = _meant(memory, name, action)
        elif group == "here":
            door = re.search(r"door to (?:the )?(.+)", action) if name == "door" else None
            if name == "door" and not door:
                return True
            identities[group] = memory.here(memory.known(f"door to {door[1]}" if door else name, action))
    if form.rule:
        RULES[form.rule](memory, identities, action, text)
    note(memory.facts, form.stated(identities))
    return True


def disconnect(memory: Memory, name: str) -> None:
    """Remove all connections of the thing with this name."""
    identity = memory.find(name)
    for other, facts in memory.facts.items():
        for point, value in facts.items():
            connected = value.startswith("connected to ")
            if connected and (other == identity or value.endswith(f" on {name}")):
                facts[point] = "unconnected"


def _moves(memory: Memory, groups: Groups, action: str, text: str) -> None:
    _move(memory, groups["meant"], groups["target"], action)


def _empties(memory: Memory, groups: Groups, action: str, text: str) -> None:
    for identity in memory.inside(groups["meant"]):
        _move(memory, identity, groups["target"], action)
    memory.facts[groups["meant"]]["contents"] = "nothing"


def _dunks(memory: Memory, groups: Groups, action: str, text: str) -> None:
    for name in groups["liquids"].split(", "):
        liquid = memory.known(substance(name)[0], f"in {groups['holder']}")
        dunked = memory.here(memory.known(groups["dunked"], action.split(" into ")[0]))
        memory.put(liquid, memory.within(dunked), memory.room_of(dunked))


def _meant(memory: Memory, name: str, action: str) -> str:
    """The thing that a sentence names; its name may include the state of matter."""
    name = re.sub(r"^(recipe|book|paper|document|note) titled .+", r"\1", name)
    bare, facts = substance(name)
    identity = memory.find(name, action) or memory.known(bare, action)
    memory.facts[identity].update(facts)
    return identity


def _move(memory: Memory, identity: str, target: str, action: str) -> None:
    path, room = _place(memory, target, action)
    memory.put(identity, path, room)


def _place(memory: Memory, name: str, action: str) -> tuple[Path, str | None]:
    """The place of a thing that was moved to the holder with this name."""
    if name == CARRIED:
        return (("in", CARRIED),), memory.room
    if name in ROOMS:
        return (), name
    # The words after "to" or "into" in an action name the destination.
    holder = memory.find(name, re.split(r" (?:to|into|in) (?=cup|[a-z ]+$)", action, maxsplit=1)[-1])
    if holder is None:
        return (("on" if name in ("table", "stove") else "in", name),), memory.room
    return memory.within(holder), memory.room_of(holder) or memory.room


def _focuses(memory: Memory, groups: Groups, action: str, text: str) -> None:
    name = text.removeprefix("You focus on the ").removesuffix(".")
    memory.facts[groups["meant"]].update(life_stage(name) | {"focus": FOCUSED})
    called = _TARGET.sub("", action.removeprefix("focus on ")) if action.startswith("focus on ") else ""
    if called and not set(called.split()) & set(name.split()) - _SMALL and not called.isdigit():
        memory.facts[groups["meant"]]["alias"] = called


def _fells(memory: Memory, groups: Groups, action: str, text: str) -> None:
    identity = groups["thing"]
    path, room = memory.path(identity), memory.room_of(identity) or memory.room
    memory.leave(identity)
    memory.put(memory.known("wood"), path, room)


def _digs(memory: Memory, groups: Groups, action: str, text: str) -> None:
    for name in ("hole", "soil"):
        if name not in memory.facts:
            memory.put(name, (("in", "ground"),) if name == "hole" else (), memory.room)


def _measures(memory: Memory, groups: Groups, action: str, text: str) -> None:
    memory.facts[memory.known("thermometer")]["reading"] = groups["reading"]
    measured = re.fullmatch(r"use (?:the )?thermometer(?: in inventory)? on (.+)", action)
    if measured:
        memory.facts[_referred(memory, measured[1])]["temperature"] = groups["reading"]


def _referred(memory: Memory, phrase: str) -> str:
    """The thing to which the words of an action refer: "liquid tin in metal pot", "substance in toilet"."""
    name = substance(_TARGET.sub("", phrase))[0]
    inside = re.search(r" in (.+)", phrase)
    if name == "substance" and inside:
        contents = memory.inside(memory.find(inside[1]) or "")
        return contents[0] if len(contents) == 1 else memory.known(name)
    return memory.find(name, phrase) or memory.known(name)


def _mixes(memory: Memory, groups: Groups, action: str, text: str) -> None:
    product, mixed = groups["product"], groups["mixed"].lower()
    called = _TARGET.sub("", re.sub(r" containing .*", "", action.removeprefix("mix ")))
    holder = memory.here(memory.known(called, action)) if action.startswith("mix ") else None
    for identity in memory.inside(holder) if holder else ():
        if identity != product and any(word.rstrip("s") in mixed for word in identity.split()):
            memory.leave(identity)
            memory.facts[identity]["condition"] = "used up"
    if holder:
        memory.put(product, memory.within(holder), memory.room_of(holder))
    memory.facts.setdefault(product, {})["origin"] = CREATED


def _reads(memory: Memory, groups: Groups, action: str, text: str) -> None:
    recipe = re.search(r"To make (.+?), you need to mix (.+?)\.(?:\s|$)", groups["text"])
    if recipe:
        memory.facts[memory.known("recipe")].update({"product": recipe[1], "ingredients": recipe[2]})
    else:
        title = re.match(r"(.+?) by ", groups["text"])
        memory.facts[memory.known(f"book ({title[1]})" if title else "document", action)]["text"] = "read"


def _connects(memory: Memory, groups: Groups, action: str, text: str) -> None:
    ends = [(groups["point"], groups["name"]), (groups["its"], groups["other"])]
    for (point, name), (its, other) in (ends, ends[::-1]):
        if name not in (AGENT, CARRIED, "air") and name not in ROOMS:
            memory.facts[memory.known(name)][point.replace(" ", "-")] = f"connected to {its} on {other}"


RULES: dict[str, Callable[[Memory, Groups, str, str], None]] = {
    "enters": lambda memory, groups, action, text: memory.enter(groups["room"]),
    "leaves": lambda memory, groups, action, text: memory.leave(groups["thing"]),
    "disconnects": lambda memory, groups, action, text: disconnect(memory, groups["name"]),
    "moves": _moves,
    "empties": _empties,
    "dunks": _dunks,
    "focuses": _focuses,
    "fells": _fells,
    "digs": _digs,
    "measures": _measures,
    "mixes": _mixes,
    "reads": _reads,
    "connects": _connects,
}


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
    """Set what a description says and return its lines that are not understood; None if it is no description."""
    room, inside = _ROOM.fullmatch(text), _INSIDE.fullmatch(text)
    carried, empty = _CARRIED.fullmatch(text), _EMPTY.fullmatch(text)
    if room:
        # A room may be described from elsewhere; the agent is in the room whose list includes it.
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
    """Set things, one a line.

    If one of them holds some of the others, it is unclear which, so these lines are not read.
    """
    joined = re.sub(r"(On|In) the ([^\n:]+) is: ?\n\s*nothing(?=\n|$)", r"\1 the \2 is: nothing.", lines)
    stripped = [line.strip() for line in joined.split("\n") if line.strip()]
    seen: list[tuple[str, Thing]] = []
    unread: list[str] = []
    for number, line in enumerate(stripped):
        if line.endswith(" is:"):
            unread = stripped[number:]
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
    remainder = _DOOR.sub("", text).strip(" ,.\n\t")
    return [remainder] if remainder else []


def _see_one(memory: Memory, action: str, text: str) -> list[str] | None:
    """Set a single thing, as described after "look at" or "examine"."""
    door = _DOOR.fullmatch(text.strip(" ."))
    if door:
        if memory.room:
            memory.see_door(door[1], door[2], memory.room)
        return []
    if not (action.isdigit() or action.startswith(("look at", "look on", "examine", "look in"))):
        return None
    holder, *contents = re.split(r"\n\t", text)
    if contents and holder.endswith(": "):  # its contents are on lines of their own, else on one
        text = f"{holder} {', '.join(line.strip(' .') for line in contents)}."
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
