"""Null models: the engines `first`, `last` and `random`, which look at nothing but the possible answers.

They show what a method's structure achieves without any skill: a real model that scores no higher has shown none.
No request is made and no rule is called, so their numbers are measured; they stand in for no model.

An answer follows from the prompt's schema, narrowed to its fields, and from the options that the prompt lists. `first`
takes the first option, the lowest number and true; `last` the last option, the highest number and false; `random`
takes a random one. If several options may be named, the answer names as many different ones as are allowed. Other texts
of the answer, such as a reason, are empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from random import Random
from typing import Any

from pydantic import ValidationError

from lab.machine.faults import Unavailable
from lab.machine.files import key_of
from lab.models.answers import AnswerModel, FreeText, faults
from lab.models.backbone import Answer, Call
from lab.models.engines import FIRST, LAST, Engine
from lab.models.prompts import Fields, Prompt
from lab.models.rendering import rendered, shuffled

Schema = Mapping[str, Any]


class NoChoice(Unavailable, LookupError):
    """A null model was asked a prompt without options to choose from. Stops the run; no task counts as failed."""


class Null:
    """Answers any prompt whose answer is one option of a list, or several; see this module."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Choose an answer. Raises NoChoice for a prompt that asks for a text, ValueError for unknown fields."""
        view = shuffled(prompt, prompt.fill(**fields), self.engine)
        value = _answered(prompt, view.fields, _Pick(self.engine, prompt, view.fields, sample))
        return Answer(view.restored(value), Call(prompt.operator, prompt.name, "null"), text=view.as_shown(value))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash under which a recording keeps the answer."""
        return rendered(prompt, fields, self.engine).key(sample)


class _Pick:
    """Chooses the options that answer one question, as the engine does."""

    def __init__(self, engine: Engine, prompt: Prompt, fields: Fields, sample: int) -> None:
        self._name = engine.name
        # Seeded by the question alone, so that it gets the same answer in any order and process.
        question = [engine.options.get("seed", 0), prompt.name, fields.model_dump(mode="json"), sample]
        self._draw = Random(key_of(question)) if engine.name not in (FIRST, LAST) else Random(0)

    def several(self, options: Sequence[Any], count: int) -> list[Any]:
        """`count` different options; if there are fewer, all of them, some repeatedly."""
        available = min(count, len(options))
        if self._name == FIRST:
            chosen = list(options[:available])
        elif self._name == LAST:
            chosen = list(options[::-1][:available])
        else:
            chosen = self._draw.sample(options, available)
        return [chosen[index % available] for index in range(count)] if available else []


def _answered(prompt: Prompt, fields: Fields, pick: _Pick) -> AnswerModel:
    listing = prompt.listing(fields)
    form = listing.form if listing and prompt.free else None
    kind: Any = form(fields) if form else prompt.narrowed(fields).answer
    if listing is None and prompt.free:
        raise _no_choice(prompt, "it asks for free text")
    # Field of the answer -> the options that it can name, in the order in which they are displayed.
    nameable = {listing.answer: list(dict.fromkeys(listing.names(listing.options(fields))))} if listing else {}
    try:
        value = kind.model_validate(_values(prompt, kind.model_json_schema(), nameable, pick))
    except ValidationError as error:
        raise _no_choice(prompt, f"what it would say is refused ({faults(error)})") from None
    return FreeText(text=value.as_text()) if form else value


def _values(prompt: Prompt, schema: Schema, named: Mapping[str, Sequence[Any]], pick: _Pick) -> dict[str, Any]:
    definitions, values, chosen = schema.get("$defs", {}), dict[str, Any](), False
    for name, part in schema["properties"].items():
        options = named.get(name)
        if (part := _resolved(part, definitions)).get("type") == "array":
            listed = options if options is not None else _allowed(part["items"], definitions)
            least = part.get("minItems", 0)
            if listed is None and least:
                raise _no_choice(prompt, f"{name!r} is a list of what can be anything")
            chosen |= listed is not None
            # The largest number allowed; without a maximum, the smallest, but at least one.
            count = part.get("maxItems", max(least, 1))
            values[name] = pick.several(listed, max(least, min(count, len(listed)))) if listed is not None else []
            continue
        allowed = options if options is not None else _allowed(part, definitions)
        chosen |= allowed is not None
        if allowed is None and part.get("type") != "string":
            raise _no_choice(prompt, f"{name!r} can be anything")
        values[name] = pick.several(allowed, 1)[0] if allowed is not None else ""
    if not chosen:
        raise _no_choice(prompt, "it asks for a text")
    return values


def _allowed(schema: Schema, known: Mapping[str, Schema]) -> Sequence[Any] | None:
    """The values that a schema allows, in their order; None if it does not list or bound them."""
    schema = _resolved(schema, known)
    if "enum" in schema:
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    if "anyOf" in schema:
        parts = [_allowed(part, known) for part in schema["anyOf"]]
        return list(chain(*(part for part in parts if part is not None))) if None not in parts else None
    if schema.get("type") == "boolean":
        return [True, False]
    if schema.get("type") == "integer" and {"minimum", "maximum"} <= schema.keys():
        return range(schema["minimum"], schema["maximum"] + 1)
    return [None] if schema.get("type") == "null" else None


def _resolved(schema: Schema, known: Mapping[str, Schema]) -> Schema:
    while "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    return schema


def _no_choice(prompt: Prompt, why: str) -> NoChoice:
    fields = " and ".join(repr(listing.field) for listing in prompt.listings)
    lists = f"its {fields} lists none here: have the world list them there"
    return NoChoice(
        f"A null model cannot answer prompt {prompt.name}: {why}, and {lists if fields else 'it lists no options'}. "
        f'Let another engine answer this operator, as in "first, {prompt.operator.capitalize()}: rules", or null '
        'models others alone, as in "rules, Realize: first"'
    )
