"""TextWorld: what the rules read, against the facts that TextWorld keeps of a game beside its text.

Every game is played from its first room by the expert and then by seeded random actions. True are the package's facts,
restricted to what the text can have told so far:

* things count once the text names them, by their names alone: where they are, the place they were last taken from,
  whether they were eaten; a door's place is that as seen from the room that was described last;
* whether something is open or locked, and how a food was cooked and cut, counts from when it was first read, since
  descriptions often leave it out;
* rooms that one was in, how each lies to the one from which it was first entered, and its exits without doors.

Left out on both sides, since no fact of the package corresponds: that the cookbook was read, the recipe's page, and
that the meal was prepared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from standins.statefactory import textworld
from standins.statefactory.fidelity import UNSEEN, Compared, Fact, facts
from standins.statefactory.languages import Entities
from standins.statefactory.textworld import INVENTORY, YOU
from worlds.textworld import QuestTask, load

RANDOM_STEPS = 40
PORTABLE = {"o", "f", "k", "meal"}
DIRECTIONS = ("north", "south", "east", "west")
NO_FACTS = {"status", "preparation", "ingredients", "directions"}
OFTEN_UNSAID = {"state", "lock", "cooking", "cut"}

Arguments = tuple[str, ...]


def compared(games: int, seed: int = 0) -> Iterator[Compared]:
    """The steps of the quests of a seed of their own."""
    from worlds.textworld.expert import solution

    with load("synthetic", UNSEEN + seed, games={"test": games}) as world:
        for number, task in enumerate(world.tasks("test")):
            yield from _played(task, solution(task))
            yield from _played(task, [None] * RANDOM_STEPS, Random(f"fidelity {seed} {number}"))


def _played(task: QuestTask, actions: Iterable[str | None], random: Random | None = None) -> Iterator[Compared]:
    """One game, until it ends; None stands for a random action."""
    from worlds.textworld.compiled import compiled
    from worlds.textworld.engine import game_words, start

    env = start(compiled(task), "facts", "admissible_commands", "won", "lost")
    told, action = Told(), ""
    known: Entities = ()
    try:
        state = env.reset()
        for planned in [*actions, ""]:
            text = game_words(state["feedback"])
            known, unparsed = textworld.read(known, action, text)
            read = frozenset(fact for fact in facts(known) if fact[1] not in NO_FACTS)
            yield Compared(read, told.true(action, text, Simulated(state["facts"]), read), unparsed)
            action = random.choice(state["admissible_commands"]) if random and planned is None else planned or ""
            if not action or state["won"] or state["lost"]:
                return
            state, _, _ = env.step(action)
    finally:
        env.close()


class Simulated:
    """The package's facts at one moment, by predicate, with names in lower case."""

    def __init__(self, propositions: Iterable[Any]) -> None:
        self._facts: dict[str, set[Arguments]] = {}
        self.portable: set[str] = set()
        for proposition in propositions:
            arguments = tuple(argument.name.lower() for argument in proposition.arguments)
            self._facts.setdefault(proposition.name, set()).add(arguments)
            self.portable |= {a.name.lower() for a in proposition.arguments if a.type in PORTABLE}
        self.room = next((room for thing, room in self.all("at") if thing == "p"), "")

    def all(self, predicate: str) -> set[Arguments]:
        return self._facts.get(predicate, set())

    def first(self, predicates: Iterable[str], thing: str) -> str | None:
        """The first of the predicates that holds of a thing."""
        return next((predicate for predicate in predicates if (thing,) in self.all(predicate)), None)

    def location(self, thing: str) -> str | None:
        """Where a thing is, in the words of the rules."""
        on_floor = "on the floor of the {}" if thing in self.portable else "in the {}"
        for predicate, words in (("in", "in the {}"), ("on", "on the {}"), ("at", on_floor)):
            for other, place in self.all(predicate):
                if other == thing:
                    return INVENTORY if place == "i" else words.format(place)
        return None

    def exits(self, room: str) -> dict[str, str]:
        """Where the directions out of a room lead to, and which."""
        return {there: direction for direction in DIRECTIONS for there, here in self.all(f"{direction}_of")
                if here == room}  # fmt: skip

    def doors(self, room: str) -> dict[str, str]:
        """The doors of a room, and which room each leads to."""
        return {door: there for here, door, there in self.all("link") if here == room}


class Told:
    """What a game's text can have told so far."""

    def __init__(self) -> None:
        self._before = Simulated(())
        self._named: set[str] = set()
        self._doors: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._rooms: dict[str, str | None] = {}

    def true(self, action: str, text: str, now: Simulated, read: frozenset[Fact]) -> frozenset[Fact]:
        """The facts after a step that can be known. read: to leave out what is often unsaid."""
        before, self._before = self._before, now
        things = now.portable | {thing for thing, _ in now.all("at")} | set(now.doors(now.room))
        names = "|".join(map(re.escape, sorted(things - {"p"}, key=len, reverse=True)))
        # The quest before the first room and a recipe name what nobody has seen.
        words = text[text.find("-= ") :] if "-= " in text else re.sub("(?s)Ingredients:.*", "", text)
        self._named |= set(re.findall(rf"\b(?:{names})\b", words.lower()))
        for thing in {thing for thing, place in now.all("in") - before.all("in") if place == "i"}:
            if place := before.location(thing):
                self._origins[thing] = "the floor" if "floor" in place else place.partition(" ")[2]
        if "-= " in text:
            exits, direction = now.exits(now.room), action.removeprefix("go ")
            moved = direction in DIRECTIONS and before.room not in ("", now.room)
            self._rooms.setdefault(now.room, f"{direction} of the {before.room}" if moved else None)
            self._doors |= {door: f"{exits[there]} of the {now.room}" for door, there in now.doors(now.room).items()}
        keys = {fact[:2] for fact in read}
        stated = (*self._of_things(now), *self._of_rooms(now))
        return frozenset(fact for fact in stated if fact[1] not in OFTEN_UNSAID or fact[:2] in keys)

    def _of_things(self, now: Simulated) -> Iterator[Fact]:
        for thing in self._named | set(self._doors):
            raw = ("raw",) if (thing,) in now.all("needs_cooking") else ()
            turned = now.first(("open", "closed", "locked"), thing)
            possible = {
                "location": self._doors.get(thing) or now.location(thing),
                "origin": self._origins.get(thing),
                "consumption": "eaten" if now.first(("eaten", "consumed"), thing) else None,
                "cooking": now.first(("burned", "fried", "roasted", "grilled"), thing) or (*raw, None)[0],
                "cut": now.first(("sliced", "diced", "chopped"), thing),
                "state": "closed" if turned == "locked" else turned,
                "lock": turned and ("locked" if turned == "locked" else "unlocked"),
            }
            yield from ((thing, name, value) for name, value in possible.items() if value)

    def _of_rooms(self, now: Simulated) -> Iterator[Fact]:
        yield YOU, "location", f"in the {now.room}"
        for room, place in self._rooms.items():
            yield room, "visited", "yes"
            if place:
                yield room, "location", place
            behind_doors = set(now.doors(room).values())
            if exits := sorted(direction for there, direction in now.exits(room).items() if there not in behind_doors):
                yield room, "exits", ", ".join(exits)
