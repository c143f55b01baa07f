"""ALFWorld's language: the sentences of its text grammar and the words of its six kinds of tasks (`alfworld.yaml`).

Attributes of a thing: `location` ("on desk 1", "in fridge 1", "in hand at desk 1"), `temperature` ("hot", "cool"),
`cleanliness` ("clean"), `shape` ("sliced"), `power` ("on", "off"). Of furniture: `location` and, if it opens, `door`
("open", "closed"). Of "agent": `location` and `holding`. A held thing is where the agent is, and under a lamp that is
there (Shen et al. 2026, Table 17). A thing out of sight stays as it was last seen.

The rules were written on games outside the benchmark: the official training split, and synthetic scenes of seeds 7 to
9. Only the wordings of goals were counted over all released games.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from standins.statefactory.forms import Facts, Form, as_entities, as_facts, first, forms, note, words
from standins.statefactory.languages import Entities, Reading
from statefactory.state import Attribute, Entity

AGENT, LAMP, HAND, NOTHING = "agent", "desklamp", "in hand", "nothing"
FILE = Path(__file__).with_name("alfworld.yaml")
NAME = words(FILE)["NAME"]  # as the text numbers things: "mug 2"
NAMES = re.compile(NAME)
# Furniture with an inside. The kind decides: sentences say "on the garbagecan 1", and tasks "in countertop".
HOLLOW = frozenset({
    "bathtub", "bathtubbasin", "box", "cabinet", "drawer", "fridge", "garbagecan", "laundryhamper", "microwave",
    "safe", "sink", "sinkbasin",
})  # fmt: skip
HOT, COOL = Attribute("temperature", "hot"), Attribute("temperature", "cool")
CLEAN = Attribute("cleanliness", "clean")
TREATMENTS = {"hot": HOT, "heat": HOT, "cool": COOL, "clean": CLEAN}
TOOLS: dict[Attribute | None, set[str]] = {HOT: {"microwave"}, COOL: {"fridge"}, CLEAN: {"sinkbasin", "sink"}}
# The list of commands that "help" shows. And the end of a sentence, unless the next one goes on about its "it".
HELP = re.compile(r"Available commands:(?:\n {2}[a-z() ]+: [^\n]*)+")
SENTENCE_END = re.compile(r"(?<=\.)\s+(?!In it|Next to it|Looking quickly)|\n")


class Task(NamedTuple):
    """A parsed task. thing, place: kinds; place is "" if the thing has to be examined under the lamp."""

    thing: str
    place: str
    treatment: Attribute | None
    copies: int


def placed(place: str) -> str:
    """The location in or on a piece of furniture, or a kind of furniture."""
    return f"{'in' if kind(place) in HOLLOW else 'on'} {place}"


def kind(name: str) -> str:
    """The kind of a numbered thing; a kind is returned as it is."""
    return name.split(" ")[0]


def parsed(goal: str) -> Task | None:
    """The task that a description states; None for other words."""
    text = " ".join(goal.lower().split()).removeprefix("your task is to: ").removesuffix(".")
    reading = first(forms(FILE, "tasks"), text)
    if reading is None:
        return None
    groups = reading[1]
    treatment = TREATMENTS.get(groups.get("how", ""))
    return Task(groups["thing"], groups.get("place", ""), treatment, 2 if "copies" in groups else 1)


def is_goal(goal: str) -> bool:
    """Whether a task description is one of ALFWorld's templates."""
    return parsed(goal) is not None


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The agent, things and places of the kinds that the task names, and the furniture that the treatment needs."""
    task = parsed(goal)
    if task is None:
        return tuple(known)
    # A task to look at something names no place; the lamp is there instead.
    named = {AGENT, task.thing, task.place or LAMP} | TOOLS.get(task.treatment, set())
    return tuple(entity for entity in known if kind(entity.identity) in named)


def blueprint(goal: str) -> Entities:
    """The things of the task with all their required attributes; empty for other words.

    Two things are two entities. A look requires that the thing is held under the lamp, and that the lamp is on.
    """
    task = parsed(goal)
    if task is None:
        return ()
    if not task.place:
        # No observation says that a thing was examined; holding it under a lamp that is on is the whole goal.
        location = Attribute("location", f"{HAND} under {LAMP}")
        return Entity(task.thing, (location,)), Entity(LAMP, (Attribute("power", "on"),))
    wanted = (Attribute("location", placed(task.place)), *filter(None, [task.treatment]))
    names = [task.thing] if task.copies == 1 else [f"first {task.thing}", f"second {task.thing}"]
    return tuple(Entity(name, wanted) for name in names)


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal with observed things in place of kinds; only names change (Table 10, 3c).

    A kind is permanently replaced by the first thing of it that an observation shows; no thing replaces two. Places
    stay kinds ("in cabinet"): any place of the kind is right, and which one is not known before the thing is there.
    """
    known = {entity.identity for entity in state}
    names = [entity.identity for entity in wanted]
    for name in NAMES.findall(observation):
        # In the order of the observation, so two copies become the first two that are seen.
        if name in known and name not in names:
            same = (n for n, old in enumerate(names) if not NAMES.fullmatch(old) and old.split(" ")[-1] == kind(name))
            # Replaces the first name that is still a kind: "mug", "first mug".
            position = next(same, None)
            if position is not None:
                names[position] = name
    return tuple(Entity(name, entity.attributes) for name, entity in zip(names, wanted, strict=True))


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """What is known after an observation, about everything that it names.

    The observation names what the action was done to, so `action` is not needed. Sentences outside the grammar are
    returned as unparsed, except for the task's own sentence.
    """
    facts = as_facts(known)
    unread = []
    for sentence in sentences(observation):
        if reading := first(forms(FILE, "sentences"), sentence):
            _note(facts, *reading)
        else:
            unread.append(sentence)
    _carry(facts)
    return Reading(as_entities(facts), tuple(unread))


def sentences(observation: str) -> Iterator[str]:
    """The sentences of an observation, each together with the one that goes on about its "it"."""
    for sentence in SENTENCE_END.split(HELP.sub("", observation)):
        if sentence.strip():
            yield sentence.strip()


def _note(facts: Facts, form: Form, groups: dict[str, str]) -> None:
    """Set the facts of a sentence, then the locations of the things that it lists."""
    agent, items = facts.get(AGENT, {}), NAMES.findall(groups.get("items", ""))
    holding = agent.get("holding")
    groups |= {"held": " and ".join(items), "where": placed(groups.get("place", ""))}
    note(facts, form.stated(groups))
    if form.rule == "faces":
        places = [f"at {name}" for name in (groups["place"], *NAMES.findall(groups["beside"]))]
        # The furniture that the agent went to remains its location.
        if agent.get("location") not in places:
            note(facts, [(AGENT, Attribute("location", places[0]))])
    for name in items:
        if "put" in form.extra and name != holding:
            note(facts, [(name, Attribute("location", form.extra["put"].format_map(groups)))])
        elif "find" in form.extra and not facts.get(name, {}).get("location"):
            note(facts, [(name, Attribute("location", form.extra["find"].format_map(groups)))])


def _carry(facts: Facts) -> None:
    """Set the locations of held things: where the agent is, and under the lamp there."""
    agent_location = facts.get(AGENT, {}).get("location", "")
    if agent_location.startswith("at "):
        spot = placed(agent_location.removeprefix("at "))
        located = {name: attributes.get("location", "") for name, attributes in facts.items()}
        lamps = [name for name, location in located.items() if kind(name) == LAMP and location == spot]
        for name, location in located.items():
            if location.startswith(HAND):
                facts[name]["location"] = f"{HAND} under {lamps[0]}" if lamps else f"{HAND} {agent_location}"
