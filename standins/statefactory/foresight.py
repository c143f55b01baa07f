"""A world model by rules: predicts the result of an action, as far as the texts seen so far allow.

The rules answer `predict_prompt` for `engine="rules"`, from the prompt's fields alone: no world is opened. In
BlocksWorld every observation states all facts, and the rules are the simulator's, so all predictions are right. In
ALFWorld they know past observations and the form of answers. They predict nothing about unseen places, and learn only
from an observation that two pieces of furniture share a place. With noise, they predict that nothing changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

from lab.models.rules import corruption, rule
from standins.statefactory import alfworld
from standins.statefactory.alfworld import AGENT, LAMP, NAME, NAMES, NOTHING, TOOLS, TREATMENTS, kind, placed
from standins.statefactory.forms import as_facts
from standins.statefactory.languages import Entities
from statefactory.planning.prompts import Predicted, PredictFields, predict_prompt
from statefactory.state import Entity
from worlds.blocksworld.state import NoState, State, facts_of, observation, read_action, state_of
from worlds.blocksworld.world import REFUSAL

FORESEEN = ("alfworld", "blocksworld")  # the worlds with rules, by their short names
KNIVES = ("knife", "butterknife")
NOTHING_HAPPENS = "Nothing happens."
FURNITURE = ("in the room", "next to ")  # how the location of furniture begins
LOOKED = re.compile(rf"On the ({NAME}), you see|The ({NAME}) is open\. In it")
ARRIVED = re.compile(rf"You arrive at ({NAME})\.")
FACED = re.compile(r"You are facing the ([^.]*)\. Next to it")
HANDLED = re.compile(rf"(?:from|to|using) the ({NAME})\.|You (?:open|close) the ({NAME})\.")


@rule(predict_prompt("blocksworld"))
def blocks(fields: PredictFields) -> Predicted:
    """The state of the newest observation that has one, after the action."""
    texts = [fields.first, *(text for _, text in fields.steps)]
    state = next(filter(None, map(_state, reversed(texts))), None)
    if state is None:
        return Predicted(observation=texts[-1], done=False)
    action = read_action(fields.action, state.blocks)
    possible = action is not None and action in state.actions()
    next_state = state.after(action) if action is not None and possible else state
    wanted = facts_of(fields.goal)
    solved = wanted is not None and next_state.facts().issuperset(wanted)
    return Predicted(observation=observation(next_state) if possible else REFUSAL, done=solved)


def _state(text: str) -> State | None:
    facts = facts_of(text)
    try:
        return state_of(facts, {block for fact in facts for block in fact[1:]}) if facts else None
    except NoState:
        return None


@rule(predict_prompt("alfworld"))
def household(fields: PredictFields) -> Predicted:
    """ALFWorld's answer to an action, by what is known about the room, and whether the task is then done."""
    room, action = Room(fields), " ".join(fields.action.split())
    text = room.answer(action)
    return Predicted(observation=text, done=solved(fields.goal, alfworld.read(room.read, action, text).known))


class Room:
    """A household, as far as its texts describe it. read: its things. looked: the furniture whose contents were seen.

    near: the furniture within reach. Some pieces share a place, which is known once they were faced or handled
    together.
    """

    def __init__(self, fields: PredictFields) -> None:
        self.read: Entities = ()
        self.looked: set[str] = set()
        self.examined: dict[str, str] = {}
        self.facing: dict[str, str] = {}  # furniture -> the text when the agent looked around there
        here, shared_places = "", list[set[str]]()
        for action, text in (("", fields.first), *fields.steps):
            self.read = alfworld.read(self.read, action, text).known
            self.looked |= {name for pair in LOOKED.findall(text) for name in pair if name}
            self.examined[action.removeprefix("examine ")] = text
            if arrived := ARRIVED.match(text):
                here = arrived[1]
            if faced := FACED.match(text):
                shared_places.append({here, *NAMES.findall(faced[1])})
                self.facing[here] = text
            shared_places.append({here, *(name for pair in HANDLED.findall(text) for name in pair if name)})
        self.known = as_facts(self.read)
        self.here = here
        self.near = {here}.union(*(places for places in shared_places if here in places))
        self.held = self.get(AGENT, "holding") or NOTHING

    def get(self, name: str, attribute: str) -> str:
        return self.known.get(name, {}).get(attribute, "")

    def reachable(self, thing: str) -> bool:
        """Whether the thing is held, or is within reach and not behind a closed door."""
        places = [place for place in self.near if self.get(place, "door") != "closed"]
        return thing == self.held or self.get(thing, "location") in map(placed, places)

    def answer(self, action: str) -> str:
        """The game's answer; "Nothing happens." to an action that is not possible as far as is known."""
        for form, words in ACTIONS:
            if match := form.fullmatch(action):
                return words(self, *match.groups()) or NOTHING_HAPPENS
        return NOTHING_HAPPENS

    def shown(self, place: str, door: str) -> str:
        """The text about the contents of a place whose door is `door`; "" if nobody has looked."""
        if door == "closed":
            return f" The {place} is closed."
        if place not in self.looked:
            return ""
        lying = [name for name in self.known if self.get(name, "location") == placed(place)]
        start = f" The {place} is open. In it" if door else f" On the {place}"
        return f"{start}, you see {enumerated(lying)}."

    def go(self, place: str) -> str:
        if place in self.near or not self.get(place, "location").startswith(FURNITURE):
            return ""
        return f"You arrive at {place}.{self.shown(place, self.get(place, 'door'))}"

    def turn(self, how: str, place: str) -> str:
        if place not in self.near or self.get(place, "door") != ("closed" if how == "open" else "open"):
            return ""
        return f"You {how} the {place}." + (self.shown(place, "open") if how == "open" else "")

    def take(self, thing: str, place: str) -> str:
        possible = self.held == NOTHING and self.reachable(thing) and self.get(thing, "location") == placed(place)
        return f"You pick up the {thing} from the {place}." if possible else ""

    def move(self, thing: str, place: str) -> str:
        possible = self.held == thing and place in self.near and self.get(place, "door") != "closed"
        return f"You move the {thing} to the {place}." if possible else ""

    def treat(self, how: str, thing: str, place: str) -> str:
        possible = self.held == thing and place in self.near and kind(place) in TOOLS[TREATMENTS[how]]
        return f"You {how} the {thing} using the {place}." if possible else ""

    def use(self, thing: str) -> str:
        # A lamp that is already on gives the same answer.
        return f"You turn on the {thing}." if kind(thing) == LAMP and self.reachable(thing) else ""

    def cut(self, thing: str, knife: str) -> str:
        possible = self.held == knife and kind(knife) in KNIVES and self.reachable(thing)
        return f"You sliced the {thing} with the {knife}." if possible else ""

    def examine(self, what: str) -> str:
        if what in self.near:
            return self.shown(what, self.get(what, "door")).lstrip()
        if not self.reachable(what):
            return ""
        if self.examined.get(what, "").startswith("This is a normal"):
            return self.examined[what]  # an object that can hold things, whose contents are unknown
        heat, clean, sliced = (self.get(what, name) for name in ("temperature", "cleanliness", "shape"))
        if heat == "cool" and not (clean or sliced):
            heat = "cold"  # the grammar's word
        if heat or clean or sliced:
            return f"This is a {' and '.join(filter(None, [heat, clean]))} {sliced} {what}.".replace("  ", " ")
        lit = f"This {what} is {self.get(what, 'power') or 'off'}."
        return lit if kind(what) == LAMP else f"There's nothing special about {what}."

    def look(self) -> str:
        alone = f"You are facing the {self.here}. Next to it, you see nothing."
        room = "You are in the middle of a room. Looking quickly around you, you see nothing."
        return self.facing.get(self.here, alone) if self.here else room

    def inventory(self) -> str:
        return "You are not carrying anything." if self.held == NOTHING else f"You are carrying: a {self.held}."


ACTIONS = tuple((re.compile(pattern), words) for pattern, words in (
    (rf"go to ({NAME})", Room.go),
    (rf"(open|close) ({NAME})", Room.turn),
    (rf"take ({NAME}) from ({NAME})", Room.take),
    (rf"move ({NAME}) to ({NAME})", Room.move),
    (rf"(heat|cool|clean) ({NAME}) with ({NAME})", Room.treat),
    (rf"use ({NAME})", Room.use),
    (rf"slice ({NAME}) with ({NAME})", Room.cut),
    (rf"examine ({NAME})", Room.examine),
    (r"look", Room.look),
    (r"inventory", Room.inventory),
))  # fmt: skip


def enumerated(names: Sequence[str]) -> str:
    """A list of things in the game's format: "nothing", "a mug 1", "a mug 2, a mug 1, and a pen 2"."""
    in_order = sorted(names, key=lambda name: (kind(name), -int(name.split()[-1])))
    *others, last = [f"a {name}" for name in in_order] or [NOTHING]
    return f"{', '.join(others)}, and {last}" if others else last


def solved(goal: str, known: Sequence[Entity]) -> bool:
    """Whether enough things have all attributes that the task wants; two of them in the same place."""
    wanted = Counter((entity.identity.split(" ")[-1], entity.attributes) for entity in alfworld.blueprint(goal))
    facts = as_facts(known)
    fulfilled = Counter(
        (thing, attributes, values.get("location"))
        for thing, attributes in wanted
        for name, values in facts.items()
        # Any place of the wanted kind counts: "on desk 2" is "on desk".
        if kind(name) == thing and all(f"{values.get(a.name, '')} ".startswith(f"{a.value} ") for a in attributes)
    )
    largest = {key: max((n for (*same, _), n in fulfilled.items() if tuple(same) == key), default=0) for key in wanted}
    return bool(wanted) and all(largest[key] >= count for key, count in wanted.items())


def _unchanged(fields: PredictFields, answer: Predicted, random: Random) -> Predicted:
    return Predicted(observation=fields.steps[-1][1] if fields.steps else fields.first, done=False)


for _world in FORESEEN:
    corruption(predict_prompt(_world))(_unchanged)
