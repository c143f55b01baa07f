"""How `rules@p` goes wrong: what a model that is not careful would answer to Modules A, B and C, as a seeded draw.

    A, perceive    an object is missed, or a property gets the value that it has for another object
    B, refine      an object is dropped that matters
    C, interpret   a part of the goal is missed, or gets a value that holds for another object

Only what was said comes up: no object and no value is invented. An answer without any object stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from lab.models.prompts import AnswerModel
from standins.statefactory.languages import Entities
from statefactory.prompts import Interpreted, InterpretFields, Perceived, PerceiveFields, Refined, RefineFields
from statefactory.state import Entity, Level, State, at_level, from_level

A = TypeVar("A", bound=AnswerModel)


def noisy_perceive(level: Level, fields: PerceiveFields, answer: Perceived, random: Random) -> Perceived:
    """Module A's answer with an object less, or with a value taken from another object."""
    known = from_level(answer.state)
    return _with(answer, "state", at_level(_missed_or_mixed_up(known, known, random), level, fields.values))


def noisy_refine(level: Level, fields: RefineFields, answer: Refined, random: Random) -> Refined:
    """Module B's answer with an object less."""
    return _with(answer, "state", at_level(_without_one(from_level(answer.state), random), level, fields.values))


def noisy_interpret(level: Level, fields: InterpretFields, answer: Interpreted, random: Random) -> Interpreted:
    """Module C's answer with an object less, or with a value of another object of the goal or the state."""
    goal = from_level(answer.goal)
    faulty = _missed_or_mixed_up(goal, (*goal, *from_level(fields.state)), random)
    return _with(answer, "goal", at_level(faulty, level, fields.values))


def _with(answer: A, name: str, state: State) -> A:
    return answer.model_copy(update={name: state})


def _missed_or_mixed_up(known: Entities, offered: Sequence[Entity], random: Random) -> Entities:
    """By a coin's toss; where no other object has a value to offer, one is missed."""
    choices = list(_exchangeable(known, offered))
    if not choices or random.random() < 0.5:
        return _without_one(known, random)
    index, number, values = random.choice(choices)
    attributes = list(known[index].attributes)
    attributes[number] = replace(attributes[number], value=random.choice(values))
    return (*known[:index], replace(known[index], attributes=tuple(attributes)), *known[index + 1 :])


def _exchangeable(known: Entities, offered: Sequence[Entity]) -> Iterator[tuple[int, int, list[str]]]:
    """The indices of attributes that have another value for another object, of entity and attribute; and the values."""
    owners: dict[str, dict[str, str]] = {}  # of each attribute's values the first object that has it
    for entity in offered:
        for attribute in entity.attributes:
            owners.setdefault(attribute.name, {}).setdefault(attribute.value, entity.identity)
    for index, entity in enumerate(known):
        for number, attribute in enumerate(entity.attributes):
            values = [
                value
                for value, owner in owners[attribute.name].items()
                if value != attribute.value and owner != entity.identity
            ]
            if values:
                yield index, number, values


def _without_one(known: Entities, random: Random) -> Entities:
    index = random.randrange(len(known)) if known else 0
    return known[:index] + known[index + 1 :]
