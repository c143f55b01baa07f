"""Prompts: named, versioned templates with typed fields and a typed answer, and how they become messages.

Backbones are asked prompts and nothing else. A model sees the rendered messages; a rule sees the fields, and so exactly
what a model would.

Two things may change the fields before rendering. The engine option `shuffle=SEED` permutes the options that a prompt
lists, and maps the answer back: a model that does well only because the best option comes first then does worse. And a
prompt that exceeds the engine's `context` is shortened or rejected. Endpoints, replays and transcripts do this with the
same code, so a prompt that was changed has the same request hash everywhere, and replays.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from random import Random
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lab.machine.files import key_of
from lab.models import engines
from lab.models.engines import SHUFFLE, Engine

# Estimated characters per token, the same for every model, so that recordings replay without a tokenizer. Measured on
# the five worlds' texts with the tokenizers of Qwen and SmolLM: 2.7 to 4.1, the fewest for shop pages.
CUT_AT = 3.0  # a prompt that may be truncated is made short enough for such text
REFUSED_AT = 4.0  # a prompt that is too long even for such text surely does not fit

Messages = list[dict[str, str]]


class Fields(BaseModel):
    """Base of a prompt's fields: immutable, and an unknown name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerModel(BaseModel):
    """Base of a prompt's answer. Every field is required, which is what strict JSON-schema servers ask for."""

    # JSON has no NaN or infinity: an answer that holds one could not be read back from a cache.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def kept_as(cls) -> type[AnswerModel]:
        """The class whose JSON is stored in caches and recordings."""
        return cls


class FreeText(AnswerModel):
    """The answer of a prompt that asks for no form: what the model wrote, to be read by whoever asked.

    Such a prompt is sent without a schema, and its answer is never repaired or asked again.
    """

    text: str


GROUP = "lab.prompts"
A = TypeVar("A", bound=AnswerModel)


@dataclass(frozen=True)
class Listing:
    """Where a prompt lists options, and how its answer names them. Null models choose from it; `shuffle` permutes it.

    field: the prompt's field that lists the options: a list, or a text that ends with one. parted: for a text, the
    words before the list and the separator of the options. answer: the answer's field that names one option or several,
    by="text" or by="number". text, number: attributes of an option with its text and its displayed number; "" for the
    option itself, and for its position from 1. within: an attribute; only options with the same value are permuted,
    since they are displayed in groups. form(fields): the class that parses an answer in free text (`from_text`,
    `as_text`).
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
        """The options in the order in which they are displayed; [] if the prompt lists none."""
        value = getattr(fields, self.field)
        if self.parted is None:
            return list(value)
        _, separator, listed = value.rpartition(self.parted[0])
        return listed.split(self.parted[1]) if separator else []

    def names(self, options: Sequence[Any]) -> list[Any]:
        """The names by which an answer refers to the options."""
        attribute = self.number if self.by == "number" else self.text
        if attribute:
            return [getattr(option, attribute) for option in options]
        return list(range(1, len(options) + 1)) if self.by == "number" else list(options)

    def reordered(self, fields: Any, order: Sequence[int]) -> Any:
        """The fields with the options permuted; displayed numbers stay. order: old position of each, from 0."""
        options = self.options(fields)
        permuted = [options[index] for index in order]
        if self.number:
            numbers = [getattr(option, self.number) for option in options]
            permuted = [
                option.model_copy(update={self.number: number})
                for option, number in zip(permuted, numbers, strict=True)
            ]
        if self.parted is None:
            return fields.model_copy(update={self.field: type(getattr(fields, self.field))(permuted)})
        head, separator, _ = getattr(fields, self.field).rpartition(self.parted[0])
        return fields.model_copy(update={self.field: f"{head}{separator}{self.parted[1].join(permuted)}"})


MOST_FAULTS = 8  # listed in a message: 500 wrong items need no 500 lines
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

    def listing(self, fields: Fields) -> Listing | None:
        """The listing that has options for these fields; None if there is none."""
        default = (Listing(self.narrow.options, "choice"),) if isinstance(self.narrow, OneOf) else ()
        return next((listing for listing in (*self.listings, *default) if listing.options(fields)), None)

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
            name: part.get("description", part.get("type", "value")) for name, part in self.schema["properties"].items()
        }
        return f"Answer with one JSON object and nothing else. Its keys: {json.dumps(properties)}"


class Choice(AnswerModel):
    """One of the listed options."""

    choice: str = Field(description="the option that you choose, as it is listed")


@dataclass(frozen=True)
class OneOf:
    """The `narrow` of a prompt that is answered by a `Choice`. options: the prompt's field that lists the options.

    Such a prompt needs no registered noise: under `rules@p` a wrong answer is another option.
    """

    options: str

    def __call__(self, fields: Fields) -> type[Choice]:
        """The `Choice` narrowed to these fields' options. Raises ValueError if there are none."""
        return _of_options(self.of(fields))

    def of(self, fields: Fields) -> tuple[str, ...]:
        """The options of these fields. Raises ValueError if there are none."""
        options = tuple(getattr(fields, self.options))
        if not options:
            raise ValueError(f"{self.options} is empty, and the answer has to be one of them")
        return options


def choice(name: str, version: str, operator: str, system: str, template: str, options: str, **fields: Any) -> Prompt:
    """A prompt that is answered by a `Choice`. options: the field that lists the options. fields: name -> type.

    choice("walk.move", "1", "realize", "You walk.", "Doors: {{ doors }}", "doors", doors=list[str], room=int)
    """
    typed: Any = {field: (kind, ...) for field, kind in fields.items()}
    fields_model = create_model(f"{name} fields", __base__=Fields, **typed)
    return Prompt(name, version, operator, system, template, fields_model, Choice, OneOf(options))


@cache
def limited(answer: type[A], field: str, kind: Any, words: str = "", **limits: Any) -> type[A]:
    """An answer class with another type and limits for `field`, for `narrow`. Equal arguments give the same class.

    kind: the type, hashable, such as list[str]. words: the description, by default unchanged. limits: as for pydantic's
    Field.
    """
    info = Field(description=words or answer.model_fields[field].description, **limits)
    typed: Any = {field: (kind, info)}
    return create_model(answer.__name__, __base__=answer, **typed)


@lru_cache(maxsize=4096)
def _of_options(options: tuple[str, ...]) -> type[Choice]:
    literal: Any = Literal[options]  # built at run time, which type checkers cannot follow
    return create_model("Choice", __base__=Choice, choice=(literal, Choice.model_fields["choice"]))


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


def faults(error: ValidationError) -> str:
    """A validation error in one line: the fields, and what is wrong with each; only the first MOST_FAULTS."""
    messages = [f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in error.errors()]
    more = [f"and {len(messages) - MOST_FAULTS} more"] if len(messages) > MOST_FAULTS else []
    return "; ".join(messages[:MOST_FAULTS] + more)


class PromptTooLong(ValueError):
    """A prompt does not fit the context that the engine string states."""


@dataclass(frozen=True)
class Shuffled:
    """A prompt's fields as this engine sees them. numbers: displayed number -> the option's own number, if answers name
    numbers; empty if nothing was permuted.
    """

    fields: Fields
    listing: Listing | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)

    def restored(self, value: AnswerModel) -> AnswerModel:
        """Map an answer to these fields back to the original question."""
        if self.listing is None or not self.numbers:
            return value
        if not isinstance(value, FreeText):
            return self._renumbered(value, self.listing.answer)
        if self.listing.form is None:
            return value
        try:
            typed = self.listing.form(self.fields).from_text(value.text)
        except ValueError:  # the caller parses it again and reports the fault
            return value
        return FreeText(text=self._renumbered(typed, self.listing.answer).as_text())

    def as_shown(self, value: AnswerModel) -> str:
        """The JSON of an answer to these fields, for recordings; "" if it equals that of the restored answer."""
        return value.model_dump_json() if self.numbers else ""

    def _renumbered(self, value: Any, name: str) -> Any:
        choice = getattr(value, name)
        if isinstance(choice, list):
            return value.model_copy(update={name: [self.numbers.get(number, number) for number in choice]})
        return value.model_copy(update={name: self.numbers.get(choice, choice)})


def shuffled(prompt: Prompt, fields: Fields, engine: Engine) -> Shuffled:
    """The fields as this engine sees them: shuffled if it has the option and the prompt lists options.

    The order follows from the seed and the fields, so a question is shuffled in the same way in any order and process.
    """
    listing = prompt.listing(fields) if SHUFFLE in engine.options else None
    if listing is None:
        return Shuffled(fields)
    options = listing.options(fields)
    random = Random(key_of([engine.options[SHUFFLE], prompt.name, fields.model_dump(mode="json")]))
    order = _order([getattr(option, listing.within) if listing.within else None for option in options], random)
    numbers = listing.names(options) if listing.by == "number" else []
    renumbered = {number: numbers[index] for number, index in zip(numbers, order, strict=False)}
    return Shuffled(listing.reordered(fields, order), listing, renumbered)


def _order(groups: list[Any], draw: Random) -> list[int]:
    """A random permutation of the indices of `groups` that permutes only within each group."""
    remaining = {
        group: [index for index, other in enumerate(groups) if other == group] for group in dict.fromkeys(groups)
    }
    for indices in remaining.values():
        draw.shuffle(indices)
    return [remaining[group].pop() for group in groups]


class Rendered(NamedTuple):
    """A prompt narrowed to its fields, with the messages to send. cut: it was truncated to fit the context.
    shuffled: the fields before truncation. asked: the original prompt. engine: answers it.
    """

    prompt: Prompt
    messages: Messages
    cut: bool
    shuffled: Shuffled
    asked: Prompt
    engine: Engine

    def key(self, sample: int, address: str = "rules") -> str:
        """The request hash under which caches and recordings keep the answer."""
        return key_of(request_of(self.prompt, self.messages, self.engine, address, sample))

    def typed(self, text: str) -> AnswerModel:
        """Convert the JSON of an answer to these messages to an answer to `asked`. Raises ValidationError."""
        return self.shuffled.restored(self.asked.answer.kept_as().model_validate_json(text))


def rendered(prompt: Prompt, values: Mapping[str, Any], engine: Engine) -> Rendered:
    """The prompt as it is sent. Raises ValueError for wrong fields, PromptTooLong."""
    view = shuffled(prompt, prompt.fill(**values), engine)
    fields, messages = fitted(prompt, view.fields, engine)
    return Rendered(prompt.narrowed(fields), messages, fields is not view.fields, view, prompt, engine)


def fitted(prompt: Prompt, fields: Fields, engine: Engine) -> tuple[Fields, Messages]:
    """The fields, shortened until messages and `max_tokens` fit the engine's `context`; and the messages.

    Raises PromptTooLong if they still do not fit.
    """
    messages = prompt.render(fields)
    while prompt.shorten and (over := _characters_over(messages, engine, CUT_AT)) > 0:
        shorter = prompt.shorten(fields, over)
        if shorter is None or shorter == fields:  # a `shorten` that removes nothing would loop for ever
            break
        fields, messages = shorter, prompt.render(shorter)
    if _characters_over(messages, engine, REFUSED_AT) > 0:
        tokens, options = int(_length(messages) / REFUSED_AT), engine.options
        answer = f", {options['max_tokens']} of it for the answer" if "max_tokens" in options else ""
        cut = ", also when all that may go is left out," if prompt.shorten else ""
        raise PromptTooLong(
            f"Prompt {prompt.name}{cut} takes about {tokens} tokens and the engine states context={options['context']}"
            f"{answer}; raise it, or give the prompt fewer options"
        )
    return fields, messages


def _characters_over(messages: Messages, engine: Engine, characters_a_token: float) -> int:
    """By how many characters the messages exceed the context; 0 or less if they fit, or if none is stated."""
    if "context" not in engine.options:
        return 0
    # Servers count question and answer together against the context.
    tokens = engine.options["context"] - engine.options.get("max_tokens", 0)
    return _length(messages) - int(tokens * characters_a_token)


def _length(messages: Messages) -> int:
    return sum(len(message["content"]) for message in messages)


def request_of(prompt: Prompt, messages: Messages, engine: Engine, address: str, sample: int) -> dict[str, Any]:
    """Everything that an answer depends on; its hash is the key of the cache and of recordings."""
    options = options_of(prompt, engine, sample)
    return {
        "address": address,
        # `rules@0.7` has the same options as `rules`, so the whole string identifies such engines.
        "model": engine.name if engine.kind in ("endpoint", "local") else engine.text,
        "messages": messages,
        # Longer patience or more threads do not change the question, and must not void a recording.
        "sampling": {name: options[name] for name in sorted(options) if name not in engines.OF_THE_MACHINE},
        "schema": prompt.schema,
        "sample": sample,
        "prompt": [prompt.name, prompt.version],
    } | ({"stop": list(prompt.stop)} if prompt.stop else {})


def options_of(prompt: Prompt, engine: Engine, sample: int) -> Mapping[str, Any]:
    """The engine's options for one sample; samples after the first have at least the prompt's retry temperature."""
    if not (sample and prompt.retry_temperatures):
        return engine.options
    raised = prompt.retry_temperatures[min(sample, len(prompt.retry_temperatures)) - 1]
    return {**engine.options, "temperature": max(raised, engine.options.get("temperature", 0.0))}
