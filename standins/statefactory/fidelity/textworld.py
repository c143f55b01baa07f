"""Fidelity in TextWorld: facts read against the facts that TextWorld keeps of a game.

Every game is played from its first room by the expert and then by seeded random actions. True are the package's facts,
restricted to what the text can have told so far:

* Portable things, once they were listed: in a described room (on its floor, on a supporter or in an open container), in
  a container that was opened or examined, or in an inventory; or once they were moved. Facts: where they are, the place
  they were last taken from, and for foods whether they were eaten.
* Foods, once they were listed or processed: how they were cooked and cut, which their name in a list tells ("raw" is
  printed only for foods that cannot be eaten raw).
* Containers, supporters and doors of described rooms: where they are, a door as seen from the room that was described
  last; whether they are open, once a description, an examination or an action told it (a description without the word
  does not tell that something is shut); whether they are locked, once "locked" was printed or a lock was turned.
* Rooms in which the player was, how each lies relative to the room from which it was first entered, and its exits
  without doors.

Left out on both sides, since no fact of the package corresponds: that the cookbook was read, the recipe's page, and
that the meal was prepared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

from standins.statefactory.fidelity import UNSEEN, Compared, Fact, facts
from standins.statefactory.languages import Entities, named
from standins.statefactory.textworld import INVENTORY, YOU
from worlds.textworld import QuestTask, load

RANDOM_STEPS = 40
PORTABLE = {"o", "f", "k", "meal"}
DIRECTIONS = ("north", "south", "east", "west")
NO_FACTS = {"status", "preparation", "ingredients", "directions"}

Arguments = tuple[str, ...]


def compared(games: int, seed: int = 0) -> Iterator[Compared]:
    """The steps of quests from seeds that are used for nothing else."""
    with load("synthetic", UNSEEN + seed, games={"test": games}) as world:
        for number, task in enumerate(world.tasks("test")):
            yield from played(task, expert_actions(task), 0)
            yield from played(task, (), RANDOM_STEPS, Random(f"fidelity {seed} {number}"))


def expert_actions(task: QuestTask) -> Sequence[str]:
    from worlds.textworld.expert import solution

    return solution(task)


def played(task: QuestTask, plan: Iterable[str], steps: int, random: Random | None = None) -> Iterator[Compared]:
    """One game: a plan, then up to `steps` steps with random actions; ends with the game."""
    from worlds.textworld.engine import game_words, start
    from worlds.textworld.games import compiled

    env = start(compiled(task), "facts", "admissible_commands", "won", "lost")
    read, knowable, plan = named("textworld").read, Told(), iter(plan)
    known: Entities = ()
    try:
        state, action = env.reset(), ""
        for step in range(10_000):
            text = game_words(state["feedback"])
            reading = read(known, action, text)
            known = reading.known
            # Limited to what the text can have told: the content of a closed chest is not a miss of the reader.
            knowable.see(action, text, Simulated(state["facts"]))
            stated = {fact for fact in facts(known) if fact[1] not in NO_FACTS}
            yield Compared(frozenset(stated), knowable.true(), reading.unparsed)
            action = next(plan, "")
            if random and not action and step < steps:
                action = random.choice(state["admissible_commands"])
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

    def all(self, predicate: str) -> set[Arguments]:
        return self._facts.get(predicate, set())

    def holds(self, predicate: str, *arguments: str) -> bool:
        return arguments in self.all(predicate)

    @property
    def room(self) -> str:
        return next(room for thing, room in self.all("at") if thing == "p")

    def location(self, thing: str) -> str | None:
        """The location of a portable thing, in the words of the rules."""
        for predicate, words in (("in", "in the {}"), ("on", "on the {}"), ("at", "on the floor of the {}")):
            for other, place in self.all(predicate):
                if other == thing:
                    return INVENTORY if place == "i" else words.format(place)
        return None

    def inside(self, holder: str) -> set[str]:
        return {thing for predicate in ("in", "on") for thing, place in self.all(predicate) if place == holder}

    def exits(self, room: str) -> dict[str, str]:
        """Direction -> the room in that direction."""
        return {d: neighbour for d in DIRECTIONS for neighbour, here in self.all(f"{d}_of") if here == room}

    def doors(self, room: str) -> dict[str, str]:
        """Door of a room -> its direction."""
        exit_to = {other: direction for direction, other in self.exits(room).items()}
        return {door: exit_to[other] for here, door, other in self.all("link") if here == room and other in exit_to}


class Told:
    """What a game's text can have told so far."""

    def __init__(self) -> None:
        self._now: Simulated = Simulated(())
        self._listed: set[str] = set()  # portable things that were in sight or processed
        self._moved: set[str] = set()
        self._states: set[str] = set()
        self._locks: set[str] = set()
        self._places: dict[str, str] = {}
        self._taken: dict[str, str] = {}
        self._rooms: dict[str, str | None] = {}

    def see(self, action: str, text: str, now: Simulated) -> None:
        """Record a step: the action, the answer, and the facts after it."""
        before, self._now = self._now, now
        words = text[text.find("-= ") :] if "-= " in text else text
        if "-= " in text:
            self._describe(before, action, words.lower())
        self._turn(before)
        self._look_into(action, words.lower())
        if before.all("at"):
            self._move(before)

    def true(self) -> frozenset[Fact]:
        """The facts at this moment that can be known."""
        return frozenset((*self._of_things(), *self._of_holders(), *self._of_rooms()))

    def _describe(self, before: Simulated, action: str, words: str) -> None:
        """Record a room's description, which names everything in sight."""
        now, room = self._now, self._now.room
        direction = action.removeprefix("go ")
        moved = direction in DIRECTIONS and before.all("at") and before.room != room
        self._rooms.setdefault(room, f"{direction} of the {before.room}" if moved else None)
        for holder in {thing for thing, place in now.all("at") if place == room} - now.portable - {"p"}:
            self._places[holder] = f"in the {room}"
            stated_state = re.search(rf"\b(closed|locked) (?:[\w-]+ looking )?{re.escape(holder)}\b", words)
            if stated_state or now.holds("open", holder):
                self._states.add(holder)
            if stated_state and stated_state[1] == "locked":
                self._locks.add(holder)
            if not self._shut(holder):
                self._listed |= now.inside(holder)
        self._listed |= {thing for thing, place in now.all("at") if place == room} & now.portable
        for door, direction_of_door in now.doors(room).items():
            self._places[door] = f"{direction_of_door} of the {room}"
            self._states.add(door)

    def _move(self, before: Simulated) -> None:
        """Record what this step took, put down or changed."""
        now = self._now
        self._moved |= now.inside("i") ^ before.inside("i")
        for thing in now.inside("i") - before.inside("i"):
            if place := before.location(thing):
                self._taken[thing] = "the floor" if "floor" in place else place.partition(" ")[2]
        changed = (thing for thing in now.portable if set(_processed(now, thing)) != set(_processed(before, thing)))
        self._listed |= set(changed)

    def _turn(self, before: Simulated) -> None:
        """Record what this step opened, closed, unlocked or locked."""
        for holder in self._places:
            was, now = (_turned(simulated, holder) for simulated in (before, self._now))
            if was and now and was != now:
                self._states.add(holder)
                if "locked" in (was, now):
                    self._locks.add(holder)
                if now == "open":
                    self._listed |= self._now.inside(holder)

    def _look_into(self, action: str, words: str) -> None:
        if action == "inventory":
            self._listed |= self._now.inside("i")
        thing = action.lower().removeprefix("examine ")
        if action.startswith("examine ") and thing in self._places:
            if re.search(r"it is (open|closed)|inside it", words):
                self._states.add(thing)
            if not self._shut(thing):
                self._listed |= self._now.inside(thing)
        if "adding the meal" in words:
            self._moved.add("meal")

    def _shut(self, holder: str) -> bool:
        return _turned(self._now, holder) in ("closed", "locked")

    def _of_things(self) -> Iterator[Fact]:
        for thing in self._listed | self._moved:
            if place := self._now.location(thing):
                yield thing, "location", place
            if thing in self._taken:
                yield thing, "origin", self._taken[thing]
            if self._now.holds("eaten", thing) or self._now.holds("consumed", thing):
                yield thing, "consumption", "eaten"
            if thing in self._listed:
                yield from _processed(self._now, thing)

    def _of_holders(self) -> Iterator[Fact]:
        for holder, place in self._places.items():
            yield holder, "location", place
            turned = _turned(self._now, holder)
            if holder in self._states and turned:
                yield holder, "state", "open" if turned == "open" else "closed"
            if holder in self._locks:
                yield holder, "lock", "locked" if turned == "locked" else "unlocked"

    def _of_rooms(self) -> Iterator[Fact]:
        yield YOU, "location", f"in the {self._now.room}"
        for room, place in self._rooms.items():
            yield room, "visited", "yes"
            if place:
                yield room, "location", place
            behind_doors = set(self._now.doors(room).values())
            if exits := sorted(direction for direction in self._now.exits(room) if direction not in behind_doors):
                yield room, "exits", ", ".join(exits)


def _turned(now: Simulated, holder: str) -> str | None:
    return next((state for state in ("open", "closed", "locked") if now.holds(state, holder)), None)


def _processed(now: Simulated, food: str) -> Iterator[Fact]:
    cooking = ("burned", "fried", "roasted", "grilled")
    raw = "raw" if now.holds("needs_cooking", food) else None
    if how := next((how for how in cooking if now.holds(how, food)), raw):
        yield food, "cooking", how
    if how := next((how for how in ("sliced", "diced", "chopped") if now.holds(how, food)), None):
        yield food, "cut", how
