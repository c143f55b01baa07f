"""Fidelity in ALFWorld: facts read against the simulator's, on games outside the training split.

Games: ALFWorld's two validation splits in turn, or the unseen floor plans of a synthetic seed; each is played by the
expert's plan and by a random walk. True are the engine's PDDL atoms that hold. The reader's own functions `placed` and
`kind` turn them into text, so a preposition ("in cabinet 2" or "on cabinet 2") never counts as wrong; where a thing is,
and in what condition, comes from the engine alone. Restrictions:

- Things count from the first observation that names them; for that only names are searched, no sentence is read.
- Where furniture stands ("in the room") counts on neither side: the simulator has coordinates and no room.
- A door counts once an observation made at the furniture names it. A bare "look" names furniture without doors.
- That a lamp is off, or that the agent holds nothing, is true at first and rarely said: it counts only if it is read.
  Once a lamp was used, the simulator takes it to be on for good, and so does the text.
- Furniture can share a place, and a thing can be in two pieces of furniture (a sink and its basin, a bowl and the shelf
  below it). Then each wording is right, and the one that was read counts.
- A fact that holds from the start and is never said (in a released game, a tomato that is cool in the fridge) counts as
  missed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from random import Random
from typing import Any

from standins.statefactory import alfworld as language
from standins.statefactory.alfworld import AGENT, HAND, LAMP, NOTHING, kind, placed
from standins.statefactory.fidelity import Compared, Fact, facts
from statefactory.state import Entity
from worlds.alfworld import AlfWorld, HouseholdTask, load
from worlds.alfworld.expert import Expert
from worlds.alfworld.package_files import named, package
from worlds.alfworld.tasks import Rules
from worlds.alfworld.world import fast_game

RANDOM_STEPS = 40
SPLITS = {"official": ("valid_seen", "valid_unseen"), "synthetic": ("valid_unseen",)}
UNSAID = {("power", "off"), ("holding", NOTHING)}
CONDITIONS = {
    "ishot": ("temperature", "hot"), "iscool": ("temperature", "cool"), "isclean": ("cleanliness", "clean"),
    "issliced": ("shape", "sliced"), "istoggled": ("power", "on"),
}  # fmt: skip

Right = dict[tuple[str, str], set[str]]  # (identity, attribute) -> the right values


def compared(games: int, seed: int, data: str = "auto") -> Iterator[Compared]:
    """Every step of the expert's plan and of a random walk in each game. Raises MissingData if the data is missing."""
    with closing(load(data, seed)) as world:
        expert = Expert(world)
        for task in unseen(world, games, seed):
            yield from _episode(world, task, [*expert.actions(task)], seed)
            yield from _episode(world, task, [None] * RANDOM_STEPS, seed)


def unseen(world: AlfWorld, games: int, seed: int) -> list[HouseholdTask]:
    """Random games, half of them from each split if there are two."""
    chance, splits = Random(f"alfworld {seed}"), SPLITS[world.data]
    pools = [chance.sample(world.tasks(split), len(world.tasks(split))) for split in splits]
    sampled = [task for tasks in zip(*pools, strict=False) for task in tasks]
    return sampled[:games]


def _episode(world: AlfWorld, task: HouseholdTask, actions: list[str | None], seed: int) -> Iterator[Compared]:
    """Play an episode; an action None is sampled."""
    engine, chance = package("worlds.alfworld.engine").FastPddlEnv(), Random(f"{task.id} {seed}")
    with closing(engine):
        game = named(engine)
        game.load(fast_game(world.games.rules(), task))
        state, action = game.reset(), ""
        known: tuple[Entity, ...] = ()
        simulator = Simulator(engine, world.games.rules(), task)
        for following in [*actions, ""]:
            reading = language.read(known, action, state["feedback"])
            known = reading.known
            # "in the room" comes from a first look around; the simulator has no fact for it.
            read = frozenset(fact for fact in facts(known) if fact[2] != "in the room")
            yield Compared(read, simulator.true(action, state["feedback"], read), reading.unparsed)
            action = following if following is not None else chance.choice(state["admissible_commands"])
            if action:
                state, _, _ = game.step(action)


class Simulator:
    """The simulator's state as text, restricted to what observations have named. Created after a game's reset."""

    def __init__(self, engine: Any, rules: Rules, task: HouseholdTask) -> None:
        module = package("worlds.alfworld.engine")
        # The engine's own record of the atoms that hold; its library takes as long to list them as to play.
        self._atoms = engine._facts
        self._names = _names(module.entities(module.grounded(rules.domain, task.problem)))
        self._seen: set[str] = set()
        self._doors: set[str] = set()

    def true(self, action: str, observation: str, read: frozenset[Fact]) -> frozenset[Fact]:
        """The facts that hold now. read: decides among several right wordings."""
        seen_now = set(re.findall(r"[a-z]+ \d+", observation)) & set(self._names.values())
        self._seen |= seen_now
        if action != "look":
            self._doors |= seen_now & self._furniture_here()
        right = self._conditions() | self._places() | self._agent()
        chosen = {key: next((v for v in values if (*key, v) in read), min(values)) for key, values in right.items()}
        return frozenset((*key, value) for key, value in chosen.items()
                         if (key[1], value) not in UNSAID or (*key, value) in read)  # fmt: skip

    def held(self, predicate: str) -> list[tuple[str, ...]]:
        """The entities of each atom of a predicate that holds, by their names in the text if they have one."""
        return [tuple(self._names.get(entity, entity) for entity in atom) for atom in self._atoms.sorted(predicate)]

    def _furniture_here(self) -> set[str]:
        [(_, here)] = self.held("atlocation")
        return {furniture for furniture, place in self.held("receptacleatlocation") if place == here}

    def _conditions(self) -> Right:
        right = {(name, "power"): {"off"} for (name,) in self.held("toggleable") if name in self._seen}
        for predicate, (attribute, value) in CONDITIONS.items():
            right |= {(name, attribute): {value} for (name,) in self.held(predicate) if name in self._seen}
        opened = {name for (name,) in self.held("opened")}
        doors = self._doors & {name for (name,) in self.held("openable")}
        return right | {(name, "door"): {"open" if name in opened else "closed"} for name in doors}

    def _places(self) -> Right:
        right: Right = defaultdict(set)
        for thing, furniture in self.held("inreceptacle"):
            right[thing, "location"].add(placed(furniture))
        for thing, bowl in self.held("inreceptacleobject"):
            right[thing, "location"].add(f"in {bowl}")
        here = self._furniture_here()
        lamps = {thing for thing, furniture in self.held("inreceptacle")
                 if kind(thing) == LAMP and thing in self._seen and furniture in here}  # fmt: skip
        for _, thing in self.held("holds"):
            right[thing, "location"] = ({f"{HAND} under {lamp}" for lamp in lamps}
                                        or {f"{HAND} at {furniture}" for furniture in here})  # fmt: skip
        return {key: values for key, values in right.items() if key[0] in self._seen}

    def _agent(self) -> Right:
        places = {f"at {name}" for name in self._furniture_here()} or {"in the middle of the room"}
        holding = {thing for _, thing in self.held("holds")} or {NOTHING}
        return {(AGENT, "location"): places, (AGENT, "holding"): holding}


def _names(entities: Mapping[str, Any]) -> dict[str, str]:
    """ALFWorld's names of things and furniture ("apple 1"), by their ids."""
    Demangler = package("alfworld.agents.utils.misc").Demangler  # noqa: N806
    demangler = Demangler(game_infos=entities, shuffle=False)
    return {name: demangler.demangle_alfred_name(name) for name, info in entities.items()
            if info.type in ("object", "receptacle")}  # fmt: skip
