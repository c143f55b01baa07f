"""The rules that answer Modules A, B and C, and how they go wrong.

A world's language reads the text, and the state is written at its level. A rule sees the fields of its prompt and
nothing else. At the levels of sentences it reads back the sentences that it wrote itself (`statefactory.state.fact`);
what it cannot read in an observation it says in `thinking`.

`rules@p` answers what a model that is not careful would, as a seeded draw:

    A, perceive    an object is missed, or a property gets the value that it has for another object
    B, refine      an object is dropped that matters
    C, interpret   a part of the goal is missed, or gets a value that holds for another object

Only what was said comes up: no object and no value is invented. An answer without any object stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, TypeVar, cast

from lab.models.prompts import AnswerModel
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


def _register(level: Level, prompts: Modules) -> None:
    def written(known: Entities, fields: Any) -> State:
        return at_level(known, level, fields.values)

    # The level's own answer classes, made at run time: which fields they have is not known to mypy.
    perceived, refined, interpreted = (cast("Callable[..., AnswerModel]", prompt.answer) for prompt in prompts)

    def perceive(fields: PerceiveFields) -> AnswerModel:
        language = language_of(fields.goal)
        # From the fields alone, as a model would: no memory is kept between calls.
        known = from_level(fields.previous_state or ())
        reading = language.read(known, fields.action, fields.observation)
        thinking = UNPARSED + "\n".join(reading.unparsed) if reading.unparsed else ""
        seen = language.relevant(fields.goal, reading.known)
        return perceived(thinking=thinking, state=written(seen, fields))

    def refine(fields: RefineFields) -> AnswerModel:
        current = language_of(fields.goal).relevant(fields.goal, from_level(fields.state))
        # Table 9, Module B, rule 3: what mattered before stays, also where this step does not show it.
        before = from_level(fields.previous_state or ())
        kept = {entity.identity: entity for entity in (*before, *current)}
        return refined(state=written(tuple(kept.values()), fields))

    def interpret(fields: InterpretFields) -> AnswerModel:
        language = language_of(fields.goal)
        # Table 10: the whole task is translated once; later steps only anchor it.
        wanted = from_level(fields.previous_goal) if fields.previous_goal else language.blueprint(fields.goal)
        anchored = language.anchored(fields.goal, wanted, from_level(fields.state), fields.observation)
        return interpreted(thinking="", goal=written(anchored, fields))

    right: tuple[Callable[[Any], AnswerModel], ...] = (perceive, refine, interpret)
    wrong: tuple[Callable[..., AnswerModel], ...] = (noisy_perceive, noisy_refine, noisy_interpret)
    for prompt, answered, corrupt in zip(prompts, right, wrong, strict=True):
        rule(prompt)(answered)
        corruption(prompt)(partial(corrupt, level))


for _level in ITEMS:
    _register(_level, modules(_level))
