"""The rules that answer Modules A, B and C: a world's language reads the text, and the state is written at its level.

A rule sees the fields of its prompt and nothing else. At the levels of sentences it reads back the sentences that it
wrote itself (`statefactory.state.fact`); what it cannot read in an observation it says in `thinking`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from lab.models.prompts import AnswerModel
from lab.models.rules import corruption, rule
from standins.statefactory.languages import Entities, language_of
from standins.statefactory.noise import noisy_interpret, noisy_perceive, noisy_refine
from statefactory.prompts import ITEMS, InterpretFields, Modules, PerceiveFields, RefineFields, modules
from statefactory.state import Level, State, at_level, from_level

UNPARSED = "Unparsed: "


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
