"""The sentences of ALFWorld's text grammar: what each says of things, furniture and the agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from re import Match
from typing import NamedTuple

from standins.statefactory.alfworld.tasks import AGENT, HAND, LAMP, NAME, NAMES, NOTHING, TREATMENTS, kind, placed
from standins.statefactory.languages import Entities, Reading
from statefactory.state import Attribute, Entity


class Draft:
    """What is known, while an observation is read."""

    def __init__(self, known: Sequence[Entity]) -> None:
        self.facts = {entity.identity: {a.name: a.value for a in entity.attributes} for entity in known}

    def set(self, identity: str, **attributes: str) -> None:
        self.facts.setdefault(identity, {}).update(attributes)

    def get(self, identity: str, name: str) -> str:
        return self.facts.get(identity, {}).get(name, "")

    def held(self) -> list[str]:
        return [name for name in self.facts if self.get(name, "location").startswith(HAND)]

    def entities(self) -> Entities:
        return tuple(
            Entity(identity, tuple(Attribute(name, value) for name, value in attributes.items()))
            for identity, attributes in self.facts.items()
        )


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """What is known after an observation, of everything that it names.

    The observation names what the action was done to, so that `action` is not needed. Sentences that are not of the
    grammar are returned as not understood; the task's own sentence is passed over.
    """
    draft = Draft(known)
    unread = [sentence for sentence in sentences(observation) if not any(form.reads(draft, sentence) for form in FORMS)]
    _carry(draft)
    return Reading(draft.entities(), tuple(unread))


def sentences(observation: str) -> Iterator[str]:
    """The sentences of an observation, each with the one that goes on about its "it"."""
    for sentence in SENTENCE_END.split(HELP.sub("", observation)):
        if sentence.strip():
            yield sentence.strip()


# The list of commands that "help" shows; then a sentence and the one that goes on about its "it" are kept together.
HELP = re.compile(r"Available commands:(?:\n {2}[a-z() ]+: [^\n]*)+")
SENTENCE_END = re.compile(r"(?<=\.)\s+(?!In it|Next to it|Looking quickly)|\n")
SOME = rf"nothing|an? {NAME}(?:, (?:and )?an? {NAME})*"


class Form(NamedTuple):
    """A sentence of the grammar, and what it says."""

    pattern: re.Pattern[str]
    says: Callable[[Draft, Match[str]], None]

    def reads(self, draft: Draft, sentence: str) -> bool:
        match = self.pattern.fullmatch(sentence)
        if match:
            self.says(draft, match)
        return match is not None


def _nothing(draft: Draft, match: Match[str]) -> None:
    """No fact, or one that other sentences say."""


def _is_at(draft: Draft, match: Match[str]) -> None:
    draft.set(AGENT, location=f"at {match['r']}")


def _faces(draft: Draft, match: Match[str]) -> None:
    """Pieces of furniture can share a place: the one that the agent went to stays its location."""
    places = [f"at {name}" for name in NAMES.findall(match["faced"])]
    if draft.get(AGENT, "location") not in places:
        draft.set(AGENT, location=places[0])
    for name in NAMES.findall(match["items"]):
        if not draft.get(name, "location"):
            draft.set(name, location="next to " + places[0].removeprefix("at "))


def _looks_around(draft: Draft, match: Match[str]) -> None:
    draft.set(AGENT, location="in the middle of the room")
    for name in NAMES.findall(match["items"]):
        draft.set(name, location="in the room")


def _has_door(draft: Draft, match: Match[str]) -> None:
    draft.set(match["r"], door=match["door"])


def _opens(draft: Draft, match: Match[str]) -> None:
    _is_at(draft, match)
    draft.set(match["r"], door="open" if match["how"] == "open" else "closed")


def _shows(draft: Draft, match: Match[str]) -> None:
    if "door" in match.re.groupindex:
        _has_door(draft, match)
    for name in NAMES.findall(match["items"]):
        if draft.get(AGENT, "holding") != name:  # the game lists some things where they were taken from
            draft.set(name, location=placed(match["r"]))


def _contains(draft: Draft, match: Match[str]) -> None:
    """What lies in a bowl is listed with the bowl's furniture too; that location is kept."""
    for name in NAMES.findall(match["items"]):
        if not draft.get(name, "location"):
            draft.set(name, location=f"in {match['o']}")


def _takes(draft: Draft, match: Match[str]) -> None:
    _is_at(draft, match)
    draft.set(AGENT, holding=match["o"])
    draft.set(match["o"], location=HAND)


def _puts(draft: Draft, match: Match[str]) -> None:
    _is_at(draft, match)
    draft.set(AGENT, holding=NOTHING)
    draft.set(match["o"], location=placed(match["r"]))


def _carries(draft: Draft, match: Match[str]) -> None:
    held = NAMES.findall(match["items"])
    draft.set(AGENT, holding=" and ".join(held))
    for name in held:
        draft.set(name, location=HAND)


def _carries_nothing(draft: Draft, match: Match[str]) -> None:
    draft.set(AGENT, holding=NOTHING)


def _treats(draft: Draft, match: Match[str]) -> None:
    _is_at(draft, match)
    treatment = TREATMENTS[match["how"]]
    draft.set(match["o"], **{treatment.name: treatment.value})


def _slices(draft: Draft, match: Match[str]) -> None:
    draft.set(match["o"], shape="sliced")


def _switches(draft: Draft, match: Match[str]) -> None:
    draft.set(match["o"], power=match["power"])


def _describes(draft: Draft, match: Match[str]) -> None:
    if match["heat"]:
        # The grammar says "cold" of a thing that a task calls "cool".
        draft.set(match["o"], temperature="hot" if match["heat"] == "hot" else "cool")
    if match["clean"]:
        draft.set(match["o"], cleanliness="clean")
    if match["sliced"]:
        draft.set(match["o"], shape="sliced")


R, O, ITEMS = (rf"(?P<{group}>{words})" for group, words in (("r", NAME), ("o", NAME), ("items", SOME)))  # noqa: E741
FORMS = tuple(Form(re.compile(pattern), says) for pattern, says in (
    (rf"You arrive at {R}\.", _is_at),
    (rf"The {R} is (?P<door>closed)\.", _has_door),
    (rf"On the {R}, you see {ITEMS}\.", _shows),
    (rf"The {R} is (?P<door>open)\. In it, you see {ITEMS}\.", _shows),
    (rf"You (?P<how>open|close) the {R}\.", _opens),
    (rf"You pick up the {O} from the {R}\.", _takes),
    (rf"You move the {O} to the {R}\.", _puts),
    (rf"You (?P<how>heat|cool|clean) the {O} using the {R}\.", _treats),
    (rf"You turn (?P<power>on|off) the {O}\.", _switches),
    (rf"You sliced the {O} with the {NAME}\.", _slices),
    (rf"This is a (?:(?P<heat>hot|cool|cold)(?: and )?)? ?(?P<clean>clean)? ?(?P<sliced>sliced)? ?{O}\.", _describes),
    (rf"This is a normal {O}\. In it, you see {ITEMS}\.", _contains),
    (rf"This {O} is (?P<power>on|off)\.", _switches),
    (rf"You are facing the (?P<faced>{NAME}(?:, (?:and )?{NAME})*)\. Next to it, you see {ITEMS}\.", _faces),
    (rf"You are in the middle of a room\. Looking quickly around you, you see {ITEMS}\.", _looks_around),
    (rf"You are carrying: {ITEMS}\.", _carries),
    (r"You are not carrying anything\.", _carries_nothing),
    (r"Nothing happens\.", _nothing),
    (rf"There's nothing special about {NAME}\.", _nothing),
    (rf"You don't see any switch on the {NAME}\.", _nothing),
    (r"-= Welcome to TextWorld, ALFRED! =-", _nothing),
    (r"Your task is to: .*", _nothing),
))  # fmt: skip


def _carry(draft: Draft) -> None:
    """A held thing is where the agent is, and under the lamp there."""
    where = draft.get(AGENT, "location")
    if where.startswith("at "):
        spot = placed(where.removeprefix("at "))
        lamps = [name for name in draft.facts if kind(name) == LAMP and draft.get(name, "location") == spot]
        for name in draft.held():
            draft.set(name, location=f"{HAND} under {lamps[0]}" if lamps else f"{HAND} {where}")
