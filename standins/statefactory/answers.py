"""Rules for Modules A, B and C, and their noise.

A world's language reads the text, and the state is written at the prompt's level. A rule sees only the fields of its
prompt. At the levels of sentences it reads back the sentences that it has written (`statefactory.state.fact`). What it
cannot read in an observation, it reports in `thinking`.

`rules@p` gives the answer of a careless model, sampled with a seed:

    A, perceive    an object is missed, or a property gets the value that it has for another object
    B, refine      a relevant object is dropped
    C, interpret   a part of the goal is missed, or gets a value that holds for another object

The noise uses only what is in the texts: it invents no object and no value. An answer without objects stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, TypeVar, cast

from lab.models.answers import AnswerModel
from lab.models.rules import corruption, rule
from standins.statefactory.languages import Entities, language_of
from statefactory.prompts import (
    ITEMS,
    Interpreted,
    InterpretFields,
    Modules,
    Perceived,
    PerceiveFields,
    Refined,
    RefineFields,
    modules,
)
from statefactory.state import Entity, Level, State, at_level, from_level
from statefactory.trust import UNPARSED

A = TypeVar("A", bound=AnswerModel)


def noisy_perceive(level: Level, fields: PerceiveFields, answer: Perceived, random: Random) -> Perceived:
    """Module A's answer with one object less, or with a value taken from another object."""
    known = from_level(answer.state)
    return _with(answer, "state", at_level(_missed_or_mixed_up(known, known, random), level, fields.values))


def noisy_refine(level: Level, fields: RefineFields, answer: Refined, random: Random) -> Refined:
    """Module B's answer with one object less."""
    return _with(answer, "state", at_level(_without_one(from_level(answer.state), random), level, fields.values))


def noisy_interpret(level: Level, fields: InterpretFields, answer: Interpreted, random: Random) -> Interpreted:
    """Module C's answer with one object less, or with a value of another object in the goal or the state."""
    goal = from_level(answer.goal)
    faulty = _missed_or_mixed_up(goal, (*goal, *from_level(fields.state)), random)
    return _with(answer, "goal", at_level(faulty, level, fields.values))


def _with(answer: A, name: str, state: State) -> A:
    return answer.model_copy(update={name: state})


def _missed_or_mixed_up(known: Entities, offered: Sequence[Entity], random: Random) -> Entities:
    """Miss an object or mix up a value, at even odds; miss one if no other object has a value to offer."""
    choices = list(_exchangeable(known, offered))
    if not choices or random.random() < 0.5:
        return _without_one(known, random)
    index, number, values = random.choice(choices)
    attributes = list(known[index].attributes)
    attributes[number] = replace(attributes[number], value=random.choice(values))
    return (*known[:index], replace(known[index], attributes=tuple(attributes)), *known[index + 1 :])


def _exchangeable(known: Entities, offered: Sequence[Entity]) -> Iterator[tuple[int, int, list[str]]]:
    """(entity index, attribute index, values) of each attribute for which other objects have other values."""
    owners: dict[str, dict[str, str]] = {}  # attribute -> value -> the first object that has it
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


def _register(level: Level, prompts: Modules) -> None:
    def written(known: Entities, fields: Any) -> State:
        return at_level(known, level, fields.values)

    # The level's answer classes are built at run time, so mypy does not know their fields.
    perceived, refined, interpreted = (cast("Callable[..., AnswerModel]", prompt.answer) for prompt in prompts)

    def perceive(fields: PerceiveFields) -> AnswerModel:
        language = language_of(fields.goal)
        # Only from the fields, as a model would: there is no memory between calls.
        known = from_level(fields.previous_state or ())
        reading = language.read(known, fields.action, fields.observation)
        thinking = UNPARSED + "\n".join(reading.unparsed) if reading.unparsed else ""
        seen = language.relevant(fields.goal, reading.known)
        return perceived(thinking=thinking, state=written(seen, fields))

    def refine(fields: RefineFields) -> AnswerModel:
        current = language_of(fields.goal).relevant(fields.goal, from_level(fields.state))
        # Table 9, Module B, rule 3: what was relevant before stays, even if this step does not show it.
        before = from_level(fields.previous_state or ())
        entities = {entity.identity: entity for entity in (*before, *current)}
        return refined(state=written(tuple(entities.values()), fields))

    def interpret(fields: InterpretFields) -> AnswerModel:
        language = language_of(fields.goal)
        # Table 10: the whole task is translated once; later steps only anchor it.
        wanted = from_level(fields.previous_goal) if fields.previous_goal else language.blueprint(fields.goal)
        anchored = language.anchored(fields.goal, wanted, from_level(fields.state), fields.observation)
        return interpreted(thinking="", goal=written(anchored, fields))

    answering: tuple[Callable[[Any], AnswerModel], ...] = (perceive, refine, interpret)
    corrupting: tuple[Callable[..., AnswerModel], ...] = (noisy_perceive, noisy_refine, noisy_interpret)
    for prompt, answer, corrupt in zip(prompts, answering, corrupting, strict=True):
        rule(prompt)(answer)
        corruption(prompt)(partial(corrupt, level))


for _level in ITEMS:
    _register(_level, modules(_level))
