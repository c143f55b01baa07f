"""Prompts: named, versioned templates with typed fields and a typed answer.

Backbones are asked prompts and nothing else. A model sees the rendered messages; a rule sees the fields, and so exactly
what a model would. `lab.models.answers` has the answers, `lab.models.rendering` makes requests of prompts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from lab.models.answers import AnswerModel, Choice, FreeText, Listing, OneOf, faults

GROUP = "lab.prompts"  # entry points that yield a package's prompts
Messages = list[dict[str, str]]


class Fields(BaseModel):
    """Base of a prompt's fields: immutable, and an unknown name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Shorten = Callable[[Any, int], Fields | None]


@dataclass(frozen=True)
class Prompt:
    """A question to a model.

    name: dotted, unique (`world.operator`). version: has to change when the wording or the fields change, since
    recordings are stored under it. operator: the operator that its tokens and seconds are counted for (`realize`).
    system, template: Jinja texts over the fields. fields, answer: pydantic models. narrow(fields) -> a subclass of
    `answer` for these fields, if the possible answers depend on them (see `OneOf`); equal fields must give the same
    class. shorten(fields, characters_over) -> the fields truncated by one step, or None if nothing more may be left
    out, for a prompt that exceeds an engine's `context`; the template must show that something was left out.
    retry_temperatures: minimum temperatures of the samples after the first; the last one also holds for all further
    samples. Empty: the engine's own for all. stop: texts at which an answer in free text ends; neither they nor what
    follows are part of it. listings: where the prompt lists the options of its answer; the first with options counts.
    unkept: texts of the answer that runs and recordings store empty, because they may quote data that must not be
    passed on; the text of an answer that cannot be parsed is then not stored. file: the file with the wording
    (`lab.models.prompt_files`), or "". parts: texts that code inserted into the wording, by name.
    """

    name: str
    version: str
    operator: str
    system: str
    template: str
    fields: type[Fields]
    answer: type[AnswerModel]
    narrow: Callable[[Any], type[AnswerModel]] | None = None
    shorten: Shorten | None = field(default=None, compare=False)  # not compared: it does not change prompts that fit
    retry_temperatures: tuple[float, ...] = ()
    stop: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()
    listings: tuple[Listing, ...] = field(default=(), compare=False)  # not compared: not sent to a model
    file: str = field(default="", compare=False)
    parts: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Raises ValueError if `unkept` names a field that the answer lacks: with a typo, the text would be stored."""
        if unknown := set(self.unkept) - self.answer.model_fields.keys():
            raise ValueError(
                f"Prompt {self.name}: unkept={sorted(unknown)}; the answer has {[*self.answer.model_fields]}"
            )

    @cached_property
    def digest(self) -> str:
        """Hash of what a model gets besides the fields: wording, version, the answer's schema before `narrow`."""
        parts = (self.version, self.system, self.template, json.dumps(self.schema, sort_keys=True), *self.stop)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    @property
    def every_listing(self) -> tuple[Listing, ...]:
        """`listings`, and that of a `OneOf`."""
        return (*self.listings, self.narrow.listing) if isinstance(self.narrow, OneOf) else self.listings

    def listing(self, fields: Fields) -> Listing | None:
        """The listing that has options for these fields; None if there is none."""
        return next((listing for listing in self.every_listing if listing.options(fields)), None)

    def fill(self, **values: Any) -> Fields:
        """The typed fields. Raises ValueError, which names every invalid field."""
        try:
            return self.fields(**values)
        except ValidationError as error:
            raise ValueError(f"Prompt {self.name} v{self.version}: {faults(error)}") from None

    def narrowed(self, fields: Fields) -> Prompt:
        """The prompt as it is asked with these fields: its answer is narrowed, if it has `narrow`."""
        return _with_answer(self, self.narrow(fields)) if self.narrow else self

    def render(self, fields: Fields) -> Messages:
        """The chat messages: the fixed rules first, so that calls of one operator share a prefix.

        Raises ValueError for an invalid Jinja template, naming its file and line.
        """
        values = {name: getattr(fields, name) for name in type(fields).model_fields}
        rules = self._filled("system", values)
        return [
            {"role": "system", "content": rules if self.free else f"{rules}\n\n{self._shape}"},
            {"role": "user", "content": self._filled("user", values)},
        ]

    def _filled(self, part: Literal["system", "user"], values: dict[str, Any]) -> str:
        from jinja2 import TemplateSyntaxError

        try:
            template = _compiled(self.system if part == "system" else self.template)
        except TemplateSyntaxError as error:
            line = f"line {error.lineno} of its {part} text{f' in {self.file}' if self.file else ''}"
            raise ValueError(
                f"Prompt {self.name} v{self.version}: {line} is no Jinja template: {error.message}. Correct it there"
            ) from None
        # Lone surrogates, as from a badly decoded file, are replaced: no server accepts them.
        return str(template.render(values)).encode("utf-8", "replace").decode()

    @property
    def free(self) -> bool:
        """Whether the answer is free text."""
        return issubclass(self.answer, FreeText)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        return self.answer.model_json_schema()

    @cached_property
    def _shape(self) -> str:
        # Stated in the text as well, for servers that do not constrain the answer to the schema.
        properties = {
            name: schema.get("description", schema.get("type", "value"))
            for name, schema in self.schema["properties"].items()
        }
        return f"Answer with one JSON object and nothing else. Its keys: {json.dumps(properties)}"


def choice(name: str, version: str, operator: str, system: str, template: str, options: str, **fields: Any) -> Prompt:
    """A prompt that is answered by a `Choice`. options: the field that lists the options. fields: name -> type.

    choice("walk.move", "1", "realize", "You walk.", "Doors: {{ doors }}", "doors", doors=list[str], room=int)
    """
    typed: Any = {field: (kind, ...) for field, kind in fields.items()}
    fields_model = create_model(f"{name} fields", __base__=Fields, **typed)
    return Prompt(name, version, operator, system, template, fields_model, Choice, OneOf(options))


@cache
def _with_answer(prompt: Prompt, answer: type[AnswerModel]) -> Prompt:
    # Cached, because computing its schema is slow.
    return replace(prompt, answer=answer, narrow=None)


@cache
def _compiled(text: str) -> Any:
    return environment().from_string(text.strip())


@cache
def environment() -> Any:
    """The Jinja environment of all prompts, with the filters `json` and `inert`."""
    from jinja2 import Environment, StrictUndefined
    from pydantic_core import to_json

    # Model prompts are plain text, never HTML: escaping would change what the model reads.
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    # `{{ value | json }}`: compact, also of dataclasses and models.
    environment.filters["json"] = lambda value: to_json(value).decode()
    environment.filters["inert"] = inert
    return environment


def inert(text: str) -> str:
    """A template's `{{ text | inert }}`: foreign text in which no line can pass for a `***` heading of the prompt."""

    def visible(line: str) -> str:
        # Blanks and invisible characters, such as a zero-width space, would hide the stars.
        return "".join(character for character in line if character.isprintable() and not character.isspace())

    return "\n".join(f"| {line}" if visible(line).startswith("***") else line for line in text.splitlines())
