"""A room as TextWorld describes it: title, greeting, containers and supporters with what they hold, exits, floor."""

from __future__ import annotations

import re

from standins.statefactory.textworld.filler import ASIDE, is_greeting
from standins.statefactory.textworld.words import STATED, THING, YOU, Knowledge, listed, sentences

TITLE = re.compile(r"^-= (.+?) =-[ \t]*$", re.MULTILINE)
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
_DIRECTION = r"(?P<direction>north|south|east|west)"
_HERE = r"(?:,? (?:here|in the room|nearby|close by|in the corner|right there by you))"
_STATE = r"(?:(?P<state>locked|opened|open|closed) )?"
_NAME = rf"{THING}(?:, which looks {THING},?)?"
_INTRODUCED = re.compile(
    "(?:"
    + "|".join(
        form.replace("THAT", THING)
        .replace("THING", rf"an? {_STATE}(?P<thing{number}>{_NAME})")
        .replace("(?P<state>", f"(?P<state{number}>")
        for number, form in enumerate((
            r"you see a gleam over in a corner, where you can see THING",
            r"you smell an? \w+ smell, and follow it to THING",
            r"you scan the room(?: for an? THAT)?,(?: seeing| and you find) THING",
            r"you rest your hand against a wall, but you miss the wall and fall onto THING",
            r"you hear a noise behind you and spin around, but you can't see anything other than THING",
            r"if you haven't noticed it already, there seems to be something there by the wall, it's THING",
            r"when you stand up, you notice THING",
            r"the wall opens up to reveal THING",
            r"as if things weren't amazing enough already, you can even see THING",
            r"it's a- oh, never mind, it's just THING",
            r"(?:because )?look over there, (?:it's )?THING",
            r"it looks like it's THING",
            r"(?:it's|here's) THING",
            r"you (?:can )?(?:see|make out) THING",
            r"THING is(?= (?:here|in the room|nearby|close by|in the corner|right there by you))",
            r"(?!.* (?:dollars|bucks|big ones)$)THING",
        ))
    )
    + f"){_HERE}?(?:, so there's that)?"
)  # fmt: skip
_LOOKING = re.compile(r"(?:[\w-]+ )+?looking |, which looks .*")
_INSIDE = re.compile(r"the (?P<holder>.+?) contains (?P<items>.+)")
_ON = re.compile(
    r"on the (?P<holder>.+?) you (?:can )?(?:see|make out) (?P<items>.+)|"
    r"you see (?P<items2>.+) on the (?P<holder2>.+)"
)
_SO = re.compile(r", (?:so there's that|unfortunately|what a horrible day)$")
_EMPTY_BOX = re.compile(r"the (?P<holder>.+) is empty|empty")
_EMPTY_TOP = re.compile(
    r"(?:but |unfortunately, )?there isn't a thing on it|but the thing (?:is empty|hasn't got anything on it)|"
    r"but oh no|there's nothing on this piece of \w+|the .+ appears to be empty|however, the .+ has nothing on it|"
    r"looks like someone's already been here and taken everything off it, though"
)
_DOOR = re.compile(rf"there is an? (?P<state>open|closed) (?P<thing>.+) leading {_DIRECTION}")
_EXIT = re.compile(
    rf"there is an (?:(?:unblocked|unguarded) )?exit to the {_DIRECTION}|"
    r"you need an (?:(?:unblocked|unguarded) exit|exit without a door)|you don't like doors|"
    rf"you should try going {_DIRECTION.replace('direction', 'd2')}|"
    rf"why not try going {_DIRECTION.replace('direction', 'd3')}, "
    r"that entranceway is (?:unblocked|unguarded|not blocked by one)"
)
# How the supporters of the grammar look, when there is nothing on them to tell.
_LOOKS = re.compile(
    r"the (?P<thing>.+) is (?:ordinary|normal|typical|standard|usual|dusty|chipped|shiny|rusty|shoddy|splintery|rough|"
    r"greasy|soaped down|filthy|messy|comfy|warm|worn-out|stern|solid|worn|gross|new|old|used|clean|large|small|fancy|"
    r"plain|ornate|antique|contemporary|modern|dirty|elegant|simple|hefty|modest|austere|conventional|interesting|"
    r"massive|metallic|recent|sharp|stylish|vast|white|wooden)"
)
_FLOOR = re.compile(r"there (?:is|are) (?P<items>.+) on the floor")


def read_room(known: Knowledge, title: str, body: str, action: str) -> list[str]:
    """Read what stands below a room's title; the sentences that are in no form. action: what led here."""
    room = title.lower()
    _arrive(known, room, action)
    greeting, *paragraphs = body.strip("\n").split("\n\n")
    unread = [s for s in sentences(greeting) if not (is_greeting(s, room) or ASIDE.fullmatch(s))]
    thing = None
    for sentence in (sentence for paragraph in paragraphs for sentence in sentences(paragraph)):
        found = _read_sentence(known, room, thing, sentence)
        thing = found or thing
        if found is None and not ASIDE.fullmatch(sentence):
            unread.append(sentence)
    return unread


def _arrive(known: Knowledge, room: str, action: str) -> None:
    """Where one is; after a move also how the room lies to the one before, once and for all."""
    before = known.value(YOU, "location")
    direction = action.lower().removeprefix("go ").strip()
    # On the first visit alone: a room that is entered from elsewhere later would seem to have moved.
    if direction in OPPOSITE and before != f"in the {room}" and known.value(room, "visited") is None:
        there = f"{direction} of the {before.removeprefix('in the ')}" if before else f"to the {direction}"
        known.say(room, location=there)
    known.say(YOU, location=f"in the {room}")
    known.say(room, visited="yes")


def _read_sentence(known: Knowledge, room: str, thing: str | None, sentence: str) -> str | None:
    """Read a sentence: the thing it speaks of, or None if it is in no form. thing: that of the sentences before."""
    plain = _SO.sub("", sentence)
    if match := _FLOOR.fullmatch(plain):
        return _put(known, match["items"], f"on the floor of the {room}") or thing or room
    if match := _DOOR.fullmatch(plain):
        known.say(match["thing"], location=f"{match['direction']} of the {room}", state=match["state"])
        return match["thing"]
    if match := _EXIT.fullmatch(plain):
        direction = match["direction"] or match["d2"] or match["d3"]
        if direction:
            exits = (known.value(room, "exits") or direction).split(", ")
            known.say(room, exits=", ".join(sorted({*exits, direction})))
        return room
    return _read_holder(known, room, thing, plain)


def _read_holder(known: Knowledge, room: str, thing: str | None, sentence: str) -> str | None:
    """A sentence about a container or supporter, or about what it holds."""
    if match := _INSIDE.fullmatch(sentence):
        # What shows its content is open, also where no sentence says so.
        known.say(match["holder"], state="open", location=f"in the {room}")
        _put(known, match["items"], f"in the {match['holder']}")
        return match["holder"]
    if match := _ON.fullmatch(sentence):
        holder = match["holder"] or match["holder2"]
        known.say(holder, location=f"in the {room}")
        _put(known, match["items"] or match["items2"], f"on the {holder}")
        return holder
    if match := _EMPTY_BOX.fullmatch(sentence):
        holder = match["holder"] or thing
        if holder:
            known.say(holder, state="open")
        return holder
    if match := STATED.fullmatch(sentence):
        known.turned(match["thing"], match["state"])
        return match["thing"]
    if (match := _LOOKS.fullmatch(sentence)) and thing and thing.endswith(match["thing"]):
        return thing
    if _EMPTY_TOP.fullmatch(sentence):
        return thing
    if match := _INTRODUCED.fullmatch(sentence):
        return _introduce(known, room, match)
    return None


def _introduce(known: Knowledge, room: str, match: re.Match[str]) -> str:
    found = {name.rstrip("0123456789"): value for name, value in match.groupdict().items() if value}
    name = _LOOKING.sub("", found["thing"])
    known.say(name, location=f"in the {room}")
    # Only a room's description tells locked from closed; where it names neither, nothing is said.
    if state := found.get("state"):
        known.turned(name, "open" if state.startswith("open") else state)
    return name


def _put(known: Knowledge, items: str, location: str) -> str | None:
    for item in listed(items):
        known.food(item, location=location)
    return None
