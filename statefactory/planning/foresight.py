"""A world model by rules: what an action leads to, as far as the texts that were seen let one know.

The rules answer `predict_prompt` for `engine="rules"`, from what a model would be shown: no world is opened. In
BlocksWorld every text says all that holds, so that its rules foresee all. In a household of ALFWorld they know what was
seen and how actions are answered; of what lies where nobody has looked they say nothing. With noise, they foresee that
nothing changes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from random import Random

from lab.models.noise import corruption
from lab.models.rules import rule
from statefactory.planning.prompts import Predicted, PredictFields, predict_prompt
from statefactory.rules import alfworld
from statefactory.rules.alfworld.tasks import AGENT, LAMP, NAME, NOTHING, TOOLS, TREATMENTS, kind, placed
from statefactory.rules.languages import Entities
from statefactory.state import Attribute, Entity
from worlds.blocksworld.state import NoState, State, state_of
from worlds.blocksworld.wording import facts_of, observation, read_action
from worlds.blocksworld.world import REFUSAL

FORESEEN = ("alfworld", "blocksworld")  # the worlds with rules, by their short names
KNIVES = ("knife", "butterknife")
NOTHING_HAPPENS = "Nothing happens."
LOOKED = re.compile(rf"On the ({NAME}), you see|The ({NAME}) is open\. In it")


@rule(predict_prompt("blocksworld"))
def blocks(fields: PredictFields) -> Predicted:
    """The newest observation that names a state, and what the action makes of it."""
    texts = [fields.first, *(text for _, text in fields.steps)]
    state = next(filter(None, map(_state, reversed(texts))), None)
    if state is None:
        return Predicted(observation=texts[-1], done=False)
    action = read_action(fields.action, state.blocks)
    possible = action is not None and action in state.actions()
    after = state.after(action) if action is not None and possible else state
    wanted = facts_of(fields.goal)
    solved = wanted is not None and after.facts().issuperset(wanted)
    return Predicted(observation=observation(after) if possible else REFUSAL, done=solved)


def _state(text: str) -> State | None:
    facts = facts_of(text)
    try:
        return state_of(facts, {block for fact in facts for block in fact[1:]}) if facts else None
    except NoState:
        return None


@rule(predict_prompt("alfworld"))
def household(fields: PredictFields) -> Predicted:
    """What ALFWorld answers to an action by what is known of the room, and whether the task is done then."""
    known: Entities = ()
    looked: set[str] = set()
    for action, text in (("", fields.first), *fields.steps):
        known = alfworld.read(known, action, text).known
        looked |= {name for pair in LOOKED.findall(text) for name in pair if name}
    text = Room(known, looked).answer(" ".join(fields.action.split()))
    return Predicted(observation=text, done=solved(fields.goal, alfworld.read(known, fields.action, text).known))


class Room:
    """A household as far as it is known. looked: the furniture whose contents were seen."""

    def __init__(self, known: Entities, looked: set[str]) -> None:
        self.known = {entity.identity: {a.name: a.value for a in entity.attributes} for entity in known}
        self.looked = looked
        self.here = self.get(AGENT, "location").removeprefix("at ")
        self.held = self.get(AGENT, "holding") or NOTHING

    def get(self, name: str, attribute: str) -> str:
        return self.known.get(name, {}).get(attribute, "")

    def answer(self, action: str) -> str:
        """In the words of the game; "Nothing happens." to what is not possible as far as is known."""
        for form, words in ACTIONS:
            if match := form.fullmatch(action):
                return words(self, *match.groups()) or NOTHING_HAPPENS
        return NOTHING_HAPPENS

    def shown(self, place: str, door: str) -> str:
        """What is seen of a place with its door so; "" where nobody has looked."""
        if door == "closed":
            return f" The {place} is closed."
        if place not in self.looked:
            return ""
        lying = [name for name in self.known if self.get(name, "location") == placed(place)]
        start = f" The {place} is open. In it" if door else f" On the {place}"
        return f"{start}, you see {enumerated(lying)}."

    def go(self, place: str) -> str:
        if place == self.here or not self.get(place, "location"):
            return ""
        return f"You arrive at {place}.{self.shown(place, self.get(place, 'door'))}"

    def turn(self, how: str, place: str) -> str:
        if place != self.here or self.get(place, "door") != ("closed" if how == "open" else "open"):
            return ""
        return f"You {how} the {place}." + (self.shown(place, "open") if how == "open" else "")

    def take(self, thing: str, place: str) -> str:
        reached = place == self.here and self.get(place, "door") != "closed"
        there = reached and self.held == NOTHING and self.get(thing, "location") == placed(place)
        return f"You pick up the {thing} from the {place}." if there else ""

    def move(self, thing: str, place: str) -> str:
        able = place == self.here and self.get(place, "door") != "closed" and self.held == thing
        return f"You move the {thing} to the {place}." if able else ""

    def treat(self, how: str, thing: str, place: str) -> str:
        able = self.held == thing and place == self.here and kind(place) in TOOLS[TREATMENTS[how]]
        return f"You {how} the {thing} using the {place}." if able else ""

    def use(self, thing: str) -> str:
        able = kind(thing) == LAMP and self.get(thing, "location") == placed(self.here)
        return f"You turn on the {thing}." if able else ""  # as often as it is used

    def cut(self, thing: str, knife: str) -> str:
        able = self.held == knife and kind(knife) in KNIVES and self.get(thing, "location") == placed(self.here)
        return f"You sliced the {thing} with the {knife}." if able else ""

    def examine(self, what: str) -> str:
        if what == self.here:
            return self.shown(what, self.get(what, "door")).lstrip()
        return f"There's nothing special about {what}." if what in (self.held, *self._around()) else ""

    def _around(self) -> list[str]:
        return [name for name in self.known if self.get(name, "location") == placed(self.here)]

    def look(self) -> str:
        room = "You are in the middle of a room. Looking quickly around you, you see nothing."
        return f"You are facing the {self.here}. Next to it, you see nothing." if self.here in self.known else room

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
    """As the game enumerates things: "nothing", "a mug 1", "a mug 2, a mug 1, and a pen 2"."""
    in_order = sorted(names, key=lambda name: (kind(name), -int(name.split()[-1])))
    *others, last = [f"a {name}" for name in in_order] or [NOTHING]
    return f"{', '.join(others)}, and {last}" if others else last


def solved(goal: str, known: Sequence[Entity]) -> bool:
    """Whether as many things of a kind as the task wants are as it wants them; a place of the kind will do."""
    wanted = Counter((entity.identity.split(" ")[-1], entity.attributes) for entity in alfworld.blueprint(goal))
    return bool(wanted) and all(
        sum(kind(entity.identity) == of and _is_so(entity, so) for entity in known) >= count
        for (of, so), count in wanted.items()
    )


def _is_so(entity: Entity, wanted: Sequence[Attribute]) -> bool:
    values = {a.name: a.value for a in entity.attributes}
    return all(f"{values.get(a.name, '')} ".startswith(f"{a.value} ") for a in wanted)


def _unchanged(fields: PredictFields, answer: Predicted, random: Random) -> Predicted:
    return Predicted(observation=fields.steps[-1][1] if fields.steps else fields.first, done=False)


for _world in FORESEEN:
    corruption(predict_prompt(_world))(_unchanged)
