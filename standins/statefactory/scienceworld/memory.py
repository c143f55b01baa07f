"""What is known about ScienceWorld's things: a tree of places that can be changed and converted to entities again.

The place of a thing is its path and its room: "in metal pot on stove", in the kitchen. Several things may have the same
name. The first keeps it as its identity. A later one is distinguished by its place ("drawer in cupboard"), or by a
number word if it is next to the first ("second wood cup").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from standins.statefactory.forms import as_entities, as_facts
from standins.statefactory.languages import Entities
from standins.statefactory.scienceworld.descriptions import Thing
from statefactory.state import Entity

AGENT = "agent"
CARRIED = "inventory"
ROOMS = frozenset({
    "kitchen", "bathroom", "workshop", "art studio", "bedroom", "living room", "hallway", "greenhouse", "foundry",
    "outside",
})  # fmt: skip
SURFACES = frozenset({
    "table", "chair", "couch", "counter", "desk", "bed", "mattress", "stove", "hot plate", "book shelf", "ground",
})  # fmt: skip
ORDINALS = ("", "second ", "third ", "fourth ", "fifth ", "sixth ", "seventh ", "eighth ", "ninth ", "tenth ")
NOT_THINGS = frozenset({"agent", "air", CARRIED})

Path = tuple[tuple[str, str], ...]  # (preposition, name) from the nearest holder outwards, without the room

_STEP = re.compile(r"(?:^| )(in|on) ")
_PLACED = re.compile(r" (?:in|on) ")
_ORDINAL = re.compile("|".join(filter(None, ORDINALS)))


def base(identity: str) -> str:
    """The world's own name of a thing: with the number word, without the place that distinguishes it."""
    return _PLACED.split(identity, maxsplit=1)[0]


def plain(identity: str) -> str:
    """The world's own name of a thing, without the number word too."""
    return _ORDINAL.sub("", base(identity), count=1) if _ORDINAL.match(identity) else base(identity)


class Memory:
    """Known entities that can be changed. `facts` maps identities to attributes."""

    def __init__(self, known: Iterable[Entity]) -> None:
        self._before = {entity.identity: entity for entity in known}
        self.facts = as_facts(self._before.values())

    def entities(self) -> Entities:
        """The entities. An entity without new facts keeps the order of its attributes."""
        return tuple(
            before if set(before.attributes) == set(after.attributes) else after
            for after in as_entities(self.facts)
            for before in [self._before.get(after.identity, after)]
        )

    # --- places ---------------------------------------------------------------------------------------------------

    @property
    def room(self) -> str | None:
        """The agent's room; None if unknown."""
        return self.facts.get(AGENT, {}).get("room")

    def enter(self, room: str) -> None:
        """Move the agent to a room, with everything that it carries."""
        self.facts.setdefault(AGENT, {}).update({"location": _written((), room), "room": room})
        for facts in self.facts.values():
            if _path(facts)[-1:] == (("in", CARRIED),):
                facts["room"] = room

    def path(self, identity: str) -> Path:
        return _path(self.facts.get(identity, {}))

    def put(self, identity: str, path: Path, room: str | None) -> None:
        """Move a thing to a place, with everything that it holds."""
        facts = self.facts.setdefault(identity, {})
        inside = list(self._below(identity))
        depth = len(self.path(identity))
        self._write(facts, path, room)
        for other in inside:
            steps = self.path(other)
            self._write(self.facts[other], (*steps[: len(steps) - depth], *path), room)
        for other, attributes in self.facts.items():
            holder = path[:1] and base(other) == path[0][1]
            if holder and attributes.get("room") == room and self.path(other) == path[1:]:
                attributes.pop("contents", None)  # it is no longer empty

    def inside(self, identity: str) -> list[str]:
        """The things known to be directly on or in a thing."""
        depth = len(self.path(identity)) + 1
        return [other for other in self._below(identity) if len(self.path(other)) == depth]

    def within(self, identity: str) -> Path:
        """The path of a thing that is put on or into this one."""
        name = base(identity)
        preposition = next((self.path(other)[0][0] for other in self.inside(identity)), None)
        return ((preposition or ("on" if plain(name) in SURFACES else "in"), name), *self.path(identity))

    def room_of(self, identity: str) -> str | None:
        return self.facts.get(identity, {}).get("room")

    def holders(self, identity: str) -> list[str]:
        """The things on or in which a thing is, as far as known."""
        path, room = self.path(identity), self.room_of(identity)
        return [
            other
            for number, (_, name) in enumerate(path)
            for other in self.facts
            if base(other) == name and self.path(other) == path[number + 1 :] and self.room_of(other) == room
        ]

    def _below(self, identity: str) -> Iterator[str]:
        facts = self.facts.get(identity, {})
        if not facts.keys() & {"location", "room"}:
            return
        path, room, name = self.path(identity), facts.get("room"), base(identity)
        for other, attributes in self.facts.items():
            steps = _path(attributes)
            above = len(steps) - len(path)
            if above > 0 and steps[above:] == path and steps[above - 1][1] == name and attributes.get("room") == room:
                yield other

    def _write(self, facts: dict[str, str], path: Path, room: str | None) -> None:
        facts.pop("room", None)
        facts["location"] = _written(path, room)
        if room:
            facts["room"] = room

    # --- what is seen ---------------------------------------------------------------------------------------------

    def see(
        self, listed: Sequence[tuple[str, Thing]], path: Path, room: str | None, all_of_it: bool = True
    ) -> None:  # fmt: skip
        """Set the things seen at a place. all_of_it: things that are not seen now are no longer there."""
        seen: set[str] = set()
        for preposition, thing in listed:
            here = ((preposition, path[0][1]), *path[1:]) if path else path
            if thing.name == AGENT and room:
                self.enter(room)
            if thing.name not in NOT_THINGS:
                seen.add(self._note(thing, here, room, seen))
        if not all_of_it:
            return
        names = {name for _, name in path[:1]}
        for identity, facts in list(self.facts.items()):
            steps = self.path(identity)
            beside = len(steps) == len(path) and {name for _, name in steps[:1]} == names and steps[1:] == path[1:]
            same = beside and self._placed(identity) and facts.get("room") == room
            if same and identity not in seen and identity != AGENT and not _is_door(identity):
                self.leave(identity)

    def describe(self, identity: str, thing: Thing) -> None:
        """Set what a description says about a known thing."""
        facts = self.facts.setdefault(identity, {})
        if "phase" not in thing.facts:
            facts.pop("phase", None)  # if unstated, the phase is the usual one
        facts.update(thing.facts)
        if thing.inside is None:
            return
        if not thing.inside:
            facts["contents"] = "nothing"
        self.see(thing.inside, (("in", base(identity)), *self.path(identity)), self.room_of(identity))

    def see_door(self, leads_to: str, openness: str, room: str) -> None:
        """Set a door of a room."""
        identity = self._identity(f"door to {leads_to}", (), room, set())
        self._write(self.facts.setdefault(identity, {}), (), room)
        self.facts[identity]["openness"] = openness

    def here(self, identity: str) -> str:
        """The thing; it is somewhere in the agent's room, if nothing else is known."""
        if self.room and not self._placed(identity):
            self.facts[identity]["room"] = self.room
            if _is_door(identity):
                self.put(identity, (), self.room)
        return identity

    def _note(self, thing: Thing, path: Path, room: str | None, seen: set[str]) -> str:
        identity = self._identity(thing.name, path, room, seen)
        self._write(self.facts.setdefault(identity, {}), path, room)
        self.describe(identity, thing)
        return identity

    def _identity(self, name: str, path: Path, room: str | None, seen: set[str]) -> str:
        """The identity of a thing seen at a place: one known there, else one whose place is unknown, else a new one."""
        named = [identity for identity in self.facts if plain(identity) == name and identity not in seen]
        local = [i for i in named if self.path(i) == path and self.facts[i].get("room") == room and self._placed(i)]
        # In a holder of the same name about which nothing else is known.
        near = [i for i in named if path and self.path(i)[:1] == path[:1] and self.facts[i].get("room") == room
                and not self.holders(i)]  # fmt: skip
        unplaced = [i for i in named if not self._placed(i) and self.facts[i].get("room") in (None, room)]
        if local or near or unplaced:
            return (local or near or unplaced)[0]
        beside = sum(plain(i) == name and self.path(i) == path and self.room_of(i) == room for i in seen)
        if beside:
            name = f"{ORDINALS[beside]}{name}" if beside < len(ORDINALS) else f"{name} number {beside + 1}"
        nearest = _written(path[:1], room)
        full_location = f"{_written(path, room)} in {room}"
        numbered = (f"{name} {full_location}, {number}" for number in range(2, len(named) + 3))
        candidates = (name, f"{name} {nearest}", f"{name} {full_location}", *numbered)
        return next(identity for identity in candidates if identity not in self.facts)

    def _placed(self, identity: str) -> bool:
        return "location" in self.facts[identity]

    def leave(self, identity: str) -> None:
        """Forget the place of a thing; its other facts stay."""
        for other in (*self._below(identity), identity):
            for name in ("location", "room"):
                self.facts[other].pop(name, None)

    # --- meaning of a phrase --------------------------------------------------------------------------------------

    def find(self, name: str, action: str = "") -> str | None:
        """The known thing to which the world refers by a name, or None. action: may say which of several is meant."""
        # Among equal scores, the thing known longest: `max` prefers the greatest -number.
        ranked = [
            (score, -number, identity)
            for number, identity in enumerate(self.facts)
            if identity != AGENT and (score := self._score(identity, name, action))
        ]
        return max(ranked)[2] if ranked else None

    def known(self, name: str, action: str = "") -> str:
        """As `find`, but an unknown thing becomes known."""
        identity = self.find(name, action)
        if identity is None:
            identity = name
            self.facts.setdefault(name, {})
        return identity

    def _score(self, identity: str, name: str, action: str) -> float:
        facts, own = self.facts[identity], plain(identity)
        if name in (own, identity, facts.get("alias")):
            score = 10.0
        elif " titled " not in own and (own.startswith(f"{name} ") or own.endswith(f" {name}")):
            score = 4.0
        else:
            return 0.0
        path = _path(facts)
        if facts.get("room") == self.room or path[-1:] == (("in", CARRIED),):
            # Names recur in every room; most likely the thing in this room, or a carried one, is meant.
            score += 5
        score += sum(bool(re.search(rf"\bin {re.escape(plain(holder))}\b", action)) for _, holder in path if action)
        score += 0.5 * (facts.get("stage", "?") in action)
        return score + 2 * any(f"containing {plain(other)}" in action for other in self.inside(identity))


def _is_door(identity: str) -> bool:
    return identity.startswith("door to ")


def _path(facts: dict[str, str]) -> Path:
    """The path in a location, outwards, without the room."""
    words = _STEP.split(facts.get("location", ""))[1:]
    steps = tuple(zip(words[::2], words[1::2], strict=True))
    return steps[:-1] if len(steps) == 1 and steps[0][1] == facts.get("room") else steps


def _written(path: Path, room: str | None) -> str:
    """A location as text: "in metal pot on stove", or "in kitchen" for a thing that lies there."""
    if not path:
        return f"in {room}" if room else "here"
    return " ".join(f"{preposition} {name}" for preposition, name in path)
