"""Prompts: named, versioned templates with typed fields and a typed answer.

A prompt is the only thing a backbone is ever asked. A model sees its rendered messages; a rule sees its fields, and so
exactly what a model would.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model


class Fields(BaseModel):
    """Base of a prompt's fields: immutable, and an unknown name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerModel(BaseModel):
    """Base of a prompt's answer. Every field is required, which is what strict JSON-schema servers ask for."""

    # JSON has no NaN or infinity: an answer that holds one could not be read back from a cache.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class FreeText(AnswerModel):
    """The answer of a prompt that asks for no form: what the model wrote, to be read by whoever asked.

    Such a prompt is sent without a schema, and its answer is never repaired or asked again.
    """

    text: str


GROUP = "lab.prompts"
A = TypeVar("A", bound=AnswerModel)


@cache
def digests() -> Mapping[str, str]:
    """Name -> digest of every prompt that an installed package asks, by the entry points of GROUP."""
    from importlib.metadata import entry_points

    return {prompt.name: prompt.digest for entry in entry_points(group=GROUP) for prompt in entry.load()()}


@dataclass(frozen=True)
class Listing:
    """Where a prompt lists options, and how its answer names them: what null models choose from and `shuffle` permutes.

    field: of the prompt, a list, or a text that ends with one: `parted` are then the words before the list and what
    stands between options. answer: the answer's field that names one option or several, by="text" or by="number".
    text, number: attributes of an option that hold its text and the number shown; "" for the option itself, and for its
    place from 1 on. within: an attribute; only options that share it change places, as they are shown in groups.
    form(fields): the typed answer, with `from_text` and `as_text`, that an answer in free text is read as.
    """

    field: str
    answer: str
    by: Literal["text", "number"] = "text"
    text: str = ""
    number: str = ""
    within: str = ""
    parted: tuple[str, str] | None = None
    form: Callable[[Any], Any] | None = None

    def options(self, fields: Any) -> list[Any]:
        """The options in the order in which they are shown; none where the prompt lists none."""
        listed = getattr(fields, self.field)
        if self.parted is None:
            return list(listed)
        _, before, shown = listed.rpartition(self.parted[0])
        return shown.split(self.parted[1]) if before else []

    def names(self, options: Sequence[Any]) -> list[Any]:
        """What the answer calls each of them."""
        attribute = self.number if self.by == "number" else self.text
        if attribute:
            return [getattr(option, attribute) for option in options]
        return list(range(1, len(options) + 1)) if self.by == "number" else list(options)

    def reordered(self, fields: Any, order: Sequence[int]) -> Any:
        """The fields with the options in another order. order: the old place of each, from 0; numbers keep theirs."""
        options = self.options(fields)
        moved = [options[index] for index in order]
        if self.number:
            numbers = [getattr(option, self.number) for option in options]
            moved = [
                option.model_copy(update={self.number: number}) for option, number in zip(moved, numbers, strict=True)
            ]
        if self.parted is None:
            return fields.model_copy(update={self.field: type(getattr(fields, self.field))(moved)})
        head, before, _ = getattr(fields, self.field).rpartition(self.parted[0])
        return fields.model_copy(update={self.field: f"{head}{before}{self.parted[1].join(moved)}"})


MOST_FAULTS = 8  # shown to a model or a reader; a list of 500 wrong items needs no 500 lines
Shorten = Callable[[Any, int], Fields | None]


@dataclass(frozen=True)
class Prompt:
    """A question to a model.

    name: dotted, unique (`world.operator`). version: changed whenever the wording or the fields change, since
    recordings are kept under it. operator: whose tokens and seconds these are (`realize`). system, template: Jinja text
    over the fields. fields, answer: pydantic models. narrow(fields) -> a subclass of `answer` for these very fields,
    where what may be answered depends on them (see `OneOf`); the same fields must give the same class.
    shorten(fields, characters_over) -> the fields truncated by a step, or None when nothing more may go, for a prompt
    that exceeds an engine's `context` (lab/models/rendering.py). The template must show that something was left out.
    retry_temperatures: of the samples after the first, where the engine's own is lower; the last one holds from there
    on. Empty: the engine's for all. stop: texts at which an answer in free text ends; neither they nor what follows are
    part of it. listings: where it lists the options of its answer; of several, the first that has any. unkept: texts of
    the answer that runs and recordings leave empty, where they may quote data that nobody may pass on; of an answer
    that cannot be read, nothing is kept then. file: that holds the wording (`lab.models.prompt_files`), or "".
    """

    name: str
    version: str
    operator: str
    system: str
    template: str
    fields: type[Fields]
    answer: type[AnswerModel]
    narrow: Callable[[Any], type[AnswerModel]] | None = None
    shorten: Shorten | None = field(default=None, compare=False)  # not compared: it changes no prompt that fits
    retry_temperatures: tuple[float, ...] = ()
    stop: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()
    listings: tuple[Listing, ...] = field(default=(), compare=False)  # no part of what a model is sent
    file: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Raises ValueError for an unkept text that the answer does not have: under a wrong name it would be kept."""
        if unknown := set(self.unkept) - self.answer.model_fields.keys():
            raise ValueError(
                f"Prompt {self.name}: unkept={sorted(unknown)}; the answer has {[*self.answer.model_fields]}"
            )

    @cached_property
    def digest(self) -> str:
        """Hash of what a model is shown for the same fields: wording, version, the answer's schema before `narrow`."""
        parts = (self.version, self.system, self.template, json.dumps(self.schema, sort_keys=True), *self.stop)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def listing(self, fields: Fields) -> Listing | None:
        """Where the options stand that these fields list; None where there are none."""
        own = (Listing(self.narrow.options, "choice"),) if isinstance(self.narrow, OneOf) else ()
        return next((listing for listing in (*self.listings, *own) if listing.options(fields)), None)

    def fill(self, **values: Any) -> Fields:
        """The typed fields. Raises ValueError, naming each field that does not fit."""
        try:
            return self.fields(**values)
        except ValidationError as error:
            raise ValueError(f"Prompt {self.name} v{self.version}: {faults(error)}") from None

    def narrowed(self, fields: Fields) -> Prompt:
        """The prompt as it is asked with these fields: with the narrow answer, where there is one."""
        return _with_answer(self, self.narrow(fields)) if self.narrow else self

    def render(self, fields: Fields) -> list[dict[str, str]]:
        """The chat messages: the standing rules first, so that calls of one operator share a prefix.

        Raises ValueError for a text that is no Jinja template, naming its file and line.
        """
        values = {name: getattr(fields, name) for name in type(fields).model_fields}
        rules = self._written("system", values)
        return [
            {"role": "system", "content": rules if self.free else f"{rules}\n\n{self._shape}"},
            {"role": "user", "content": self._written("user", values)},
        ]

    def _written(self, part: Literal["system", "user"], values: dict[str, Any]) -> str:
        from jinja2 import TemplateSyntaxError

        try:
            template = _compiled(self.system if part == "system" else self.template)
        except TemplateSyntaxError as error:
            where = f"line {error.lineno} of its {part} text{f' in {self.file}' if self.file else ''}"
            raise ValueError(
                f"Prompt {self.name} v{self.version}: {where} is no Jinja template: {error.message}. Correct it there"
            ) from None
        # A lone surrogate, from a badly decoded file say, can be sent to no server.
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
        # Said in words as well, for servers that do not constrain the answer to the schema.
        properties = {
            name: part.get("description", part.get("type", "value")) for name, part in self.schema["properties"].items()
        }
        return f"Answer with one JSON object and nothing else. Its keys: {json.dumps(properties)}"


class Choice(AnswerModel):
    """One of the listed options."""

    choice: str = Field(description="the option that you choose, as it is listed")


@dataclass(frozen=True)
class OneOf:
    """The `narrow` of a prompt that is answered by a `Choice`. options: the prompt's field that lists them.

    Such a prompt needs no noise of its own: under `rules@p` a wrong answer is another option.
    """

    options: str

    def __call__(self, fields: Fields) -> type[Choice]:
        """Raises ValueError where there is nothing to choose from."""
        return _of_options(self.of(fields))

    def of(self, fields: Fields) -> tuple[str, ...]:
        """The options of these fields. Raises ValueError where there are none."""
        options = tuple(getattr(fields, self.options))
        if not options:
            raise ValueError(f"{self.options} is empty, and the answer has to be one of them")
        return options


def choice(name: str, version: str, operator: str, system: str, template: str, options: str, **fields: Any) -> Prompt:
    """A prompt that is answered by a `Choice`. options: which of the fields lists what there is. fields: their types.

    choice("walk.move", "1", "realize", "You walk.", "Doors: {{ doors }}", "doors", doors=list[str], room=int)
    """
    typed: Any = {field: (kind, ...) for field, kind in fields.items()}
    seen = create_model(f"{name} fields", __base__=Fields, **typed)
    return Prompt(name, version, operator, system, template, seen, Choice, OneOf(options))


@cache
def limited(answer: type[A], field: str, kind: Any, words: str = "", **limits: Any) -> type[A]:
    """An answer whose field has another type and other limits, for `narrow`: the same arguments give the same class.

    kind: hashable, such as list[str]. words: its description, by default as it was. limits: as pydantic's Field has.
    """
    about = Field(description=words or answer.model_fields[field].description, **limits)
    typed: Any = {field: (kind, about)}
    return create_model(answer.__name__, __base__=answer, **typed)


@lru_cache(maxsize=4096)
def _of_options(options: tuple[str, ...]) -> type[Choice]:
    literal: Any = Literal[options]  # made at run time, which no type checker can follow
    return create_model("Choice", __base__=Choice, choice=(literal, Choice.model_fields["choice"]))


@cache
def _with_answer(prompt: Prompt, answer: type[AnswerModel]) -> Prompt:
    # Cached for its schema, which is costly to make.
    return replace(prompt, answer=answer, narrow=None)


@cache
def _compiled(text: str) -> Any:
    from jinja2 import Environment, StrictUndefined
    from pydantic_core import to_json

    # Model prompts are plain text, never HTML: escaping would change what the model reads.
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    # `{{ value | json }}`: compact, also of dataclasses and models.
    environment.filters["json"] = lambda value: to_json(value).decode()
    environment.filters["inert"] = inert
    return environment.from_string(text.strip())


def inert(text: str) -> str:
    """A template's `{{ text | inert }}`: foreign text in which no line can pass for a `***` heading of the prompt."""

    def seen(line: str) -> str:
        # Blanks and characters that show nothing, such as a zero-width space, would hide the stars.
        return "".join(character for character in line if character.isprintable() and not character.isspace())

    return "\n".join(f"| {line}" if seen(line).startswith("***") else line for line in text.splitlines())


def faults(error: ValidationError) -> str:
    """A validation error in one line: which field, and what is wrong with it; the first few of many."""
    messages = [f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in error.errors()]
    more = [f"and {len(messages) - MOST_FAULTS} more"] if len(messages) > MOST_FAULTS else []
    return "; ".join(messages[:MOST_FAULTS] + more)
